"""Stamped lines by hand: what an SM has to know, and what a release hands on."""

from __future__ import annotations

import pytest

from memcheck.machine.explore import explore
from memcheck.machine.levels import ALONE, GPU
from memcheck.machine.machine import Machine
from memcheck.machine.stamps import MASK, StampedMemory
from tests.machine.building import built, find, states, step

RELAXED = "relaxed.gpu.global.u32"


def machine(*threads, variables=".global .u32 x = 0; .global .u32 y = 0;"):
    found = Machine(built(*threads, variables=variables))
    assert isinstance(found.memory, StampedMemory)
    return found


def line(found, name):
    return found.layout.locate(found.layout.instance(name).base, 4)


def values(found, state, thread, name, level):
    return [value for value, _ in found.memory.read(state, thread, line(found, name), level)]


def test_only_tests_of_several_ctas_with_plain_addresses_have_stamps():
    one = Machine(built("cta 0 { ld.global.u32 r0, [x]; }", "cta 0 { st.global.u32 [x], 1; }"))
    assert not isinstance(one.memory, StampedMemory)
    aliased = Machine(
        built(
            f"cta 0 {{ ld.{RELAXED} r0, [z]; }}", "cta 1 { st.global.u32 [x], 1; }",
            variables=".global .u32 x; .global .u32 z aliases x;",
        )
    )  # fmt: skip
    assert not isinstance(aliased.memory, StampedMemory)


def test_numbers_of_several_stamps():
    found = machine("cta 0 { ld.global.u32 r0, [x]; ld.global.u32 r1, [y]; }", "cta 1 { st.global.u32 [x], 1; }")
    memory = found.memory
    a, b = memory._raised_to(0, 0, 5), memory._raised_to(memory._raised_to(0, 0, 3), 1, 2)
    joined = memory.joined(a, b)
    assert (joined & MASK, joined >> 6 & MASK) == (5, 2)
    assert memory._raised_to(joined, 0, 4) == joined


def test_a_strong_load_may_be_stale_and_never_goes_back():
    found = machine(f"cta 0 {{ st.{RELAXED} [x], 1; }}", f"cta 1 {{ ld.{RELAXED} r0, [x]; ld.{RELAXED} r1, [x]; }}")
    state = step(found, found.initial(), "leaves")
    assert values(found, state, 1, "x", GPU) == [0, 1]
    readings = found.memory.read(state, 1, line(found, "x"), GPU)
    assert values(found, readings[1][1], 1, "x", GPU) == [1]
    assert values(found, readings[0][1], 1, "x", GPU) == [0, 1]


def test_a_strong_load_of_a_weak_write_promises_nothing():
    found = machine("cta 0 { st.global.u32 [x], 1; }", f"cta 1 {{ ld.{RELAXED} r0, [x]; ld.{RELAXED} r1, [x]; }}")
    state = step(found, found.initial(), "leaves")
    (_, _), (_, after) = found.memory.read(state, 1, line(found, "x"), GPU)
    assert values(found, after, 1, "x", GPU) == [0, 1]


def test_an_acquire_knows_what_its_release_knew_and_no_more():
    found = machine(
        "cta 0 { st.global.u32 [x], 1; st.release.gpu.global.u32 [y], 1; }",
        "cta 1 { ld.acquire.gpu.global.u32 r0, [y]; ld.global.u32 r1, [x]; ld.global.u32 r2, [z]; }",
        "cta 2 { st.global.u32 [z], 1; }",
        variables=".global .u32 x; .global .u32 y; .global .u32 z;",
    )
    state = found.initial()
    for text in ("[x], 1 leaves", "[y], 1 leaves", "[z], 1 leaves"):
        state = step(found, state, text)
    ends = [move.act(state, *move.arguments) for move in found.moves(state) if "[y] returns" in move.text]
    seen = {
        end.threads[1].registers[found.numbers[1]["r0"]]: (
            values(found, end, 1, "x", ALONE),
            values(found, end, 1, "z", ALONE),
        )
        for end in ends
    }
    assert seen == {0: ([0, 1], [0, 1]), 1: ([1], [0, 1])}


def test_what_a_release_knew_goes_along_a_chain_of_atomics():
    end = "exists (P2:r0 = 2 /\\ P2:r1 = 0)"
    writer = "cta 0 { st.global.u32 [x], 1; st.release.gpu.global.u32 [y], 1; }"
    reader = "cta 2 { ld.acquire.gpu.global.u32 r0, [y]; ld.global.u32 r1, [x]; }"
    atomic = "cta 1 { atom.relaxed.gpu.global.cas.b32 r0, [y], 1, 2; }"
    store = "cta 1 { ld.relaxed.gpu.global.u32 r0, [y]; setp.eq.u32 p0, r0, 1; @p0 st.relaxed.gpu.global.u32 [y], 2; }"
    assert (2, 0) not in states(writer, atomic, reader, end=end)
    assert (2, 0) in states(writer, store, reader, end=end)


@pytest.mark.parametrize(("fence", "allowed"), [("fence.acq_rel.gpu;", True), ("fence.sc.gpu;", False)])
def test_two_readers_disagree_unless_their_fences_are_in_order(fence, allowed):
    reader = "cta {} {{ ld.relaxed.gpu.global.u32 r0, [{}]; {} ld.relaxed.gpu.global.u32 r1, [{}]; }}"
    found = states(
        f"cta 0 {{ st.{RELAXED} [x], 1; }}",
        f"cta 1 {{ st.{RELAXED} [y], 1; }}",
        reader.format(2, "x", fence, "y"),
        reader.format(3, "y", fence, "x"),
        end="exists (P2:r0 = 1 /\\ P2:r1 = 0 /\\ P3:r0 = 1 /\\ P3:r1 = 0)",
    )
    assert ((1, 0, 1, 0) in found) is allowed


def test_an_atomic_reads_the_newest_strong_write():
    found = machine(
        f"cta 0 {{ st.{RELAXED} [x], 1; }}",
        f"cta 1 {{ atom.relaxed.gpu.global.add.u32 r0, [x], 1; ld.{RELAXED} r1, [x]; }}",
    )
    state = step(found, found.initial(), "leaves")
    move = find(found, state, "is performed")
    assert move.act(state, *move.arguments).threads[1].registers[found.numbers[1]["r0"]] == 1
    assert sum("is performed" in move.text for move in found.moves(state)) == 1


def test_stamps_begin_anew():
    """A thread that writes for ever leaves finitely many states."""
    body = "cta 0 {{ L0: atom.{} r0, [x], 1; setp.ne.u32 p0, r0, 5; @p0 bra L0; }}"
    found = machine(body.format("relaxed.gpu.global.exch.b32"), f"cta 1 {{ ld.{RELAXED} r0, [x]; }}")
    result = explore(found, seconds=30)
    assert result.complete
    assert result.hangs
    assert result.visited < 500
