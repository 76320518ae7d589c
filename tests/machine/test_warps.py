"""Warps: where lanes part and meet, what convergence barriers hold, and what a stack never lets happen."""

from __future__ import annotations

import random

import pytest

from memcheck.checker import check
from memcheck.commands.main import main
from memcheck.language.test import Test
from memcheck.machine import Reached, runs, simulate
from memcheck.machine.convergence import Bssy, Bsync, Restore, Spill
from memcheck.machine.explore import explore, run_to_hang
from memcheck.machine.machine import Machine
from memcheck.machine.regions import BARRIERS, regions
from memcheck.machine.trace import standing, told
from memcheck.machine.warps import INDEPENDENT, SCHEDULINGS, STACK
from tests.machine.building import built

GLOBAL = ".global .u32 x = 0; .global .u32 y = 0; .global .u32 n = 0; "


def lanes(body: str, count: int = 2, end: str = "exists (true)", variables: str = GLOBAL) -> Test:
    """Lanes of one warp with one body; r9 is the number of the lane."""
    numbers = "".join(f"P{lane}:r9 = {lane}; " for lane in range(count))
    threads = [f"cta 0, warp 0, lane {lane} {{ {body} }}" for lane in range(count)]
    return built(*threads, variables=variables + numbers, end=end)


def explored(test: Test, scheduling: str | None = INDEPENDENT) -> Reached:
    """What is reached, of all runs."""
    found = simulate(test, scheduling=scheduling, seconds=60)
    assert found.complete
    return found


LOCK = """L0: atom.acquire.gpu.global.cas.b32 r0, [x], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra L0;
  ld.global.u32 r1, [n]; add.u32 r2, r1, 1; st.global.u32 [n], r2; st.release.gpu.global.u32 [x], 0;"""


@pytest.mark.parametrize("count", [2, 3])
def test_lanes_that_share_a_lock_go_on_by_themselves_and_not_on_a_stack(count):
    test = lanes(LOCK, count, "exists (n = 1)")
    found = explored(test)
    assert (found.states, found.hangs) == ({(count,)}, False)
    stack = explored(test, STACK)
    assert (stack.states, stack.hangs) == (frozenset(), True)


def test_the_run_into_the_deadlock_of_a_stack_ends_where_the_owner_waits_for_its_turn():
    machine = Machine(lanes(LOCK, end="exists (n = 1)"), STACK)
    run = run_to_hang(machine)
    assert run is not None
    steps = told(machine, run)
    assert steps[-1].unit == "stack"
    assert steps[-1].happened == "lane 1 first"
    assert steps[-1].changes == ("turn: lane 1, then lane 0, then lanes 0 1",)
    assert list(standing(machine, run[-1][1])) == ["P0 is at `SYNC`", "P1 is at `setp.ne.u32 p0, r0, 0`"]


def test_a_run_that_hangs_ends_where_nothing_new_comes():
    test = built(
        "cta 0 { L0: ld.relaxed.gpu.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 bra L0; st.relaxed.gpu.u32 [y], 1; }",
        "cta 1 { ld.relaxed.gpu.u32 r0, [y]; setp.eq.u32 p0, r0, 1; @p0 st.relaxed.gpu.u32 [x], 1; }",
    )
    machine = Machine(test)
    run = run_to_hang(machine)
    assert run is not None
    last = run[-1][1]
    assert {move.act(last, *move.arguments) for move in machine.moves(last)} == {last}
    assert run_to_hang(Machine(built("cta 0 { st.u32 [x], 1; }"))) is None


def test_other_bodies_have_their_turns_one_after_the_other_on_a_stack():
    test = built(
        "cta 0, warp 0, lane 0 { L0: ld.relaxed.cta.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 bra L0; }",
        "cta 0, warp 0, lane 1 { st.relaxed.cta.u32 [x], 1; }",
        end="exists (P0:r0 = 1)",
    )
    assert not explored(test).hangs
    stack = explored(test, STACK)
    assert (stack.states, stack.hangs) == ({(1,)}, True)


def test_a_lane_waits_behind_a_branch_for_those_inside_it():
    body = """setp.ne.u32 p0, r9, 0; @p0 bra L0; {} ld.acquire.cta.global.u32 r0, [x];
      L0: setp.eq.u32 p1, r9, 0; @!p1 st.relaxed.cta.global.u32 [x], 1;"""
    held = lanes(body.format(""), end="exists (P0:r0 = 1)")
    assert explored(held).states == {(0,)}
    assert explored(held, None).states == {(0,), (1,)}
    assert explored(lanes(body.format("nanosleep.u32 20;"), end="exists (P0:r0 = 1)")).states == {(0,), (1,)}
    machine = Machine(held)
    assert machine.warps is not None
    assert dict(machine.warps.shown(machine.initial())) == {"B0": "for lanes 0 1, lane 1 waiting"}


def test_a_lane_that_a_barrier_holds_is_not_waited_for():
    body = """setp.ne.u32 p0, r9, 0; @p0 bra L0; bar.warp.sync 3; bra L1;
      L0: setp.ne.u32 p1, r9, 7; L1: setp.eq.u32 p2, r9, 0; @!p2 bar.warp.sync 3; st.u32 [x], 1;"""
    found = explored(lanes(body, end="exists (x = 1)"))
    assert (found.states, found.hangs) == ({(1,)}, False)


def test_a_lane_that_exits_inside_a_branch_is_not_waited_for():
    body = "setp.ne.u32 p0, r9, 0; @p0 bra L0; exit; L0: st.u32 [x], 1; L1: st.u32 [y], 1;"
    found = explored(lanes(body, end="exists (x = 1 /\\ y = 1)"))
    assert (found.states, found.hangs) == ({(1, 1)}, False)
    assert explored(lanes(body, end="exists (x = 1 /\\ y = 1)"), STACK).states == {(1, 1)}


def nested(depth: int) -> str:
    """Branches inside branches; the lanes part at each."""
    heads = "".join(f"setp.eq.u32 p{i}, r9, {i}; @p{i} bra L{i}; add.u32 r0, r0, 1; " for i in range(depth))
    return heads + "".join(f"L{i}: add.u32 r1, r1, 1; " for i in reversed(range(depth))) + "st.u32 [x], 1;"


def test_where_barriers_are_too_few_one_is_kept_in_a_register():
    depth = BARRIERS + 2
    test = lanes(nested(depth), end="exists (P0:r0 = 0 /\\ P1:r0 = 1 /\\ P0:r1 = 1)")
    machine = Machine(test)
    kinds = [type(one) for one in machine.code[0]]
    assert (kinds.count(Spill), kinds.count(Restore)) == (2, 2)
    assert (kinds.count(Bssy), kinds.count(Bsync)) == (depth, depth)
    assert [one.text for one in machine.code[0] if type(one) is Spill] == ["BMOV.32.CLEAR B0"] * 2
    assert explored(test).states == {(0, 1, 1)}
    assert explored(test, STACK).states == {(0, 1, 1)}
    for scheduling in SCHEDULINGS:
        assert set(runs(test, 20, scheduling=scheduling).states) == {(0, 1, 1)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.u32 [x], 1;", []),
        ("@p0 bra L0; st.u32 [x], 1; L0: st.u32 [y], 1;", [(0, 2)]),
        ("@p0 bra L0; st.u32 [x], 1; bra L1; L0: st.u32 [y], 1; L1: st.u32 [n], 1;", [(0, 4)]),
        ("L0: ld.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 bra L0; st.u32 [y], 1;", [(0, 3)]),
        ("L0: ld.u32 r0, [x]; beq r0, 1, L1; bra L0; L1: st.u32 [y], 1;", [(0, 3)]),
        ("st.u32 [x], 1; L0: @p0 bra L1; @p1 bra L0; L1: st.u32 [y], 1;", [(1, 3)]),
        ("L0: @p0 bra L1; st.u32 [x], 1; L1: @p1 bra L0; st.u32 [y], 1;", [(0, 3), (0, 2)]),
        ("@p0 bra L0; exit; L0: st.u32 [y], 1;", [(0, 2)]),
        ("@p0 bra L0; st.u32 [x], 1; @p1 exit; L0: st.u32 [y], 1; ret;", [(0, 3)]),
        ("@p0 bra L0; st.u32 [x], 1; L0: ret;", [(0, 2)]),
        ("@p0 bra L0; st.u32 [x], 1; L0:", []),
        ("L0: ld.u32 r0, [x]; bra L0;", []),
        ("@p0 bra L0; @p1 bra L1; st.u32 [x], 1; L1: st.u32 [y], 1; L0: st.u32 [n], 1;", [(0, 4), (1, 3)]),
    ],
)
def test_regions_worked_out_by_hand(body, expected):
    found = regions(built(f"cta 0 {{ {body} }}", variables=GLOBAL).threads[0])
    assert [(region.entry, region.end) for region in found] == expected
    assert [region.barrier for region in found] == list(range(len(expected)))


def test_regions_without_another_inside_have_a_barrier_each_until_there_are_none():
    after_another = "".join(f"@p{i} bra L{i}; st.u32 [x], {i}; L{i}: st.u32 [y], 1; " for i in range(20))
    found = regions(built(f"cta 0 {{ {after_another} }}").threads[0])
    assert len(found) == 20
    assert {region.barrier for region in found} == set(range(BARRIERS))
    assert not any(region.spills for region in found)


def structured(draw: random.Random, depth: int = 0) -> str:
    """A body of loads, stores, atomics, branches and loops, as a compiler would nest them."""
    pieces = []
    for _ in range(draw.randint(1, 2 if depth else 3)):
        label = f"M{draw.randrange(10**9)}"
        place, register = draw.choice("xy"), draw.choice(("r0", "r1", "r9"))
        scope, kind = draw.choice(("cta", "gpu")), draw.randrange(7 if depth < 2 else 4)
        if kind < 2:
            sem, result = draw.choice(("relaxed", "acquire")), draw.choice(("r0", "r1"))
            pieces.append(f"ld.{sem}.{scope}.global.u32 {result}, [{place}];")
        elif kind == 2:
            sem, number = draw.choice(("relaxed", "release")), draw.randint(1, 2)
            pieces.append(f"st.{sem}.{scope}.global.u32 [{place}], {number};")
        elif kind == 3:
            pieces.append(f"atom.relaxed.{scope}.global.add.u32 r1, [{place}], 1;")
        elif kind < 6:
            inside, number = structured(draw, depth + 1), draw.randint(0, 1)
            leaves = draw.choice(("", "", "@p1 exit; "))
            pieces.append(f"setp.eq.u32 p1, {register}, {number}; @p1 bra {label}; {inside} {leaves}{label}:")
        else:
            pieces.append(f"{label}: ld.relaxed.{scope}.global.u32 r0, [{place}]; beq r0, 0, {label};")
    return " ".join(pieces)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 400))])
def test_lanes_of_one_body_stay_inside_what_lanes_alone_do_and_inside_the_model(seed):
    """Barriers and stacks take outcomes away; barriers never make a run hang that did not."""
    draw = random.Random(seed)
    body = structured(draw) + " st.relaxed.cta.global.u32 [n], 1;"
    other = f"cta 0, warp 1, lane 0 {{ {structured(draw, 2)} }}"
    end = "exists (P0:r0 = 0 /\\ P1:r0 = 0 /\\ P0:r1 = 0 /\\ P1:r1 = 0 /\\ x = 0 /\\ y = 0 /\\ n = 0)"
    threads = [f"cta 0, warp 0, lane {lane} {{ {body} }}" for lane in range(2)]
    test = built(*threads, other, variables=GLOBAL + "P0:r9 = 0; P1:r9 = 1; ", end=end)
    free, held, stack = (explore(Machine(test, scheduling), seconds=5) for scheduling in (None, INDEPENDENT, STACK))
    if not free.complete:
        return
    assert held.states <= free.states
    assert stack.states <= free.states
    assert not held.complete or held.hangs == free.hangs
    result = check(test, verify=False, timeout=20)
    if result.complete and not result.outside and not result.undecided:
        assert free.states <= set(result.states)
        assert free.hangs == any(flag.name == "deadlock" for flag in result.flags)


def test_the_command_has_both_schedulings(capsys):
    for scheduling, words in zip(SCHEDULINGS, ("✓ 1 final state, and no others", "✗ 0 final states")):
        assert main(["simulate", "--scheduling", scheduling, "lanes-share-a-lock"]) == 0
        assert words in capsys.readouterr().out
    assert main(["simulate", "--scheduling", "stack", "--trace", "deadlock", "lanes-share-a-lock"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "⚑ From here on no run ends: P0 is at `SYNC`, P1 is at `setp.ne.u32 p0, r0, 0`." in out


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_loops_of_lanes_without_a_step_end_or_are_given_up(scheduling):
    """Neither the depth of calls nor a limit on rounds makes a hang of them."""
    counted = "L0: add.u32 r1, r1, 1; setp.lt.u32 p0, r1, {}; @p0 bra L0; st.u32 [x], 1;"
    found = simulate(lanes(counted.format(1_000), end="exists (x = 1)"), scheduling=scheduling, seconds=60)
    assert (found.states, found.complete, found.hangs) == ({(1,)}, True, False)
    found = simulate(lanes(counted.format(10**9), end="exists (x = 1)"), scheduling=scheduling, seconds=60)
    assert (found.states, found.complete, found.hangs, found.tired) == (frozenset(), False, False, True)
    found = simulate(lanes("setp.eq.u32 p0, r9, 0; L0: @p0 bra L0;"), scheduling=scheduling, seconds=60)
    assert (found.complete, found.hangs) == (True, True)


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_lanes_that_have_gone_past_activemask_are_not_waited_for(scheduling):
    body = "setp.eq.u32 p0, r9, 0; @!p0 bra L0; activemask.b32 r7; L0: barrier.cta.sync.aligned 1;"
    test = lanes(body, end="exists (P0:r7 = 1 /\\ P1:r7 = 0)")
    found = explored(test, scheduling)
    assert (found.states, found.hangs) == ({(1, 0)}, False)
    assert found.states == set(check(test).states)
