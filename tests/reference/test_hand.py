"""Complete state sets worked out by hand from PTX ISA chapter 8; the derivation stands above each test.

Two threads are in CTAs 0 and 1 of one GPU and everything starts at 0 unless a test says otherwise. "Any" means that
nothing relates the accesses, so that a read returns the initial value or any overlapping write.
"""

from __future__ import annotations

from itertools import product

import pytest

FAR = ("P0 @ cta 0", "P1 @ cta 1")


def litmus(*threads: str, init: str = "", end: str = "", places: tuple[str, ...] | None = None) -> str:
    """A test in blocks; `places` defaults to one CTA a thread. Every register and location is observed."""
    heads = places or tuple(f"P{i} @ cta {i}, gpu 0" for i in range(len(threads)))
    blocks = "\n".join(f"{head} {{ {body} }}" for head, body in zip(heads, threads))
    return f"PTX hand\n{{ {init} }}\n{blocks}\n{end}"


def observing(*terms: str) -> str:
    return f"locations [{'; '.join(terms)}]"


# --- 8.8, 8.9.4 rule 4, 8.10.6: message passing ---------------------------------------------------------------------

WRITER = "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;"
READER = "ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x];"
MP = observing("P1:r0", "P1:r1")


def mp(explore, writer: str, reader: str, places: tuple[str, ...] | None = None) -> set[tuple[int, int]]:
    text = litmus(writer, reader, init="x = 0; f = 0;", places=places, end=MP)
    return set(explore(text, "P1:r0", "P1:r1").states)


# If r0 = 1 the release pattern of P0 (8.8, release 1) synchronizes with the acquire pattern of P1 (acquire 1), since
# the two flag accesses are morally strong. Then W x is causality-before R x (8.9.5) and R x cannot return W0, which
# is coherence-before W x (8.10.6.2). If r0 = 0 nothing relates the x accesses: any.
SYNCHRONIZED = {(0, 0), (0, 1), (1, 1)}
ANY = set(product((0, 1), repeat=2))


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


# --- 8.9.3, 8.10.2: fence.sc ----------------------------------------------------------------------------------------


# 8.10.6's own text: one fence comes first, and then the other thread's read must see the write. Of two writes and two
# reads only (0, 0) goes. acq_rel fences make no order of their own, nor do fences whose scopes exclude each other.
@pytest.mark.parametrize(
    ("fence", "expected"), [("fence.sc.sys", ANY - {(0, 0)}), ("fence.acq_rel.sys", ANY), ("fence.sc.cta", ANY)]
)
def test_sb(explore, fence, expected):
    left = f"st.u32 [x], 1; {fence}; ld.u32 r0, [y];"
    right = f"st.u32 [y], 1; {fence}; ld.u32 r1, [x];"
    text = litmus(left, right, init="x = 0; y = 0;", end=observing("P0:r0", "P1:r1"))
    assert explore(text, "P0:r0", "P1:r1").states == expected


# R. If F0 < F1, W x is causality-before R x: r0 = 1, and y's two morally strong writes may be in either order. If
# F1 < F0, W y=2 is causality-before W y=1, so y ends as 1 (8.10.1); W x is after F1 in nobody's sight: r0 any.
def test_r(explore):
    left = "st.relaxed.gpu.u32 [x], 1; fence.sc.gpu; st.relaxed.gpu.u32 [y], 1;"
    right = "st.relaxed.gpu.u32 [y], 2; fence.sc.gpu; ld.relaxed.gpu.u32 r0, [x];"
    text = litmus(left, right, init="x = 0; y = 0;", end=observing("P1:r0", "y"))
    assert explore(text, "P1:r0", "y").states == {(1, 1), (1, 2), (0, 1)}


# 2+2W. x ends as 1 only if W x=2 (P1) is before W x=1 (P0) in coherence, y as 1 only if W y=2 (P0) is before W y=1.
# Fences F0 < F1 put W x=1 before W x=2: x = 2. F1 < F0 puts W y=1 before W y=2: y = 2. So not both 1. Without the
# fences coherence is chosen for each location alone: all four.
@pytest.mark.parametrize(
    ("fence", "expected"), [("fence.sc.gpu;", {(1, 2), (2, 1), (2, 2)}), ("", {(1, 1), (1, 2), (2, 1), (2, 2)})]
)
def test_2_plus_2w(explore, fence, expected):
    left = f"st.relaxed.gpu.u32 [x], 1; {fence} st.relaxed.gpu.u32 [y], 2;"
    right = f"st.relaxed.gpu.u32 [y], 1; {fence} st.relaxed.gpu.u32 [x], 2;"
    text = litmus(left, right, init="x = 0; y = 0;", end=observing("x", "y"))
    assert explore(text, "x", "y").states == expected


# IRIW. Readers see x then y, and y then x. Both seeing the first and missing the second contradicts any order of the
# fences: with F1 < F3, W x -> (observed by P1) -> F1 -> F3 -> P3's read of x, which then is 1; likewise the other way.
# Observation counts since the relaxed accesses are morally strong (8.9.5). Acquire loads order each reader's loads but
# not the two readers: all sixteen.
@pytest.mark.parametrize("strong", [True, False])
def test_iriw(explore, strong):
    fence, load = ("fence.sc.gpu;", "ld.relaxed.gpu.u32") if strong else ("", "ld.acquire.gpu.u32")
    text = litmus(
        "st.relaxed.gpu.u32 [x], 1;",
        f"{load} r0, [x]; {fence} {load} r1, [y];",
        "st.relaxed.gpu.u32 [y], 1;",
        f"{load} r2, [y]; {fence} {load} r3, [x];",
        init="x = 0; y = 0;",
        end=observing("P1:r0", "P1:r1", "P3:r2", "P3:r3"),
    )
    everything = set(product((0, 1), repeat=4))
    expected = everything - {(1, 0, 1, 0)} if strong else everything
    assert explore(text, "P1:r0", "P1:r1", "P3:r2", "P3:r3").states == expected


# --- 8.9.5: cumulativity and observation ----------------------------------------------------------------------------


# WRC. If r0 = 1 and r1 = 1: W x is observed by P1's read (both strong), which is before P1's release, which
# synchronizes with P2's acquire, so W x is causality-before P2's read: r2 = 1. A weak W x is observed by nobody
# (8.9.2), and then nothing orders it before P2's read.
@pytest.mark.parametrize("strong", [True, False])
def test_wrc(explore, strong):
    write = "st.relaxed.gpu.u32 [x], 1;" if strong else "st.weak.u32 [x], 1;"
    text = litmus(
        write,
        "ld.relaxed.gpu.u32 r0, [x]; st.release.gpu.u32 [y], 1;",
        "ld.acquire.gpu.u32 r1, [y]; ld.relaxed.gpu.u32 r2, [x];",
        init="x = 0; y = 0;",
        end=observing("P1:r0", "P2:r1", "P2:r2"),
    )
    everything = set(product((0, 1), repeat=3))
    expected = everything - {(1, 1, 0)} if strong else everything
    assert explore(text, "P1:r0", "P2:r1", "P2:r2").states == expected


# ISA2. W x -> release y -> acquire y -> release z -> acquire z -> R x: base causality is transitive, so r0 = r1 = 1
# gives r2 = 1.
def test_isa2(explore):
    text = litmus(
        "st.u32 [x], 1; st.release.gpu.u32 [y], 1;",
        "ld.acquire.gpu.u32 r0, [y]; st.release.gpu.u32 [z], 1;",
        "ld.acquire.gpu.u32 r1, [z]; ld.u32 r2, [x];",
        init="x = 0; y = 0; z = 0;",
        end=observing("P1:r0", "P2:r1", "P2:r2"),
    )
    everything = set(product((0, 1), repeat=3))
    assert explore(text, "P1:r0", "P2:r1", "P2:r2").states == everything - {(1, 1, 0)}


# S. r0 = 1: W x=2 is causality-before W x=1, so x ends as 1 (8.10.1). r0 = 0: two weak writes in a race are unrelated
# in coherence (8.9.6), and either may remain.
def test_s(explore):
    text = litmus(
        "st.u32 [x], 2; st.release.gpu.u32 [y], 1;",
        "ld.acquire.gpu.u32 r0, [y]; st.u32 [x], 1;",
        init="x = 0; y = 0;",
        end=observing("P1:r0", "x"),
    )
    found = explore(text, "P1:r0", "x")
    assert found.states == {(1, 1), (0, 1), (0, 2)}
    assert found.outcome.race


# An atomic between release and acquire: P2 reading the atomic's write is observed by the release through it (8.9.2.2).
# a = P1's old value. a = 1: f goes 0, 1 (st), 2 (atom); reading 1 or 2 gives r1 = 1. a = 0: f goes 0, 1 (atom), 1 (st):
# a value 1 may be the atom's, which carries nothing: any.
CHAIN = {(1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 2, 1), (0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)}


def chain(explore, atomic: str, places: tuple[str, ...] | None = None) -> set[tuple[int, ...]]:
    text = litmus(WRITER, atomic, READER, init="x = 0; f = 0;", places=places, end=observing("P1:r0", "P2:r0", "P2:r1"))
    return set(explore(text, "P1:r0", "P2:r0", "P2:r1").states)


def test_rmw_chain(explore):
    assert chain(explore, "atom.relaxed.gpu.add.u32 r0, [f], 1;") == CHAIN


# The link's scope leaves the others out: not morally strong with W f, so no observation through it; and not atomic with
# W f either. a = 0: atom writes 1, W f writes 1 (unordered, 8.9.6). r0 = 0: any, r0 = 1: any by the atom's 1. a = 1:
# atom writes 2; r0 = 1 is W f: r1 = 1. r0 = 2 promises nothing: any.
def test_rmw_chain_of_narrow_scope(explore):
    assert chain(explore, "atom.relaxed.cta.add.u32 r0, [f], 1;") == CHAIN | {(1, 2, 0)}


# A plain read and write in between is no atomic: no observation through it. P1 writes 1 + what it read, relaxed and
# morally strong with W f. a = 0: writes 1, with W f in either order: any for r0 = 0 and 1. a = 1: writes 2 after W f.
def test_load_and_store_make_no_chain(explore):
    middle = "ld.relaxed.gpu.u32 r0, [f]; add.u32 r1, r0, 1; st.relaxed.gpu.u32 [f], r1;"
    assert chain(explore, middle) == CHAIN | {(1, 2, 0)}


# --- 8.10.3: atomicity ----------------------------------------------------------------------------------------------


# Litmus Test 1: morally strong, so one follows the other: the second reads 1 and x = 2.
def test_rmw_atomicity(explore):
    text = litmus(
        "atom.sys.add.u32 r0, [x], 1;",
        "atom.sys.add.u32 r1, [x], 1;",
        init="x = 0;",
        end=observing("P0:r0", "P1:r1", "x"),
    )
    found = explore(text, "P0:r0", "P1:r1", "x")
    assert found.states == {(0, 1, 2), (1, 0, 2)}
    assert not found.outcome.race


# Litmus Test 2: not morally strong, unrelated in coherence: both may read 0 (x = 1); where one reads the other's 1 and
# writes 2, either write may remain, since coherence does not relate them.
def test_rmw_of_excluding_scopes(explore):
    text = litmus(
        "atom.cta.add.u32 r0, [x], 1;",
        "atom.gpu.add.u32 r1, [x], 1;",
        init="x = 0;",
        end=observing("P0:r0", "P1:r1", "x"),
    )
    found = explore(text, "P0:r0", "P1:r1", "x")
    assert found.states == {(0, 0, 1), (0, 1, 1), (0, 1, 2), (1, 0, 1), (1, 0, 2)}
    assert found.outcome.race


# A strong write cannot fall between an atomic's read and write: it is before (r0 = 5, x = 6) or after (r0 = 0, x = 5).
# A weak write is morally strong with nothing: r0 = 0 with either remaining, or r0 = 5 with either remaining.
@pytest.mark.parametrize(
    ("store", "expected"), [("st.relaxed.gpu", {(5, 6), (0, 5)}), ("st.weak", {(0, 1), (0, 5), (5, 5), (5, 6)})]
)
def test_rmw_against_a_write(explore, store, expected):
    text = litmus(
        "atom.relaxed.gpu.add.u32 r0, [x], 1;", f"{store}.u32 [x], 5;", init="x = 0;", end=observing("P0:r0", "x")
    )
    assert explore(text, "P0:r0", "x").states == expected


# 8.4: a cas that fails writes nothing, so there is no release. f stays 0 and x is any. The failing read is still an
# acquire: r0 = 1 gives r1 = 1.
def test_failing_cas(explore):
    text = litmus("st.u32 [x], 1; atom.release.gpu.cas.b32 r0, [f], 5, 1;", READER, init="x = 0; f = 0;", end=MP)
    assert explore(text, "P1:r0", "P1:r1").states == {(0, 0), (0, 1)}
    assert mp(explore, WRITER, "atom.acquire.gpu.cas.b32 r0, [f], 7, 9; ld.u32 r1, [x];") == SYNCHRONIZED


# Two cas 0 -> 1 and 0 -> 2 are morally strong: exactly one wins, the other reads its value.
def test_cas_has_one_winner(explore):
    text = litmus(
        "atom.relaxed.gpu.cas.b32 r0, [l], 0, 1;",
        "atom.relaxed.gpu.cas.b32 r1, [l], 0, 2;",
        init="l = 0;",
        end=observing("P0:r0", "P1:r1", "l"),
    )
    assert explore(text, "P0:r0", "P1:r1", "l").states == {(0, 1, 1), (2, 0, 2)}


# --- 8.10.4: no thin air --------------------------------------------------------------------------------------------


# The chapter's two tests: with the values passed on only zeros; with constants all four.
def test_lb(explore):
    end = observing("P0:r0", "P1:r1")
    passed_on = litmus(
        "ld.u32 r0, [x]; st.u32 [y], r0;", "ld.u32 r1, [y]; st.u32 [x], r1;", init="x = 0; y = 0;", end=end
    )
    assert explore(passed_on, "P0:r0", "P1:r1").states == {(0, 0)}
    constant = litmus("ld.u32 r0, [x]; st.u32 [y], 1;", "ld.u32 r1, [y]; st.u32 [x], 1;", init="x = 0; y = 0;", end=end)
    assert explore(constant, "P0:r0", "P1:r1").states == ANY


# r0 xor r0 is 0 whatever r0 is: "the implementation may perform any chain of reasoning", so the store of 1 depends on
# nothing. P1 does depend. r1 is 0 or 1 by y; x is r1; r0 = 1 needs r1 = 1.
def test_lb_with_a_false_dependency(explore):
    text = litmus(
        "ld.u32 r0, [x]; xor.b32 r2, r0, r0; add.u32 r2, r2, 1; st.u32 [y], r2;",
        "ld.u32 r1, [y]; st.u32 [x], r1;",
        init="x = 0; y = 0;",
        end=observing("P0:r0", "P1:r1"),
    )
    assert explore(text, "P0:r0", "P1:r1").states == {(0, 0), (0, 1), (1, 1)}


# Both branches store 1: the store happens whatever r0 is. As above. With one branch storing nothing it depends on r0,
# y = 1 needs r0 = 1 needs x = 1 needs y = 1: only zeros.
def test_lb_with_branches(explore):
    other = "ld.u32 r1, [y]; st.u32 [x], r1;"
    end = observing("P0:r0", "P1:r1")
    both = "ld.u32 r0, [x]; setp.eq.u32 p0, r0, 1; @p0 bra A; st.u32 [y], 1; bra B; A: st.u32 [y], 1; B: mov.u32 r5, 0;"
    text = litmus(both, other, init="x = 0; y = 0;", end=end)
    assert explore(text, "P0:r0", "P1:r1").states == {(0, 0), (0, 1), (1, 1)}
    one = "ld.u32 r0, [x]; setp.eq.u32 p0, r0, 1; @p0 st.u32 [y], 1;"
    text = litmus(one, other, init="x = 0; y = 0;", end=end)
    assert explore(text, "P0:r0", "P1:r1").states == {(0, 0)}


# P0 writes y = r0 + 1: 1 if r0 = 0. x = r1. r0 = 1 needs r1 = 1 needs y = 1 needs r0 = 0: no.
def test_lb_that_counts(explore):
    text = litmus(
        "ld.u32 r0, [x]; add.u32 r2, r0, 1; st.u32 [y], r2;",
        "ld.u32 r1, [y]; st.u32 [x], r1;",
        init="x = 0; y = 0;",
        end=observing("P0:r0", "P1:r1"),
    )
    assert explore(text, "P0:r0", "P1:r1").states == {(0, 0), (0, 1)}


# --- 8.10.5, 8.9.6: one location ------------------------------------------------------------------------------------


# CoRR: with strong accesses 1 then 0 is a cycle. Weak reads in another thread are morally strong with the write in
# nothing: any.
@pytest.mark.parametrize(("load", "expected"), [("ld.relaxed.sys.u32", {(0, 0), (0, 1), (1, 1)}), ("ld.weak.u32", ANY)])
def test_corr(explore, load, expected):
    text = litmus(
        "st.relaxed.sys.u32 [x], 1;", f"{load} r0, [x]; {load} r1, [x];", init="x = 0;", end=observing("P1:r0", "P1:r1")
    )
    assert explore(text, "P1:r0", "P1:r1").states == expected


# Within one thread even weak accesses are morally strong and in causality order: CoWW and CoWR give the last value.
def test_one_thread(explore):
    text = litmus("st.u32 [x], 1; st.u32 [x], 2; ld.u32 r0, [x];", init="x = 0;", end=observing("P0:r0", "x"))
    found = explore(text, "P0:r0", "x")
    assert found.states == {(2, 2)}
    assert not found.outcome.race


# Two weak stores of two CTAs race: unrelated in coherence (8.9.6), so either remains, and three weak loads may even
# return 1, 2, 1.
def test_racing_stores(explore):
    text = litmus(
        "st.u32 [x], 1;",
        "st.u32 [x], 2;",
        "ld.u32 r0, [x]; ld.u32 r1, [x]; ld.u32 r2, [x];",
        init="x = 0;",
        end=observing("P2:r0", "P2:r1", "P2:r2", "x"),
    )
    expected = {(*reads, last) for reads in product((0, 1, 2), repeat=3) for last in (1, 2)}
    assert explore(text, "P2:r0", "P2:r1", "P2:r2", "x").states == expected


# Three morally strong stores: P2's two loads follow one order of them; x ends with the last of it.
def test_strong_stores(explore):
    text = litmus(
        "st.relaxed.gpu.u32 [x], 1;",
        "st.relaxed.gpu.u32 [x], 2;",
        "ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x];",
        init="x = 0;",
        end=observing("P2:r0", "P2:r1", "x"),
    )
    expected = set()
    for order in ((0, 1, 2), (0, 2, 1)):
        expected |= {(order[i], order[j], order[2]) for i in range(3) for j in range(i, 3)}
    assert explore(text, "P2:r0", "P2:r1", "x").states == expected


# --- 8.11.1: reductions ---------------------------------------------------------------------------------------------


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


# --- 8.9.4 rules 2 and 3: barriers ----------------------------------------------------------------------------------

ONE_CTA = ("P0 @ cta 0", "P1 @ cta 0")
R1 = observing("P1:r0")


def through_barrier(explore, writer: str, reader: str, places: tuple[str, ...] = ONE_CTA):
    return explore(litmus(writer, reader, init="x = 0;", places=places, end=R1), "P1:r0")


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


# Four warps, a count of two: sync 1 pairs P0 with P1 or P2 (each waits for one other), so of the three waiters on
# barrier 1 exactly one is left over: no execution ends.
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
# is ordered after one of the writes and not after the other. The arrival left over waits for nobody.
def test_generation_is_a_choice(explore):
    text = litmus(
        "st.u32 [x], 1; bar.arrive 1, 64;",
        "st.u32 [y], 1; bar.arrive 1, 64;",
        "bar.sync 1, 64; ld.u32 r0, [x]; ld.u32 r1, [y];",
        init="x = 0; y = 0;",
        places=("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 0"),
        end=observing("P2:r0", "P2:r1"),
    )
    assert explore(text, "P2:r0", "P2:r1").states == {(1, 0), (1, 1), (0, 1)}


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


# --- 8.6, 8.9.5 rules 2 and 3: proxies ------------------------------------------------------------------------------


# CoWR: rule 3 needs an alias fence on the path; without it the accesses are in no causality order and, being of
# different addresses, not morally strong: a race, and either value.
@pytest.mark.parametrize(
    ("fence", "expected", "race"), [("fence.proxy.alias;", {(1,)}, False), ("", {(0,), (1,)}, True)]
)
def test_aliases(explore, fence, expected, race):
    text = litmus(f"st.u32 [x], 1; {fence} ld.u32 r0, [y];", init="x = 0; y aliases x;", end=observing("P0:r0"))
    found = explore(text, "P0:r0")
    assert found.states == expected
    assert found.outcome.race == race


# The same across threads: the alias fence may stand at either end, but not off the path.
@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("fence.proxy.alias;", "", SYNCHRONIZED),
        ("", "fence.proxy.alias;", SYNCHRONIZED),
        ("", "", ANY),
    ],
)
def test_mp_of_aliases(explore, writer, reader, expected):
    text = litmus(
        f"st.u32 [x], 1; {writer} st.release.gpu.u32 [f], 1;",
        f"ld.acquire.gpu.u32 r0, [f]; {reader} ld.u32 r1, [y];",
        init="x = 0; f = 0; y aliases x;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == expected


# Aliases are not morally strong with each other: strong accesses through two of them synchronize nothing.
def test_flag_through_an_alias(explore):
    text = litmus(
        "st.u32 [x], 1; st.release.gpu.u32 [f], 1;",
        "ld.acquire.gpu.u32 r0, [g]; ld.u32 r1, [x];",
        init="x = 0; f = 0; g aliases f;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == ANY


# The mixed-proxy extension: a generic write before a texture read needs fence.proxy.texture in the reader's CTA.
@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("", "fence.proxy.texture;", SYNCHRONIZED),
        ("fence.proxy.texture;", "", ANY),
        ("", "", ANY),
        ("", "fence.proxy.surface;", ANY),
    ],
)
def test_mp_into_a_texture(explore, writer, reader, expected):
    text = litmus(
        f"st.u32 [x], 1; {writer} st.release.gpu.u32 [f], 1;",
        f"ld.acquire.gpu.u32 r0, [f]; {reader} tld.u32 r1, [t];",
        init="x = 0; f = 0; t @ texture aliases x;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == expected


# Rule 2: same proxy, same address, same CTA needs no fence; another CTA's surface access does, one in each CTA.
def test_surface_accesses(explore):
    one = litmus("sust.u32 [s], 1; suld.u32 r0, [s];", init="x = 0; s @ surface aliases x;", end=observing("P0:r0"))
    assert explore(one, "P0:r0").states == {(1,)}
    for fences, expected in (
        (("", ""), ANY),
        (("fence.proxy.surface;",) * 2, SYNCHRONIZED),
        (("fence.proxy.surface;", ""), ANY),
    ):
        text = litmus(
            f"sust.u32 [s], 1; {fences[0]} st.release.gpu.u32 [f], 1;",
            f"ld.acquire.gpu.u32 r0, [f]; {fences[1]} suld.u32 r1, [s];",
            init="x = 0; f = 0; s @ surface aliases x;",
            end=MP,
        )
        assert explore(text, "P1:r0", "P1:r1").states == expected


# A location that is read as read-only is written by the program.
def test_readonly_location_is_written(explore):
    text = litmus("st.u32 [x], 1;", "ld.global.nc.u32 r0, [x];", init="x = 0;", end=observing("P1:r0"))
    assert explore(text).outcome.outside == {"readonly-write"}
    untouched = litmus("st.u32 [y], 1;", "ld.global.nc.u32 r0, [x];", init="x = 7; y = 0;", end=observing("P1:r0"))
    found = explore(untouched, "P1:r0")
    assert found.states == {(7,)}
    assert not found.outcome.outside


# --- 8.2, 8.7.2: bytes ----------------------------------------------------------------------------------------------


# Two halves written, one word read, ordered by a barrier: the word is put together; no race of any kind.
def test_ordered_mixed_sizes(explore):
    found = through_barrier(
        explore, "st.u16 [x], 0x1122; st.u16 [x+2], 0x3344; bar.sync 0;", "bar.sync 0; ld.u32 r0, [x];"
    )
    assert found.states == {(0x33441122,)}
    assert not found.outcome.outside
    assert not found.outcome.race


# One thread: program order is causality also between accesses of partly different bytes (8.9.5, the common bytes).
def test_mixed_sizes_in_one_thread(explore):
    text = litmus(
        "st.b32 [x], 0x01020304; st.b8 [x+1], 0xff; ld.b32 r0, [x];", init="x = 0;", end=observing("P0:r0", "x")
    )
    found = explore(text, "P0:r0", "x")
    assert found.states == {(0x0102FF04, 0x0102FF04)}
    assert not found.outcome.outside


# The same two accesses unordered: a mixed-size data race, whatever their strength (8.7, condition 3).
def test_racing_mixed_sizes(explore):
    text = litmus(
        "st.release.sys.b8 [x], 1;", "ld.acquire.sys.b32 r0, [x];", init=".global .align 8 .b32 x = 0;", end=R1
    )
    assert explore(text).outcome.outside == {"mixed-size-race"}


# 8.2.4: the elements of a vector are scalars in no order: all four. One 64-bit scalar is read whole.
def test_vectors(explore):
    vectors = litmus(
        "st.relaxed.sys.v2.b32 [b], {1, 1};",
        "ld.relaxed.sys.v2.b32 {r0, r1}, [b];",
        init=".global .align 8 .b32 b[2];",
        end=MP,
    )
    found = explore(vectors, "P1:r0", "P1:r1")
    assert found.states == ANY
    assert not found.outcome.race
    scalar = litmus(
        "st.relaxed.sys.b64 [b], 0x100000001;",
        "ld.relaxed.sys.b64 rd0, [b];",
        init=".global .b64 b;",
        end=observing("P1:rd0"),
    )
    assert explore(scalar, "P1:rd0").states == {(0,), (0x100000001,)}


# --- sync_restrict fences -------------------------------------------------------------------------------------------


# r0 = 0: any. r0 = 1: the path through the restricted fences orders only shared memory: r1 = 1, and r2 stays any.
def test_restricted_fences(explore):
    text = litmus(
        "st.shared.u32 [s], 1; st.global.u32 [x], 1; fence.release.sync_restrict::shared::cta.cluster; "
        "st.relaxed.cluster.global.u32 [f], 1;",
        "ld.relaxed.cluster.global.u32 r0, [f]; fence.acquire.sync_restrict::shared::cluster.cluster; "
        "ld.shared.u32 r1, [s]; ld.global.u32 r2, [x];",
        init=".shared .u32 s; .global .u32 x; .global .u32 f;",
        places=ONE_CTA,
        end=observing("P1:r0", "P1:r1", "P1:r2"),
    )
    expected = {(0, a, b) for a in (0, 1) for b in (0, 1)} | {(1, 1, 0), (1, 1, 1)}
    assert explore(text, "P1:r0", "P1:r1", "P1:r2").states == expected


# --- spins, hangs ---------------------------------------------------------------------------------------------------

SPIN = "L: ld.acquire.gpu.u32 r0, [f]; setp.ne.u32 p0, r0, 1; @p0 bra L;"


# The loop ends only with r0 = 1, which synchronizes: r1 = 1. 1 is the only value that stays in f: no hang, no race.
def test_spin(explore):
    found = explore(litmus(WRITER, f"{SPIN} ld.u32 r1, [x];", init="x = 0; f = 0;", end=MP), "P1:r0", "P1:r1")
    assert found.states == {(1, 1)}
    assert not found.outcome.hang
    assert not found.outcome.race
    assert not found.outcome.bound_reached


# Nobody writes f: it stays 0 for ever.
def test_spin_on_nothing(explore):
    found = explore(litmus("st.u32 [x], 1;", f"{SPIN} ld.u32 r1, [x];", init="x = 0; f = 0;", end=MP))
    assert found.states == frozenset()
    assert found.outcome.hang


# P2 puts f back to 0 (strong): where that is the last write, P1 may have missed the 1.
def test_spin_that_may_miss(explore):
    text = litmus(WRITER, f"{SPIN} ld.u32 r1, [x];", "st.relaxed.gpu.u32 [f], 0;", init="x = 0; f = 0;", end=MP)
    found = explore(text, "P1:r0", "P1:r1")
    assert found.states == {(1, 1)}
    assert found.outcome.hang


# Each waits for what the other does after its own wait: an exit that needs its own consequences. No execution ends.
def test_spins_on_each_other(explore):
    text = litmus(
        "L: ld.relaxed.gpu.u32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 bra L; st.relaxed.gpu.u32 [y], 1;",
        "L: ld.relaxed.gpu.u32 r0, [y]; setp.eq.u32 p0, r0, 0; @p0 bra L; st.relaxed.gpu.u32 [x], 1;",
        init="x = 0; y = 0;",
        end=observing("P0:r0", "P1:r0"),
    )
    found = explore(text)
    assert found.states == frozenset()
    assert found.outcome.hang


# A lock taken by spinning on cas, released by exch: whoever is second acquires the first one's release and counts on.
def test_spin_lock(explore):
    body = (
        "L: atom.acquire.gpu.cas.b32 r0, [l], 0, 1; setp.ne.u32 p0, r0, 0; @p0 bra L; "
        "ld.u32 r1, [x]; add.u32 r2, r1, 1; st.u32 [x], r2; atom.release.gpu.exch.b32 r3, [l], 0;"
    )
    text = litmus(body, body, init="x = 0; l = 0;", end=observing("P0:r1", "P1:r1", "x"))
    found = explore(text, "P0:r1", "P1:r1", "x")
    assert found.states == {(0, 1, 2), (1, 0, 2)}
    assert not found.outcome.race
    assert not found.outcome.hang


# A filter keeps only the executions that satisfy it.
def test_filter(explore):
    text = litmus(WRITER, READER, init="x = 0; f = 0;", end=f"{MP} filter (P1:r0 = 1) exists (P1:r1 = 0)")
    assert explore(text, "P1:r0", "P1:r1").states == {(1, 1)}
