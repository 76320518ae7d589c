"""The machine against the model: it reaches nothing that is forbidden, and most of what is allowed."""

from __future__ import annotations

import pytest

from memcheck.checker import check
from memcheck.corpus import find
from memcheck.errors import UnsupportedError
from memcheck.language.test import Test
from memcheck.machine import runs, simulate

SECONDS = 5.0
FOLDERS = {"barriers": 0.9, "fences": 0.8, "isa": 0.99, "proxies": 0.8, "sizes": 0.99}
"""Folders of the suite with the share of tests of which every allowed state is reached, at least."""
LONG = {
    "classic": 0.9,
    "scopes": 0.99,
    "rmw": 0.9,
    "control": 0.85,
    "model": 0.75,
    "decisions": 0.85,
    "idioms": 0.5,
    "fields": 0.5,
}


def compared(test: Test) -> bool | None:
    """Whether all allowed states are reached; None where the two cannot be compared. Nothing else may be reached."""
    result = check(test, verify=False)
    if result.outside or result.undecided or not result.complete:
        return None
    try:
        found = simulate(test, seconds=SECONDS)
    except UnsupportedError:
        return None
    allowed = set(result.states)
    assert found.states <= allowed, f"{test.name}: reached, and not allowed: {sorted(found.states - allowed)}"
    assert set(runs(test, 20, 1, seconds=1).states) <= allowed
    if found.complete:
        assert found.hangs == any(flag.name == "deadlock" for flag in result.flags), test.name
    return found.states == allowed


def share(folder: str) -> float:
    """The share of the tests of a folder of which every allowed state is reached."""
    answers = [compared(case.parse()) for case in find(f"litmus/{folder}")]
    known = [answer for answer in answers if answer is not None]
    assert known
    return sum(known) / len(known)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder(folder):
    assert share(folder) >= FOLDERS[folder]


@pytest.mark.slow
@pytest.mark.parametrize("folder", LONG)
def test_a_long_folder(folder):
    assert share(folder) >= LONG[folder]
