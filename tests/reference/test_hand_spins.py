"""Spins, threads that wait for ever, filters: state sets worked out by hand."""

from __future__ import annotations

from tests.reference.texts import MP, READER, WRITER, litmus, observing

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
