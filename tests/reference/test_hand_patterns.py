"""Release and acquire patterns, worked out by hand from PTX ISA 8.8, 8.9.4 and 8.10.6."""

from __future__ import annotations

import pytest

from tests.reference.texts import ANY, MP, READER, SYNCHRONIZED, WRITER, litmus, observing

# --- 8.8, 8.9.4 rule 4, 8.10.6: message passing ---


def mp(explore, writer: str, reader: str, places: tuple[str, ...] | None = None) -> set[tuple[int, int]]:
    text = litmus(writer, reader, init="x = 0; f = 0;", places=places, end=MP)
    return set(explore(text, "P1:r0", "P1:r1").states)


def test_mp_release_acquire(explore):
    found = explore(litmus(WRITER, READER, init="x = 0; f = 0;", end=MP), "P1:r0", "P1:r1")
    assert found.states == SYNCHRONIZED
    # In the executions with r0 = 0 the two x accesses conflict, are unordered, and weak in two threads (8.7.1).
    assert found.outcome.race
    assert not found.outcome.outside
    assert not found.outcome.hang


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        # 8.8, release 3 and acquire 3: a fence of acq_rel, and of sc, which is at least that strong
        ("st.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [f], 1;", READER),
        ("st.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [f], 1;", READER),
        (WRITER, "ld.relaxed.gpu.u32 r0, [f]; fence.acq_rel.gpu; ld.u32 r1, [x];"),
        (WRITER, "ld.relaxed.gpu.u32 r0, [f]; fence.sc.gpu; ld.u32 r1, [x];"),
        # one-directional fences in their own direction
        (
            "st.u32 [x], 1; fence.release.gpu; st.relaxed.gpu.u32 [f], 1;",
            "ld.relaxed.gpu.u32 r0, [f]; fence.acquire.gpu; ld.u32 r1, [x];",
        ),
        # 8.4.2: volatile is relaxed.sys, so it is the strong write and the strong read of the patterns
        (
            "st.volatile.u32 [x], 1; fence.acq_rel.sys; st.volatile.u32 [f], 1;",
            "ld.volatile.u32 r0, [f]; fence.acq_rel.sys; ld.volatile.u32 r1, [x];",
        ),
        # 8.8: an atomic is a strong read and a strong write
        (
            "st.u32 [x], 1; fence.acq_rel.gpu; atom.relaxed.gpu.add.u32 r9, [f], 1;",
            "atom.relaxed.gpu.add.u32 r0, [f], 0; fence.acq_rel.gpu; ld.u32 r1, [x];",
        ),
        ("st.u32 [x], 1; red.release.gpu.add.u32 [f], 1;", "atom.acquire.gpu.or.b32 r0, [f], 0; ld.u32 r1, [x];"),
    ],
)
def test_mp_forms_that_synchronize(explore, writer, reader):
    assert mp(explore, writer, reader) == SYNCHRONIZED


@pytest.mark.parametrize(
    ("writer", "reader"),
    [
        # no pattern at one end
        ("st.u32 [x], 1; st.relaxed.gpu.u32 [f], 1;", READER),
        (WRITER, "ld.relaxed.gpu.u32 r0, [f]; ld.u32 r1, [x];"),
        # a weak flag is morally strong with nothing in another thread: no observation (8.9.2)
        ("st.u32 [x], 1; fence.acq_rel.gpu; st.weak.u32 [f], 1;", READER),
        # fences of the wrong direction
        ("st.u32 [x], 1; fence.acquire.gpu; st.relaxed.gpu.u32 [f], 1;", READER),
        (WRITER, "ld.relaxed.gpu.u32 r0, [f]; fence.release.gpu; ld.u32 r1, [x];"),
        # the fence comes after the write, or before the read
        ("st.u32 [x], 1; st.relaxed.gpu.u32 [f], 1; fence.acq_rel.gpu;", READER),
        (WRITER, "fence.acq_rel.gpu; ld.relaxed.gpu.u32 r0, [f]; ld.u32 r1, [x];"),
        # 8.7: the scope of one access, or of one end alone, leaves out the other thread
        ("st.u32 [x], 1; st.release.cta.u32 [f], 1;", READER),
        (WRITER, "ld.acquire.cta.u32 r0, [f]; ld.u32 r1, [x];"),
        ("st.u32 [x], 1; fence.acq_rel.cta; st.relaxed.gpu.u32 [f], 1;", READER),
        (WRITER, "ld.relaxed.gpu.u32 r0, [f]; fence.sc.cta; ld.u32 r1, [x];"),
        # cluster scope, the CTAs being in clusters of their own (8.5)
        ("st.u32 [x], 1; st.release.cluster.u32 [f], 1;", "ld.acquire.cluster.u32 r0, [f]; ld.u32 r1, [x];"),
    ],
)
def test_mp_forms_that_do_not(explore, writer, reader):
    assert mp(explore, writer, reader) == ANY


def test_mp_scopes_and_places(explore):
    cta = ("st.u32 [x], 1; st.release.cta.u32 [f], 1;", "ld.acquire.cta.u32 r0, [f]; ld.u32 r1, [x];")
    cluster = ("st.u32 [x], 1; st.release.cluster.u32 [f], 1;", "ld.acquire.cluster.u32 r0, [f]; ld.u32 r1, [x];")
    system = ("st.u32 [x], 1; st.release.sys.u32 [f], 1;", "ld.acquire.sys.u32 r0, [f]; ld.u32 r1, [x];")
    one_cta = ("P0 @ cta 0", "P1 @ cta 0")
    one_cluster = ("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0")
    two_gpus = ("P0 @ cta 0, gpu 0", "P1 @ cta 1, gpu 1")
    assert mp(explore, *cta, places=one_cta) == SYNCHRONIZED
    assert mp(explore, *cluster, places=one_cluster) == SYNCHRONIZED
    assert mp(explore, *cta, places=one_cluster) == ANY
    assert mp(explore, WRITER, READER, places=two_gpus) == ANY
    assert mp(explore, *system, places=two_gpus) == SYNCHRONIZED
    # one end of gpu scope on another GPU: not morally strong, whatever the other end says
    assert mp(explore, system[0], READER, places=two_gpus) == ANY


# 8.8, release 2: the release and the later relaxed write are one pattern on f, so reading 2 synchronizes too. f ends
# the reader's choice: 0 (x any), 1 (x = 1), 2 (x = 1). With the release on another location there is no pattern on f,
# f is only ever 0 or 2, and x is any.
def test_release_pattern_needs_one_location(explore):
    same = "st.u32 [x], 1; st.release.gpu.u32 [f], 1; st.relaxed.gpu.u32 [f], 2;"
    assert mp(explore, same, READER) == {(0, 0), (0, 1), (1, 1), (2, 1)}
    other = "st.u32 [x], 1; st.release.gpu.u32 [g], 1; st.relaxed.gpu.u32 [f], 2;"
    text = litmus(other, READER, init="x = 0; f = 0; g = 0;", end=MP)
    assert explore(text, "P1:r0", "P1:r1").states == {(0, 0), (0, 1), (2, 0), (2, 1)}


# 8.8, acquire 2. Writes of f: 1 (release, P0) and 2 (relaxed, P2), morally strong, in either order. The two flag reads
# are po-ordered and morally strong, so they never go back in that order: 0 <= r0 <= r1 in one of the orders 0,1,2 and
# 0,2,1. P0 synchronizes with the acquire read if r1 = 1, and also if r0 = 1 whatever r1 is, through the pattern
# "relaxed read; acquire read of the same location". Then r2 = 1, else r2 is any.
def test_acquire_pattern_on_one_location(explore):
    reader = "ld.relaxed.gpu.u32 r0, [f]; ld.acquire.gpu.u32 r1, [f]; ld.u32 r2, [x];"
    text = litmus(
        WRITER, reader, "st.relaxed.gpu.u32 [f], 2;", init="x = 0; f = 0;", end=observing("P1:r0", "P1:r1", "P1:r2")
    )
    expected = set()
    for flag in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (2, 1)]:
        expected |= {(*flag, 1)} if 1 in flag else {(*flag, 0), (*flag, 1)}
    assert explore(text, "P1:r0", "P1:r1", "P1:r2").states == expected


# The acquire read is of g: no pattern on f, so r0 = 1 promises nothing about x.
def test_acquire_pattern_on_another_location(explore):
    reader = "ld.relaxed.gpu.u32 r0, [f]; ld.acquire.gpu.u32 r1, [g]; ld.u32 r2, [x];"
    text = litmus(WRITER, reader, init="x = 0; f = 0; g = 0;", end=observing("P1:r0", "P1:r2"))
    assert explore(text, "P1:r0", "P1:r2").states == ANY


# --- 8.11.1: reductions ---


# st and red are morally strong: red reads the other's 1 (flag = 2) or comes first (flag = 1). red ends no acquire
# pattern with the fence: x is any. With atom in its place, flag = 2 means that it read the release: r1 = 42.
@pytest.mark.parametrize("reduction", [True, False])
def test_red_does_not_acquire(explore, reduction):
    rmw = "red.relaxed.sys.add.u32 [f], 1;" if reduction else "atom.relaxed.sys.add.u32 _, [f], 1;"
    text = litmus(
        "st.u32 [x], 42; st.release.gpu.u32 [f], 1;",
        f"{rmw} fence.acquire.gpu; ld.weak.u32 r1, [x];",
        init="x = 0; f = 0;",
        end=observing("P1:r1", "f"),
    )
    expected = {(0, 1), (42, 1), (42, 2)} | ({(0, 2)} if reduction else set())
    assert explore(text, "P1:r1", "f").states == expected


# red still carries observation order: the chain of test_rmw_chain, without its register. f = 2 only after W f.
def test_red_in_a_chain(explore):
    text = litmus(
        WRITER, "red.relaxed.gpu.add.u32 [f], 1;", READER, init="x = 0; f = 0;", end=observing("P2:r0", "P2:r1")
    )
    assert explore(text, "P2:r0", "P2:r1").states == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)}
