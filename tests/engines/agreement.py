"""What engines must agree on: complete sets of final states, flags, what is outside, hangs."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.axiomatic.solve import solve
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


BARRIER_MISUSE = {"barrier-rearrival": "barrier-misuse", "barrier-mismatch": "barrier-misuse"}
"""A warp that arrives again with another count breaks either rule: which one is named is a matter of taste."""


def _answer(states: object, race: bool, hang: bool, outside: frozenset[str], bound_reached: bool) -> Answer:
    if outside:
        return Answer(None, None, None, frozenset(BARRIER_MISUSE.get(name, name) for name in outside), False)
    return Answer(frozenset(states), race, hang, outside, bound_reached)  # type: ignore[call-overload]


def fast(structure: Structure, model: Model) -> Answer:
    """The engine that users meet."""
    found = solve(structure, model, witnesses=False)
    race = any(flag.name == "race" for flag in found.flags)
    outside = frozenset(finding.name for finding in found.outside)
    return _answer(found.states, race, bool(found.hangs), outside, found.bound_reached)


def plain(structure: Structure, model: Model) -> Answer:
    """The plain z3 encoding, without bounds or polarity."""
    found = solve_plainly(structure, model)
    race = any(flag.name == "race" for flag in found.flags)
    outside = frozenset(finding.name for finding in found.outside)
    return _answer(found.states, race, bool(found.hangs), outside, found.bound_reached)


def reference(structure: Structure, limit: int = 50_000) -> Answer:
    """Brute force from the text, for the model `ptx` alone. TooLargeError beyond `limit` candidates."""
    found = enumerate_outcomes(structure, limit)
    return _answer(found.states, found.race, found.hang, found.outside, found.bound_reached)
