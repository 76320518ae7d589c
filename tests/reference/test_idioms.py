"""Idioms of kernels and compilers, buggy and mended: whether the bad outcome is allowed by chapter 8."""

from __future__ import annotations

import pytest

GPUS = ("P0 @ cta 0, gpu 0", "P1 @ cta 1, gpu 1")
CTAS = ("P0 @ cta 0", "P1 @ cta 1", "P2 @ cta 2")
LANES = ("P0 @ cta 0, warp 0, lane 0", "P1 @ cta 0, warp 0, lane 1")
LEADER = ("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 2")
STALE = r"P1:r0 = 1 /\ P1:r1 = 0"


def bad(explore, threads: tuple[str, ...], condition: str, places: tuple[str, ...] = CTAS, init: str = "") -> bool:
    """Whether some execution that ends satisfies the condition."""
    blocks = "\n".join(f"{place} {{ {body} }}" for place, body in zip(places, threads))
    declared = init or "d = 0; f = 0; n = 0; l = 0; w = 0; v = 0;"
    found = explore(f"PTX idiom\n{{ {declared} }}\n{blocks}\nfilter ({condition}) exists (true)")
    assert not found.outcome.outside
    return bool(found.states)


SEND = "st.u32 [d], 1; st.release.sys.u32 [f], 1;"
READ = "ld.u32 r1, [d];"


@pytest.mark.parametrize(
    ("writer", "reader", "allowed"),
    [
        ("st.u32 [d], 1; st.relaxed.sys.u32 [f], 1;", f"ld.relaxed.sys.u32 r0, [f]; {READ}", True),
        (SEND, f"ld.acquire.sys.u32 r0, [f]; {READ}", False),
        # a barrier of the warp is no acquire
        (SEND, f"ld.relaxed.sys.u32 r0, [f]; bar.warp.sync 1; {READ}", True),
        (SEND, f"ld.relaxed.sys.u32 r0, [f]; fence.acq_rel.sys; {READ}", False),
        # gpu scope between two GPUs: both ends must be of system scope
        ("st.u32 [d], 1; st.release.gpu.u32 [f], 1;", f"ld.acquire.gpu.u32 r0, [f]; {READ}", True),
        (SEND, f"ld.acquire.gpu.u32 r0, [f]; {READ}", True),
        ("st.u32 [d], 1; fence.acq_rel.gpu; st.relaxed.sys.u32 [f], 1;", f"ld.acquire.sys.u32 r0, [f]; {READ}", True),
        ("st.u32 [d], 1; fence.acq_rel.sys; st.relaxed.sys.u32 [f], 1;", f"ld.acquire.sys.u32 r0, [f]; {READ}", False),
        # a CTA's fence between volatile loads of another's data
        (
            "st.volatile.u32 [d], 1; fence.sc.sys; st.volatile.u32 [f], 1;",
            "ld.volatile.u32 r0, [f]; fence.sc.cta; ld.volatile.u32 r1, [d];",
            True,
        ),
        (
            "st.volatile.u32 [d], 1; fence.sc.sys; st.volatile.u32 [f], 1;",
            "ld.volatile.u32 r0, [f]; fence.sc.sys; ld.volatile.u32 r1, [d];",
            False,
        ),
        # a sequentially consistent store as fence.sc and a relaxed store, and its load
        (
            "st.u32 [d], 1; fence.sc.sys; st.relaxed.sys.u32 [f], 1;",
            f"fence.sc.sys; ld.acquire.sys.u32 r0, [f]; {READ}",
            False,
        ),
    ],
)
def test_flags_between_gpus(explore, writer, reader, allowed):
    assert bad(explore, (writer, reader), STALE, GPUS) == allowed


# Device-scope atomics of two GPUs are not atomic with each other.
@pytest.mark.parametrize(("scope", "allowed"), [("gpu", True), ("sys", False)])
def test_lost_update(explore, scope, allowed):
    threads = (f"atom.relaxed.{scope}.add.u32 r0, [d], 1;", "atom.relaxed.sys.add.u32 r0, [d], 1;")
    assert bad(explore, threads, "d = 1", GPUS) == allowed


# The last block's fence comes before its atomic: no acquire pattern.
@pytest.mark.parametrize(
    ("second", "allowed"),
    [
        ("fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;", True),
        ("fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1; fence.acq_rel.gpu;", False),
        ("atom.acq_rel.gpu.add.u32 r0, [n], 1;", False),
    ],
)
def test_last_block(explore, second, allowed):
    first = "st.u32 [d], 1; fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;"
    assert bad(explore, (first, f"{second} {READ}"), STALE) == allowed


@pytest.mark.parametrize(
    ("take", "give", "allowed"),
    [
        ("atom.relaxed.gpu.cas.b32 r0, [l], 0, 1;", "atom.relaxed.gpu.exch.b32 r3, [l], 0;", True),
        ("atom.acquire.gpu.cas.b32 r0, [l], 0, 1;", "atom.release.gpu.exch.b32 r3, [l], 0;", False),
        (
            "atom.relaxed.gpu.cas.b32 r0, [l], 0, 1; fence.acq_rel.gpu;",
            "fence.acq_rel.gpu; atom.relaxed.gpu.exch.b32 r3, [l], 0;",
            False,
        ),
    ],
)
def test_lock(explore, take, give, allowed):
    # P0 gives the lock back as 2, so that P1, which takes it as 2, is the second.
    give = give.replace("0;", "2;")
    first, second = f"{take} st.u32 [d], 1; {give}", f"{take.replace('0, 1', '2, 1')} {READ}"
    assert bad(explore, (first, second), r"P0:r0 = 0 /\ P1:r0 = 2 /\ P1:r1 = 0") == allowed


# A counter that several writers advance: the chain of atomics carries each of them, a load and a store does not.
@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [
        ("atom.relaxed.gpu.add.u32 r0, [n], 1;", "fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;", True),
        ("fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;", "atom.relaxed.gpu.add.u32 r0, [n], 1;", False),
        (
            "fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;",
            "ld.relaxed.gpu.u32 r0, [n]; add.u32 r1, r0, 1; st.relaxed.gpu.u32 [n], r1;",
            True,
        ),
    ],
)
def test_counter_of_several_writers(explore, first, second, allowed):
    threads = (f"st.u32 [w], 1; {first}", f"st.u32 [v], 1; {second}", "ld.acquire.gpu.u32 r0, [n]; ld.u32 r1, [w];")
    assert bad(explore, threads, r"P1:r0 = 1 /\ P2:r0 = 2 /\ P2:r1 = 0") == allowed


# A count says that some event happened, not which.
@pytest.mark.parametrize(("seen", "allowed"), [(1, True), (2, False)])
def test_one_signal_for_many_events(explore, seen, allowed):
    threads = (
        "st.u32 [w], 1; red.release.gpu.add.u32 [n], 1;",
        "st.u32 [v], 1; red.release.gpu.add.u32 [n], 1;",
        "ld.acquire.gpu.u32 r0, [n]; ld.u32 r1, [w];",
    )
    assert bad(explore, threads, rf"P2:r0 = {seen} /\ P2:r1 = 0") == allowed


# The awaited value is also the initial one.
@pytest.mark.parametrize(("value", "allowed"), [(1, True), (2, False)])
def test_flag_left_over(explore, value, allowed):
    threads = (f"st.u32 [d], 1; st.release.gpu.u32 [f], {value};", f"ld.acquire.gpu.u32 r0, [f]; {READ}")
    assert bad(explore, threads, rf"P1:r0 = {value} /\ P1:r1 = 0", init="d = 0; f = 1;") == allowed


FAR_READER = "ld.relaxed.gpu.u32 r0, [f]; {} ld.u32 r1, [d];"


# A leader publishes for its CTA: a release after the barrier covers everybody, a fence of its own before it does not;
# with fence.sc at both ends the order of the fences mends that, for the writer's fence must precede the reader's.
@pytest.mark.parametrize(
    ("all_fence", "before", "publish", "after", "allowed"),
    [
        ("", "", "st.release.gpu.u32 [f], 1;", "fence.acq_rel.gpu;", False),
        ("", "", "fence.acq_rel.gpu; st.relaxed.gpu.u32 [f], 1;", "fence.acq_rel.gpu;", False),
        ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;", "st.relaxed.gpu.u32 [f], 1;", "fence.acq_rel.gpu;", True),
        ("fence.sc.gpu;", "fence.sc.gpu;", "st.relaxed.gpu.u32 [f], 1;", "fence.sc.gpu;", False),
        ("fence.sc.gpu;", "fence.sc.gpu;", "st.relaxed.gpu.u32 [f], 1;", "fence.acq_rel.gpu;", True),
        ("fence.sc.gpu;", "fence.sc.gpu;", "st.relaxed.gpu.u32 [f], 1;", "bar.sync 0;", True),
    ],
)
def test_leader_publishes(explore, all_fence, before, publish, after, allowed):
    threads = (
        f"st.u32 [d], 1; {all_fence} bar.sync 0;",
        f"{before} bar.sync 0; {publish}",
        FAR_READER.format(after),
    )
    assert bad(explore, threads, r"P2:r0 = 1 /\ P2:r1 = 0", LEADER) == allowed


# A device barrier whose last arriver lacks a fence between its atomic and the flag.
@pytest.mark.parametrize(("middle", "allowed"), [("", True), ("fence.acq_rel.gpu;", False)])
def test_middle_fence(explore, middle, allowed):
    threads = (
        "st.u32 [d], 1; fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1;",
        f"fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r0, [n], 1; {middle} st.relaxed.gpu.u32 [f], 1;",
        FAR_READER.format("fence.acq_rel.gpu;"),
    )
    assert bad(explore, threads, r"P1:r0 = 1 /\ P2:r0 = 1 /\ P2:r1 = 0") == allowed


# Lanes of a warp: program order of another lane is nothing; the warp's barrier is what orders.
@pytest.mark.parametrize(
    ("kind", "between", "allowed"),
    [("", "", True), (".volatile", "", True), ("", "bar.warp.sync 3;", False)],
)
def test_lanes(explore, kind, between, allowed):
    threads = (f"st{kind}.shared.u32 [s], 1; {between}", f"{between} ld{kind}.shared.u32 r0, [s];")
    assert bad(explore, threads, "P1:r0 = 0", LANES, ".shared .u32 s = 0;") == allowed


# A barrier before both accesses instead of between them.
@pytest.mark.parametrize(
    ("threads", "allowed"),
    [
        (("bar.sync 0; st.shared.u32 [s], 1;", "bar.sync 0; ld.shared.u32 r0, [s];"), True),
        (("st.shared.u32 [s], 1; bar.sync 0;", "bar.sync 0; ld.shared.u32 r0, [s];"), False),
    ],
)
def test_hoisted_barrier(explore, threads, allowed):
    assert bad(explore, threads, "P1:r0 = 0", ("P0 @ cta 0", "P1 @ cta 0"), ".shared .u32 s = 0;") == allowed


# CTA barriers around relaxed flags do not carry order to another CTA; release and acquire do.
@pytest.mark.parametrize(
    ("store", "load", "allowed"),
    [("st.relaxed.gpu", "ld.relaxed.gpu", True), ("st.release.gpu", "ld.acquire.gpu", False)],
)
def test_barrier_around_flags(explore, store, load, allowed):
    threads = (
        "st.u32 [d], 1; bar.sync 0;",
        f"bar.sync 0; {store}.u32 [f], 1;",
        f"{load}.u32 r0, [f]; bar.sync 0;",
        "bar.sync 0; ld.u32 r1, [d];",
    )
    places = ("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 1", "P3 @ cta 1")
    assert bad(explore, threads, r"P2:r0 = 1 /\ P3:r1 = 0", places) == allowed


# fence.sc before each access of a store-buffering pair, as sequentially consistent accesses are compiled.
def test_sequentially_consistent_accesses(explore):
    threads = tuple(
        f"fence.sc.gpu; st.relaxed.gpu.u32 [{a}], 1; fence.sc.gpu; ld.acquire.gpu.u32 r0, [{b}];"
        for a, b in ("df", "fd")
    )
    assert not bad(explore, threads, r"P0:r0 = 0 /\ P1:r0 = 0")


# One 64-bit word of data and flag is read whole, a vector of two words is not.
def test_data_and_flag_in_one_access(explore):
    vector = ("st.relaxed.sys.v2.b32 [b], {1, 1};", "ld.relaxed.sys.v2.b32 {r0, r1}, [b];")
    assert bad(explore, vector, r"P1:r1 = 1 /\ P1:r0 = 0", GPUS, ".global .align 8 .b32 b[2];")
    scalar = ("st.relaxed.sys.b64 [b], 0x100000001;", "ld.relaxed.sys.b64 rd0, [b];")
    assert not bad(explore, scalar, r"P1:rd0 != 0 /\ P1:rd0 != 0x100000001", GPUS, ".global .b64 b;")


# A named barrier for two warps: one arrives and one waits, and the waiter goes on. When two arrive they can make up a
# generation of their own, and the waiter stays for ever; with a count that is never met it always does.
@pytest.mark.parametrize(
    ("threads", "ends", "hangs"),
    [
        (("bar.arrive 1, 64;", "bar.sync 1, 64;"), True, False),
        (("bar.arrive 1, 64;", "bar.arrive 1, 64;", "bar.sync 1, 64;"), True, True),
        (("bar.arrive 1, 96;", "bar.sync 1, 96;"), False, True),
    ],
)
def test_named_barrier_counts(explore, threads, ends, hangs):
    blocks = "\n".join(f"P{i} @ cta 0 {{ {body} }}" for i, body in enumerate(threads))
    found = explore(f"PTX counts\n{{ x = 0; }}\n{blocks}\nlocations [x]")
    assert bool(found.states) == ends
    assert found.outcome.hang == hangs
