"""Atomicity and no thin air, worked out by hand from PTX ISA 8.10.3 and 8.10.4."""

from __future__ import annotations

import pytest

from tests.reference.texts import ANY, MP, READER, SYNCHRONIZED, WRITER, litmus, observing

# --- 8.10.3: atomicity ---


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
    acquiring = "atom.acquire.gpu.cas.b32 r0, [f], 7, 9; ld.u32 r1, [x];"
    text = litmus(WRITER, acquiring, init="x = 0; f = 0;", end=MP)
    assert explore(text, "P1:r0", "P1:r1").states == SYNCHRONIZED


# Two cas 0 -> 1 and 0 -> 2 are morally strong: exactly one wins, the other reads its value.
def test_cas_has_one_winner(explore):
    text = litmus(
        "atom.relaxed.gpu.cas.b32 r0, [l], 0, 1;",
        "atom.relaxed.gpu.cas.b32 r1, [l], 0, 2;",
        init="l = 0;",
        end=observing("P0:r0", "P1:r1", "l"),
    )
    assert explore(text, "P0:r0", "P1:r1", "l").states == {(0, 1, 1), (2, 0, 2)}


# --- 8.10.4: no thin air ---


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
