"""Barriers, collectives and grids by hand."""

from __future__ import annotations

import pytest

from memcheck.language.load import parse_test
from memcheck.machine import simulate
from memcheck.source import SourceFile
from tests.machine.building import reached, states

SHARED = ".shared .u32 x = 0; .shared .u32 y = 0;"


def test_a_barrier_orders():
    body = "cta 0 {{ st.shared.u32 [{}], 1; bar.sync 0; ld.shared.u32 r0, [{}]; }}"
    end = "exists (P0:r0 = 0 /\\ P1:r0 = 0)"
    assert states(body.format("x", "y"), body.format("y", "x"), variables=SHARED, end=end) == {(1, 1)}


def test_an_arrival_does_not_wait():
    found = states(
        "cta 0 { bar.arrive 1, 64; ld.shared.u32 r0, [x]; }", "cta 0 { st.shared.u32 [x], 1; bar.sync 1, 64; }",
        variables=SHARED, end="exists (P0:r0 = 0)",
    )  # fmt: skip
    assert found == {(0,), (1,)}


def test_a_count_may_leave_a_thread_waiting():
    result = reached("cta 0 { bar.sync 1, 96; }", "cta 0 { bar.sync 1, 96; }", end="exists (true)")
    assert result.hangs
    assert not result.states


def test_a_barrier_counts_those_that_have_not_exited():
    found = states(
        "cta 0 { ld.relaxed.cta.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 exit; bar.sync 0; }",
        "cta 0 { bar.sync 0; mov.u32 r0, 1; }", end="exists (P0:r0 = 0 /\\ P1:r0 = 1)",
    )  # fmt: skip
    assert found == {(0, 1)}


@pytest.mark.parametrize(("word", "result"), [("popc.u32 r0", 2), ("and.pred p1", 0), ("or.pred p1", 1)])
def test_a_barrier_reduces(word, result):
    place = "cta 0 {{ setp.ge.u32 p0, {}, 2; bar.red.{}, 0, p0; @p1 mov.u32 r0, 1; }}"
    if "pred" in word:
        place = place.replace("@p1 mov", "selp.u32 r0, 1, 0, p1; @p1 mov")
    threads = [place.format(number, word) for number in (1, 2, 3)]
    assert states(*threads, end="exists (P0:r0 = 9)") == {(result,)}


def test_a_cluster_barrier_in_two_phases():
    body = "cluster 0, cta {} {{ {} barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; {} }}"
    found = states(
        body.format(0, "st.global.u32 [x], 1;", "ld.global.u32 r0, [y];"),
        body.format(1, "st.global.u32 [y], 1;", "ld.global.u32 r0, [x];"),
        end="exists (P0:r0 = 0 /\\ P1:r0 = 0)",
    )
    assert found == {(1, 1)}


def test_a_wait_without_arrive_traps():
    assert reached("cta 0 { barrier.cluster.wait; }", end="exists (true)").traps


def test_the_columns_barrier_lets_surplus_threads_pass():
    text = "bar.cta.sync 1, 1, 2"
    table = f"PTX T\n{{\nx = 0;\n}}\n P0@cta 0 | P1@cta 0 | P2@cta 0 ;\n {text} | {text} | {text} ;\nexists (x = 0)\n"
    result = simulate(parse_test(SourceFile("t", table)))
    assert result.states == {(0,)}
    assert not result.hangs


@pytest.mark.parametrize(
    ("instruction", "results"),
    [
        ("shfl.sync.up.b32 r0, r9, 1, 0, -1;", (10, 10, 11)),
        ("shfl.sync.bfly.b32 r0, r9, 1, 31, 3;", (11, 10, None)),
        ("shfl.sync.idx.b32 r0, r9, 2, 31, -1;", (12, 12, 12)),
        ("vote.sync.ballot.b32 r0, p0, -1;", (6, 6, 6)),
        ("match.any.sync.b32 r0, r8, -1;", (1, 6, 6)),
        ("redux.sync.add.s32 r0, r9, -1;", (33, 33, 33)),
        ("redux.sync.min.u32 r0, r9, -1;", (10, 10, 10)),
        ("elect.sync r0|p1, -1;", (0, 0, 0)),
        ("activemask.b32 r0;", (7, 7, 7)),
    ],
)
def test_collectives(instruction, results):
    lanes = [lane for lane, result in enumerate(results) if result is not None]
    threads = []
    for lane in lanes:
        setup = f"mov.u32 r9, {10 + lane}; setp.ge.u32 p0, r9, 11; selp.u32 r8, 1, 0, p0;"
        threads.append(f"cta 0, warp 0, lane {lane} {{ {setup} {instruction} }}")
    end = "exists (" + " /\\ ".join(f"P{lane}:r0 = 0" for lane in lanes) + ")"
    assert states(*threads, end=end) == {tuple(results[lane] for lane in lanes)}


def test_grids_in_an_order():
    end = "order grid 0 -> grid 1"
    found = states(
        "grid 0, cta 0 { st.global.u32 [x], 1; }", "grid 1, cta 1 { ld.global.u32 r0, [x]; }",
        variables=f".global .u32 x = 0; {end};", end="exists (P1:r0 = 0)",
    )  # fmt: skip
    assert found == {(1,)}
