"""What engines must agree on: complete sets of final states, flags, what is outside, hangs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from memcheck.axiomatic.outcome import Outcome
from memcheck.axiomatic.solve import solve
from memcheck.errors import TooLargeError
from memcheck.events.structure import Structure
from memcheck.plain import solve as solve_plainly
from memcheck.reference.enumerate import enumerate_outcomes
from memcheck.relations.expression import Model


@dataclass(frozen=True, slots=True)
class Answer:
    """States, race and hang are None where the verdict is outside: the axioms then say nothing about them."""

    states: frozenset[tuple[int, ...]] | None
    race: bool | None
    hang: bool | None
    outside: frozenset[str]
    bound_reached: bool
    flags: frozenset[str] | None = field(default=None, compare=False)
    """Names of all flags, also of executions that hang; the reference does not look for them."""


BARRIER_MISUSE = {"barrier-rearrival": "barrier-misuse", "barrier-mismatch": "barrier-misuse"}
"""A warp that arrives again with another count breaks either rule: which one is named is a matter of taste."""


def _answer(states: object, race: bool, hang: bool, outside: frozenset[str], bound_reached: bool) -> Answer:
    if outside:
        return Answer(None, None, None, frozenset(BARRIER_MISUSE.get(name, name) for name in outside), False)
    return Answer(frozenset(states), race, hang, outside, bound_reached)  # type: ignore[call-overload]


def _of(found: Outcome) -> Answer:
    race = any(flag.name == "race" for flag in found.flags)
    outside = frozenset(finding.name for finding in found.outside)
    answer = _answer(found.states, race, bool(found.hangs), outside, found.bound_reached)
    flags = frozenset() if outside else frozenset(flag.name for flag in (*found.flags, *found.hanging_flags))
    return replace(answer, flags=flags)


def fast(structure: Structure, model: Model) -> Answer:
    """The engine that users meet."""
    return _of(solve(structure, model, witnesses=False))


def plain(structure: Structure, model: Model, timeout: float | None = None) -> Answer:
    """The plain z3 encoding, without bounds or polarity. TooLargeError when it takes more than `timeout` seconds."""
    found = solve_plainly(structure, model, timeout=timeout)
    if found.undecided is not None:
        raise TooLargeError(found.undecided)
    return _of(found)


def reference(structure: Structure, limit: int = 50_000) -> Answer:
    """Brute force from the text, for the model `ptx` alone. TooLargeError beyond `limit` candidates."""
    found = enumerate_outcomes(structure, limit)
    return _answer(found.states, found.race, found.hang, found.outside, found.bound_reached)


def assert_same(found: Answer, expected: Answer) -> None:
    """Two answers agree in all that both know."""
    assert found == expected
    assert None in (found.flags, expected.flags) or found.flags == expected.flags
