"""The suite: large enough, every test with expectations and a name of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from memcheck.corpus import cases, find, suite, walk
from memcheck.models import NAMES

PATHS = list(walk(suite()))
FILES = [Path(path).relative_to(suite()).as_posix() for path in PATHS]


def test_the_suite_is_large_enough():
    """A table counts as one."""
    assert len(PATHS) >= 150


@pytest.mark.parametrize("path", PATHS, ids=FILES)
def test_every_test_expects_something_of_ptx(path):
    for case in cases(path):
        expected = case.parse().expectations
        assert any(one.model == "ptx" for one in expected), f"{case.name} expects nothing of ptx"
        assert all(one.model in NAMES for one in expected), case.name
        assert all(one.why for one in expected), f"{case.name} gives no reason"


def test_names_are_unique():
    names = Counter(case.name for path in PATHS for case in cases(path))
    assert [name for name, number in names.items() if number > 1] == []


def test_the_first_thing_anyone_runs():
    (case,) = find("mp.litmus")
    assert case.name == "MP"
    assert [found.name for found in find("MP")] == ["MP"]
