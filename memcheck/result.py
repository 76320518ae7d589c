"""What `memcheck.check` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from memcheck.axiomatic.outcome import State
from memcheck.events.execution import Execution
from memcheck.language.test import Test


class Remark(NamedTuple):
    """One finding in words. `name` is the JSON flag (`race`, `deadlock`, …) or the JSON `outside` text.

    `text`: a sentence with the instructions, the threads and the section; `places`: file:line:column of them.
    """

    name: str
    text: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict of one test under one model.

    `states` over `test.observed`, sorted, empty when `outside`. `satisfying`: those that the condition's proposition
    is true of. `holds`: None where `outside` or `undecided` says why, or where the test has no condition.
    `flags` do not void the verdict; `notes` are remarks on the test or the model. `seconds`: CPU time.
    """

    test: Test
    model: str
    states: tuple[State, ...]
    satisfying: frozenset[State]
    holds: bool | None
    flags: tuple[Remark, ...]
    outside: tuple[Remark, ...]
    complete: bool
    undecided: str | None
    notes: tuple[str, ...]
    witnesses: Mapping[State, Execution]
    seconds: float

    def as_dict(self, state: State) -> dict[str, int]:
        """A state as the JSON has it."""
        return {self.test.key(term): value for term, value in zip(self.test.observed, state, strict=True)}
