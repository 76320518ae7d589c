"""Exploration: what stands for what, budgets, hangs, random runs."""

from __future__ import annotations

import tracemalloc

import pytest

from memcheck.corpus import find
from memcheck.machine import runs, simulate
from memcheck.machine.explore import explore, shortest
from memcheck.machine.machine import Machine
from tests.machine.building import built, reached

REDUCED = ["IRIW.table", "ISA2.table", "CoRR.table", "W+RWC.table", "SB-ring-4+one-acq_rel.litmus"]


def suite_test(name):
    return next(case.parse() for case in find(name) if case.name == name)


@pytest.mark.parametrize("name", REDUCED)
def test_a_few_steps_stand_for_all(name):
    for case in find(f"litmus/classic/{name}"):
        machine = Machine(case.parse())
        few, all_ = explore(machine, seconds=60), explore(machine, seconds=60, reduces=False)
        assert few.complete
        assert all_.complete
        assert (few.states, few.hangs, few.traps) == (all_.states, all_.hangs, all_.traps)
        assert few.visited <= all_.visited


def test_a_budget_leaves_states_out():
    result = simulate(suite_test("SB-ring-4+one-acq_rel"), budget_states=20)
    assert not result.complete
    assert result.states < simulate(suite_test("SB-ring-4+one-acq_rel"), seconds=60).states


WAYS = {
    "explore": lambda machine, budget: explore(machine, budget, 60),
    "shortest": lambda machine, budget: shortest(machine, (9,) * 6, budget, 60),
    "runs": lambda machine, budget: runs(machine.test, 30, 1, kept=budget),
}


@pytest.mark.parametrize("way", WAYS)
def test_memory_is_bounded_by_the_budget(way):
    """As docs/machine.md has it; without a bound each would need many times as many states."""
    machine, budget = Machine(suite_test("SB-ring-6+fence.sc")), 100
    machine.initial()
    tracemalloc.start()
    try:
        WAYS[way](machine, budget)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < budget * 4_000


def test_a_budget_is_of_states_told_apart():
    result = simulate(suite_test("SB-ring-6+fence.sc"), budget_states=300)
    assert not result.complete
    assert 300 < result.visited < 320


def test_what_random_runs_forget_changes_nothing():
    test = suite_test("IRIW+acq")
    assert runs(test, 50, 7, kept=5) == runs(test, 50, 7)


def test_a_spin_ends_or_hangs():
    spin = "cta 0 { L0: ld.relaxed.gpu.global.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 bra L0; }"
    result = reached(spin, "cta 1 { st.relaxed.gpu.global.u32 [x], 1; }", end="exists (P0:r0 = 1)")
    assert (set(result.states), result.hangs) == ({(1,)}, False)
    result = reached(spin, "cta 1 { st.relaxed.gpu.global.u32 [y], 1; }", end="exists (P0:r0 = 1)")
    assert (set(result.states), result.hangs) == (set(), True)


def test_a_stale_value_is_not_found_for_ever():
    """The last write wins in memory, and a spin on another value does not live on what a cache still has."""
    result = reached(
        "cta 0 { st.global.u32 [x], 1; st.global.u32 [x], 2; }",
        "cta 1 { L0: ld.global.u32 r0, [x]; setp.ne.u32 p0, r0, 1; @p0 bra L0; }", end="exists (P1:r0 = 1)",
    )  # fmt: skip
    assert (set(result.states), result.hangs) == ({(1,)}, True)


def test_a_thread_that_goes_round_alone_hangs():
    assert reached("cta 0 { L0: bra L0; }", end="exists (true)").hangs


def test_a_lock_is_taken_by_one_at_a_time():
    body = (
        "cta {} {{ L0: atom.acquire.gpu.global.cas.b32 r0, [x], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra L0; "
        "ld.global.u32 r1, [y]; add.u32 r1, r1, 1; st.global.u32 [y], r1; st.release.gpu.global.u32 [x], 0; }}"
    )
    result = reached(body.format(0), body.format(1), end="exists (y = 2)")
    assert (set(result.states), result.hangs) == ({(2,)}, False)


def test_random_runs_reach_what_is_reached_and_repeat():
    test = suite_test("IRIW+acq")
    found = runs(test, 400, 7)
    assert set(found.states) <= simulate(test).states
    assert len(found.states) > 8
    assert found.states == runs(test, 400, 7).states
    assert sum(found.states.values()) == 400


def test_the_shortest_run():
    machine = Machine(
        built("cta 0 { st.global.u32 [x], 1; }", "cta 1 { ld.global.u32 r0, [x]; }", end="exists (P1:r0 = 1)")
    )
    run = shortest(machine, (1,))
    assert run is not None
    assert [move.text.partition("]")[2] for move, _ in run] == [", 1 leaves the thread", " returns"]
    assert shortest(machine, (5,)) is None
