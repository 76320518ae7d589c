"""Levels of memory by hand: what is held where, and what caches may still have."""

from __future__ import annotations

from memcheck.machine.levels import ALONE, GPU, SM, SYSTEM, Levels
from memcheck.machine.machine import Machine
from memcheck.ptx.qualifiers import Scope
from tests.machine.building import built, states, step, texts

END = "exists (P1:r0 = 1 /\\ P1:r1 = 0)"


def test_a_scope_is_the_lowest_level_that_all_its_threads_share():
    levels = Levels(
        built(
            "gpu 0, cluster 0, cta 0 { }", "gpu 0, cluster 0, cta 0 { }", "gpu 0, cluster 0, cta 1 { }",
            "gpu 1, cluster 1, cta 2 { }",
        )
    )  # fmt: skip
    assert [levels.of(0, scope) for scope in Scope] == [SM, GPU, GPU, SYSTEM]
    assert [levels.of(2, scope) for scope in Scope] == [ALONE, GPU, GPU, SYSTEM]
    assert [levels.of(3, scope) for scope in Scope] == [ALONE, ALONE, ALONE, SYSTEM]
    assert levels.staged == (True, False, False)
    assert levels.gpu == (0, 0, None)


def test_a_write_is_seen_in_its_sm_before_it_is_elsewhere():
    machine = Machine(
        built("cta 0 { st.global.u32 [x], 1; }", "cta 0 { ld.global.u32 r0, [x]; }", "cta 1 { ld.global.u32 r0, [x]; }")
    )
    state = step(machine, machine.initial(), "leaves the thread")
    line = machine.layout.locate(machine.layout.instance("x").base, 4)
    assert state.memory[line.line] == 0
    assert [held.value for held in state.sms[0].held] == [1]
    assert machine.memory.read(state, 1, line, ALONE) == [(1, state)]
    assert [value for value, _ in machine.memory.read(state, 2, line, ALONE)] == [0]
    state = step(machine, state, "goes on to the L2")
    assert state.memory[line.line] == 1
    assert [value for value, _ in machine.memory.read(state, 2, line, ALONE)] == [0, 1]


def test_an_acquire_empties_the_cache():
    machine = Machine(
        built("cta 0 { st.global.u32 [x], 1; }", "cta 1 { ld.acquire.gpu.u32 r0, [y]; ld.global.u32 r1, [x]; }")
    )
    line = machine.layout.locate(machine.layout.instance("x").base, 4)
    state = step(machine, machine.initial(), "leaves the thread")
    assert [value for value, _ in machine.memory.read(state, 1, line, ALONE)] == [0, 1]
    state = machine.memory.acquire(state, 1, GPU)
    assert [value for value, _ in machine.memory.read(state, 1, line, ALONE)] == [1]


def test_a_release_stays_behind_what_its_sm_holds():
    machine = Machine(
        built(
            "cta 0 { st.global.u32 [x], 1; st.release.gpu.u32 [y], 1; }",
            "cta 0 { st.global.u32 [x+4], 1; }",
            "cta 1 { ld.global.u32 r0, [x]; ld.global.u32 r1, [y]; ld.global.u32 r2, [x+4]; }",
            variables=".global .u32 x[2]; .global .u32 y;",
        )
    )
    state = machine.initial()
    for text in ("[x], 1 leaves", "[y], 1 leaves"):
        state = step(machine, state, text)
    assert [held.location is None for held in state.sms[0].held] == [False, True, False]
    assert texts(machine, state).count("a write goes on to the L2") == 1


def test_two_gpus_have_a_stale_l2():
    places = ("gpu 0, cta 0", "gpu 1, cta 1", "gpu 1, cta 2")
    weak = states(
        f"{places[0]} {{ st.relaxed.sys.u32 [x], 1; }}",
        f"{places[1]} {{ ld.relaxed.sys.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x]; }}",
        f"{places[2]} {{ ld.relaxed.gpu.u32 r0, [x]; }}",
        end=END,
    )
    assert weak == {(0, 0), (0, 1), (1, 1)}
    machine = Machine(
        built(
            f"{places[0]} {{ st.relaxed.sys.u32 [x], 1; }}",
            f"{places[1]} {{ ld.relaxed.gpu.u32 r0, [x]; }}",
            f"{places[2]} {{ ld.relaxed.gpu.u32 r0, [x]; }}",
        )
    )
    state = step(machine, machine.initial(), "leaves")
    line = machine.layout.locate(machine.layout.instance("x").base, 4)
    assert machine.memory.read(state, 1, line, GPU)[0][0] == 0
    assert machine.memory.read(state, 1, line, SYSTEM)[0][0] == 1
    assert "a line comes from memory" in texts(machine, state)


def test_an_alias_is_stale_until_its_fence():
    variables = ".global .u32 x = 0; .global .u32 z aliases x;"
    end = "exists (P0:r0 = 0)"
    body = "cta 0 {{ st.global.u32 [x], 1; {} ld.global.u32 r0, [z]; }}"
    assert states(body.format(""), variables=variables, end=end) == {(0,), (1,)}
    assert states(body.format("fence.acq_rel.sys;"), variables=variables, end=end) == {(0,), (1,)}
    assert states(body.format("fence.proxy.alias;"), variables=variables, end=end) == {(1,)}


def test_a_texture_is_stale_until_its_fence():
    variables = "x = 0; t @ texture aliases x;"
    body = "cta 0 {{ st.weak [x], 1; {} tld.weak r0, [t]; }}"
    end = "exists (P0:r0 = 0)"
    assert states(body.format(""), variables=variables, end=end) == {(0,), (1,)}
    assert states(body.format("fence.proxy.texture;"), variables=variables, end=end) == {(1,)}
