"""What is said about one test: plain data for every output format, small enough to send between processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcheck.axiomatic.outcome import State
from memcheck.expectation import differences
from memcheck.result import Remark, Result

if TYPE_CHECKING:
    from memcheck.crossrun import Crossrun


@dataclass(frozen=True, slots=True)
class Report:
    """A `Result` without its test and witnesses, or the error that stands in its place.

    `quantifier`: `exists`, `~exists`, `forall`, None without a condition. `unexpected`: sentences where the file
    expects something else of this model, None where it expects nothing. `stopped`: why the search ended early; the
    verdict is `undecided` only where what was not searched could change it. `machine`: what the machine reached, None
    where it did not run; `unmachined` then says why, if that is worth a word.
    """

    file: str
    model: str
    test: str | None = None
    text: str = ""
    description: tuple[str, ...] = ()
    condition: str | None = None
    quantifier: str | None = None
    keys: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    satisfying: frozenset[State] = frozenset()
    holds: bool | None = None
    flags: tuple[Remark, ...] = ()
    outside: tuple[Remark, ...] = ()
    complete: bool = False
    undecided: str | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    unexpected: tuple[str, ...] | None = None
    error: str | None = None
    machine: Crossrun | None = None
    unmachined: str | None = None

    @property
    def is_refuted(self) -> bool:
        """Whether the machine reaches a state that the model forbids."""
        return self.machine is not None and bool(self.machine.refuted)

    @property
    def no_final_state(self) -> bool:
        return any(flag.name == "no-final-state" for flag in self.flags)

    @property
    def status(self) -> int:
        """The exit status of this test alone: 0 holds, 1 does not, 2 error, 3 undecided, outside or nothing ends.

        1 as well where the machine and the model contradict each other.
        """
        if self.error is not None:
            return 2
        if self.is_refuted:
            return 1
        if self.outside or self.undecided is not None or self.no_final_state:
            return 3
        return 1 if self.holds is False else 0

    def named(self, state: State) -> Mapping[str, int]:
        return dict(zip(self.keys, state, strict=True))


def report(result: Result, machine: Crossrun | None = None, unmachined: str | None = None) -> Report:
    test = result.test
    expected = [expectation for expectation in test.expectations if expectation.model == result.model]
    return Report(
        file=test.source.name,
        model=result.model,
        test=test.name,
        text=test.source.text,
        description=test.description,
        condition=test.condition.text if test.condition else None,
        quantifier=test.condition.quantifier.value if test.condition else None,
        keys=tuple(test.key(term) for term in test.observed),
        states=result.states,
        satisfying=result.satisfying,
        holds=result.holds,
        flags=result.flags,
        outside=result.outside,
        complete=result.complete,
        undecided=result.undecided if result.holds is None else None,
        stopped=result.undecided,
        notes=result.notes,
        seconds=result.seconds,
        unexpected=tuple(line for one in expected for line in differences(result, one)) if expected else None,
        machine=machine,
        unmachined=unmachined,
    )


def combined_status(statuses: Iterable[int]) -> int:
    """One exit status for many tests: an error first, then a condition that fails, then what is undecided."""
    seen = set(statuses)
    return next((status for status in (2, 1, 3) if status in seen), 0)
