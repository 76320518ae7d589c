"""The tests of the suite by name, read and unfolded once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from memcheck.corpus import Case, cases, walk
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.models import load
from memcheck.relations.expression import Model

ROOT = Path(__file__).parents[2] / "litmus"
BOUND = 4


def _named() -> dict[str, Case]:
    """By path below the suite; of a table's row, the row's name after it."""
    found: dict[str, Case] = {}
    for path in walk(str(ROOT)):
        for case in cases(path):
            name = Path(path).relative_to(ROOT).as_posix()
            found[name if case.row is None else f"{name}:{case.name}"] = case
    return found


CASES = _named()
NAMES = tuple(CASES)


ASYNCHRONOUS = frozenset(
    name for name, case in CASES.items() if any(word in case.source.text for word in ("async", "mbarrier", "wgmma"))
)
"""Tests with copies or mbarriers: more events, and values that are whole states of objects."""


def share(of: int, start: int = 0) -> tuple[str, ...]:
    """Every `of`-th test, from each theme alike."""
    return NAMES[start::of]


@cache
def structure(name: str) -> Structure:
    return unfold(CASES[name].parse(), BOUND)


@cache
def model(name: str) -> Model:
    return load(name, frozenset())
