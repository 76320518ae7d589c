"""Fence-SC order, causality and one location, worked out by hand from PTX ISA 8.9.3, 8.9.5, 8.10.2 and 8.10.5."""

from __future__ import annotations

from itertools import product

import pytest

from tests.reference.texts import ANY, READER, WRITER, litmus, observing

# --- 8.9.3, 8.10.2: fence.sc ---


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


# --- 8.9.5: cumulativity and observation ---


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


# --- 8.10.5, 8.9.6: one location ---


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
