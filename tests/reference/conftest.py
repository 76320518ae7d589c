"""Outcomes of litmus texts by the brute-force reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.reference.enumerate import Outcome, enumerate_outcomes
from memcheck.source import SourceFile


@dataclass(frozen=True, slots=True)
class Found:
    """An outcome, its states as tuples over `keys`."""

    outcome: Outcome
    keys: tuple[str, ...]
    states: frozenset[tuple[int, ...]]


@pytest.fixture
def explore() -> Callable[..., Found]:
    """Runs a litmus text; the states come in the order of the given keys."""

    def run(text: str, *keys: str) -> Found:
        test = parse_test(SourceFile("<hand>", text))
        outcome = enumerate_outcomes(unfold(test))
        names = [test.key(term) for term in test.observed]
        order = [names.index(key) for key in keys] if keys else range(len(names))
        states = frozenset(tuple(state[i] for i in order) for state in outcome.states)
        return Found(outcome, tuple(names), states)

    return run
