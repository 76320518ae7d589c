"""What an H200 showed: each outcome that was seen is reached, and none that a fence or a wait forbids.

Counts are of instances that showed the outcome; without one it was always so.
"""

from __future__ import annotations

from functools import cache

import pytest

from memcheck.corpus import find
from memcheck.machine import Reached, runs, simulate
from memcheck.render.simulation import state_wanted

SEEN = [
    # weak outcomes of 2.7 million instances each: 1, 207, 111
    ("classic/MP.table", "MP+rlx+rlx", "P1:r0=1, P1:r1=0"),
    ("classic/SB.table", "SB+rlx", "P0:r0=0, P1:r1=0"),
    ("classic/R.table", "R+rlx", "P1:r0=0, y=2"),
    # st.shared, bulk store, wait_group, without a proxy fence: 3,977 of 211,200 old
    ("async/device/bulk-store-of-stored+none", "", "P0:r0=0"),
    ("async/device/bulk-store-of-stored+none", "", "P0:r0=1"),
    # a memory fence instead: never old, but allowed
    ("async/device/bulk-store-of-stored+fence.acq_rel", "", "P0:r0=1"),
    # st.global, bulk load, wait, without a proxy fence: 743 of 211,200 old
    ("async/device/bulk-load-of-stored+none", "", "P0:r0=0"),
    ("async/device/bulk-load-of-stored+none", "", "P0:r0=1"),
    # a load right after the cp.async
    ("async/device/cp.async+at-once", "", "P0:r0=9"),
    # two words of a copy in flight: both old, both new, old then new
    ("async/device/bulk-load+two-words", "", "P0:r0=9, P0:r1=9"),
    ("async/device/bulk-load+two-words", "", "P0:r0=1, P0:r1=4"),
    ("async/device/bulk-load+two-words", "", "P0:r0=9, P0:r1=4"),
    # a bulk store, wait_group.read, a load of its destination: 70,215 old, 140,985 new
    ("async/device/bulk-store+wait_group.read+load", "", "P0:r0=9"),
    ("async/device/bulk-store+wait_group.read+load", "", "P0:r0=1"),
    # the source of a bulk store overwritten at once: 210,240 of 211,200 store the overwriting value
    ("async/device/bulk-store+overwritten-source", "", "P0:r0=2"),
    ("async/device/bulk-store+overwritten-source", "", "P0:r0=1"),
]
"""A test of the suite, a table's row, an outcome."""
FENCED = [
    ("classic/MP.table", "MP+rel+acq", "P1:r0=1, P1:r1=0"),
    ("classic/MP.table", "MP+fence.ar+fence.ar", "P1:r0=1, P1:r1=0"),
    ("classic/SB.table", "SB+fence.sc", "P0:r0=0, P1:r1=0"),
    ("classic/R.table", "R+fence.sc+fence.sc", "P1:r0=0, y=2"),
    ("classic/CoRR.table", "CoRR+rlx+rlx-rlx", "P1:r0=1, P1:r1=0"),
    ("async/device/bulk-store-of-stored+fence.proxy.async", "", "P0:r0=0"),
    ("async/device/bulk-load-of-stored+fence.proxy.async", "", "P0:r0=0"),
    ("async/device/cp.async+wait_all", "", "P0:r0=9"),
    ("async/device/bulk-store+wait_group+load", "", "P0:r0=9"),
]
"""The same, where the outcome was never seen and must not be."""
MBARRIERS = [
    *(
        ("async/device/fresh-mbarrier.table", f"fresh-mbarrier+{count}", "P0:p0=0, P0:p1=1")
        for count in ("one", "two", "five", "largest")
    ),
    ("async/device/arrive_drop", "", "P0:p0=1, P0:p1=1, P0:p2=0"),
    # the last arrivals find a tx-count of 64 - 96; an expect_tx that brings it to 0 ends the phase
    ("decisions/phase-completion-expect_tx", "", "P0:p0=0, P0:p1=1"),
]
"""The same, with the one outcome that there is."""


@cache
def explored(path: str, row: str) -> Reached:
    return simulate(_case(path, row), seconds=30)


def _case(path, row):
    name = path if path.endswith(".table") else f"{path}.litmus"
    return next(case.parse() for case in find(f"litmus/{name}") if row in ("", case.name))


@pytest.mark.parametrize(("path", "row", "outcome"), SEEN)
def test_what_was_seen_is_reached(path, row, outcome):
    wanted = state_wanted(_case(path, row), outcome)
    assert any(wanted.matches(state) for state in explored(path, row).states)


@pytest.mark.parametrize(("path", "row", "outcome"), FENCED)
def test_what_fences_forbid_is_not(path, row, outcome):
    found, wanted = explored(path, row), state_wanted(_case(path, row), outcome)
    assert found.complete
    assert found.states
    assert not any(wanted.matches(state) for state in found.states)


@pytest.mark.parametrize(("path", "row", "outcome"), MBARRIERS)
def test_what_mbarriers_do(path, row, outcome):
    found, wanted = explored(path, row), state_wanted(_case(path, row), outcome)
    assert found.complete
    assert [wanted.matches(state) for state in found.states] == [True]
    assert (found.hangs, found.traps) == (False, False)


def test_an_arrival_beyond_the_count_kills_the_kernel():
    found = explored("async/device/arrive-beyond-count", "")
    assert (found.complete, found.traps, found.states) == (True, True, frozenset())


@pytest.mark.parametrize(("path", "row", "outcome"), [one for one in SEEN if "device" in one[0]])
def test_random_runs_come_to_it_soon(path, row, outcome):
    wanted = state_wanted(_case(path, row), outcome)
    assert any(wanted.matches(state) for state in runs(_case(path, row), 500, 1).states)
