"""Barriers, worked out by hand from PTX ISA 8.9.4 and 9.7.15.1 to 9.7.15.3."""

from __future__ import annotations

import pytest

from tests.reference.texts import ONE_CTA, R0, litmus, observing


def through_barrier(explore, writer: str, reader: str, places: tuple[str, ...] = ONE_CTA):
    return explore(litmus(writer, reader, init="x = 0;", places=places, end=R0), "P1:r0")


# Both are in the one generation that has everybody: W x -> sync -> sync -> R x. No race.
def test_bar_sync(explore):
    found = through_barrier(explore, "st.u32 [x], 1; bar.sync 0;", "bar.sync 0; ld.u32 r0, [x];")
    assert found.states == {(1,)}
    assert not found.outcome.race
    assert not found.outcome.hang


# Two numbers are two barriers, each lacking a thread that neither comes nor exits: no execution ends.
def test_different_barriers(explore):
    found = through_barrier(explore, "st.u32 [x], 1; bar.sync 0;", "bar.sync 1; ld.u32 r0, [x];")
    assert found.states == frozenset()
    assert found.outcome.hang


# Without a count the barrier is for the threads that have not exited: P0 exits, P1 passes alone, nothing orders x.
# With a count of two warps it can never be met.
def test_exited_thread(explore):
    found = through_barrier(explore, "st.u32 [x], 1;", "bar.sync 0; ld.u32 r0, [x];")
    assert found.states == {(0,), (1,)}
    assert not found.outcome.hang
    counted = through_barrier(explore, "st.u32 [x], 1;", "bar.sync 0, 64; ld.u32 r0, [x];")
    assert counted.states == frozenset()
    assert counted.outcome.hang


# arrive synchronizes with sync, and not the other way round: nothing flows into an arrive.
def test_bar_arrive(explore):
    produces = through_barrier(explore, "st.u32 [x], 1; bar.arrive 0, 64;", "bar.sync 0, 64; ld.u32 r0, [x];")
    assert produces.states == {(1,)}
    consumes = through_barrier(explore, "st.u32 [x], 1; bar.sync 0, 64;", "bar.arrive 0, 64; ld.u32 r0, [x];")
    assert consumes.states == {(0,), (1,)}


# Three warps, a count of two: two of them make up a generation and the third is left over. No execution ends.
def test_odd_count(explore):
    text = litmus(
        "bar.sync 1, 64;",
        "bar.sync 1, 64;",
        "bar.sync 1, 64;",
        init="x = 0;",
        places=("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 0"),
        end=observing("x"),
    )
    found = explore(text, "x")
    assert found.states == frozenset()
    assert found.outcome.hang


# A count of two among three arrivals, two of which only arrive: P2's wait pairs with P0's or with P1's arrival, so it
# is ordered after one of the writes and not after the other. The arrival left over waits for nobody. If the two
# arrivals make up the generation, P2 waits for ever.
def test_generation_is_a_choice(explore):
    text = litmus(
        "st.u32 [x], 1; bar.arrive 1, 64;",
        "st.u32 [y], 1; bar.arrive 1, 64;",
        "bar.sync 1, 64; ld.u32 r0, [x]; ld.u32 r1, [y];",
        init="x = 0; y = 0;",
        places=("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 0"),
        end=observing("P2:r0", "P2:r1"),
    )
    found = explore(text, "P2:r0", "P2:r1")
    assert found.states == {(1, 0), (1, 1), (0, 1)}
    assert found.outcome.hang


# P0 arrives and comes back to the barrier at once, with nothing to say that its first generation is over.
def test_arriving_again(explore):
    bad = through_barrier(explore, "bar.arrive 0, 64; bar.sync 0, 64;", "bar.sync 0, 64; bar.sync 0, 64;")
    assert "barrier-rearrival" in bad.outcome.outside
    # Barrier 1 in between says so: P1 comes to it after it left generation 0 of barrier 0.
    good = through_barrier(
        explore,
        "st.u32 [x], 1; bar.arrive 0, 64; bar.sync 1, 64; bar.sync 0, 64;",
        "bar.sync 0, 64; bar.sync 1, 64; bar.sync 0, 64; ld.u32 r0, [x];",
    )
    assert not good.outcome.outside
    assert good.states == {(1,)}


# Different counts, and red beside sync, on one barrier at a time: undefined.
def test_barrier_misuse(explore):
    counts = through_barrier(explore, "bar.sync 0, 64;", "bar.sync 0, 32; ld.u32 r0, [x];")
    assert counts.outcome.outside


# Double buffering through one barrier: the second generation is after the first. P1's read between the barriers sees 1
# and never 2: W x=2 is after the second barrier.
def test_two_generations(explore):
    found = through_barrier(
        explore,
        "st.u32 [x], 1; bar.sync 0; bar.sync 0; st.u32 [x], 2;",
        "bar.sync 0; ld.u32 r0, [x]; bar.sync 0;",
    )
    assert found.states == {(1,)}
    assert not found.outcome.race


# 8.9.4.3 with the semantics of the instruction: arrive releases, wait acquires. arrive.relaxed is only the strong write
# of a pattern: nothing by itself, and a fence whose scope has the waiter makes it release.
@pytest.mark.parametrize(
    ("publish", "expected"),
    [
        ("barrier.cluster.arrive;", {(1,)}),
        ("barrier.cluster.arrive.relaxed;", {(0,), (1,)}),
        ("fence.release.cluster; barrier.cluster.arrive.relaxed;", {(1,)}),
        ("fence.acq_rel.gpu; barrier.cluster.arrive.relaxed;", {(1,)}),
        ("fence.acq_rel.cta; barrier.cluster.arrive.relaxed;", {(0,), (1,)}),
        ("fence.acquire.cluster; barrier.cluster.arrive.relaxed;", {(0,), (1,)}),
    ],
)
def test_cluster_barrier(explore, publish, expected):
    found = through_barrier(
        explore,
        f"st.u32 [x], 1; {publish} barrier.cluster.wait;",
        "barrier.cluster.arrive; barrier.cluster.wait; ld.u32 r0, [x];",
        places=("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0"),
    )
    assert found.states == expected
    assert not found.outcome.hang


# A write between arrive and wait is after the release: nothing orders it before the other thread's read.
def test_cluster_barrier_in_between(explore):
    found = through_barrier(
        explore,
        "barrier.cluster.arrive; st.u32 [x], 1; barrier.cluster.wait;",
        "barrier.cluster.arrive; barrier.cluster.wait; ld.u32 r0, [x];",
        places=("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0"),
    )
    assert found.states == {(0,), (1,)}


# ISA 9.7.15.2: bar.warp.sync orders memory among its lanes; a vote does not.
def test_warp_barrier(explore):
    lanes = ("P0 @ cta 0, warp 0, lane 0", "P1 @ cta 0, warp 0, lane 1")
    found = through_barrier(explore, "st.u32 [x], 1; bar.warp.sync 3;", "bar.warp.sync 3; ld.u32 r0, [x];", lanes)
    assert found.states == {(1,)}
    votes = through_barrier(
        explore,
        "st.u32 [x], 1; mov.pred p1, 1; vote.sync.any.pred p0, p1, 3;",
        "mov.pred p1, 1; vote.sync.any.pred p0, p1, 3; ld.u32 r0, [x];",
        lanes,
    )
    assert votes.states == {(0,), (1,)}
