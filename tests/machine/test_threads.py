"""Windows of threads: what overtakes what, worked out by hand."""

from __future__ import annotations

from memcheck.machine import simulate
from memcheck.machine.machine import Machine
from tests.machine.building import built, reached, states, step, texts

LOAD = "ld.relaxed.gpu.global.u32"
STORE = "st.relaxed.gpu.global.u32"


def test_loads_are_in_flight_together():
    machine = Machine(built(f"cta 0 {{ {LOAD} r0, [x]; {LOAD} r1, [y]; }}", f"cta 1 {{ {STORE} [x], 1; }}"))
    state = machine.initial()
    assert [entry.operation.text for entry in state.threads[0].window] == [f"{LOAD} r0, [x]", f"{LOAD} r1, [y]"]
    state = step(machine, state, "r1, [y] returns")
    assert state.threads[0].registers[machine.numbers[0]["r1"]] == 0
    assert state.threads[0].registers[machine.numbers[0]["r0"]] is None


def test_a_register_in_flight_holds_up_its_use():
    machine = Machine(built(f"cta 0 {{ {LOAD} r0, [x]; {STORE} [y], r0; }}", f"cta 1 {{ {STORE} [x], 1; }}"))
    state = machine.initial()
    assert len(state.threads[0].window) == 1
    state = step(machine, state, "[x], 1 leaves")
    after = [move.act(state, *move.arguments) for move in machine.moves(state)]
    assert [one.threads[0].window[0].values for one in after] == [(0,), (1,)]


def test_a_load_is_served_by_the_own_store():
    machine = Machine(built(f"cta 0 {{ {STORE} [x], 7; {LOAD} r0, [x]; }}", f"cta 1 {{ {STORE} [x], 1; }}"))
    state = machine.initial()
    assert f"{LOAD} r0, [x] is served by the thread's own store" in texts(machine, state)
    assert f"{LOAD} r0, [x] returns" not in texts(machine, state)


def test_a_part_of_the_bytes_is_not_enough():
    variables = ".global .align 8 .b64 x = 0;"
    machine = Machine(
        built(
            "cta 0 { st.global.b32 [x], 7; ld.global.b64 rd0, [x]; }",
            "cta 1 { st.global.b64 [x], 1; }",
            variables=variables,
        )
    )
    assert texts(machine, machine.initial()) == [
        "st.global.b32 [x], 7 leaves the thread",
        "st.global.b64 [x], 1 leaves the thread",
    ]


def test_a_store_does_not_pass_an_older_load_of_its_bytes():
    machine = Machine(built(f"cta 0 {{ {LOAD} r0, [x]; {STORE} [x], 7; }}", f"cta 1 {{ {STORE} [x], 1; }}"))
    assert f"{STORE} [x], 7 leaves the thread" not in texts(machine, machine.initial())


def test_nothing_starts_behind_an_acquire_in_flight():
    machine = Machine(built(f"cta 0 {{ ld.acquire.gpu.u32 r0, [x]; {LOAD} r1, [y]; }}", f"cta 1 {{ {STORE} [x], 1; }}"))
    assert len(machine.initial().threads[0].window) == 1


def test_a_strong_store_stays_behind_a_release_fence_and_a_weak_one_does_not():
    def leaves(store: str) -> bool:
        body = f"cta 0 {{ st.global.u32 [x], 1; fence.acq_rel.gpu; {store} [y], 1; }}"
        machine = Machine(built(body, "cta 1 { ld.global.u32 r0, [x]; ld.global.u32 r1, [y]; }"))
        return f"{store} [y], 1 leaves the thread" in texts(machine, machine.initial())

    assert leaves("st.global.u32")
    assert not leaves(STORE)


def test_a_fence_for_the_own_thread_alone_does_nothing():
    machine = Machine(
        built(f"cta 0 {{ {STORE} [x], 1; fence.sc.cta; {STORE} [y], 1; }}", f"cta 1 {{ {LOAD} r0, [x]; }}")
    )
    assert len(machine.initial().threads[0].window) == 2


def test_a_vector_load_keeps_its_address():
    """The first element goes into the register that the address came from."""
    variables = ".global .align 8 .u32 a[2] = {5, 6};"
    body = "cta 0 { mov.u32 r0, a; ld.global.v2.u32 {r0, r1}, [r0]; }"
    found = states(body, variables=variables, end="exists (P0:r0 = 5 /\\ P0:r1 = 6)")
    assert found == {(5, 6)}


def test_a_cas_reads_its_operand_before_it_writes_its_destination():
    variables = ".global .u32 x = 1;"
    found = states(
        "cta 0 { mov.u32 r0, 1; atom.global.cas.b32 r0, [x], r0, 9; }",
        variables=variables, end="exists (P0:r0 = 1 /\\ x = 9)",
    )  # fmt: skip
    assert found == {(1, 9)}


def test_an_access_beyond_its_variable_traps():
    result = reached("cta 0 { mov.u64 rd0, x; add.u64 rd0, rd0, 4; st.global.u32 [rd0], 1; }", end="exists (x = 1)")
    assert result.traps
    assert not result.states


def test_a_thread_that_never_ends_issues_no_more_than_its_window_holds():
    machine = Machine(built(f"cta 0 {{ L0: {STORE} [x], 1; bra L0; }}", f"cta 1 {{ {LOAD} r0, [x]; }}"))
    assert len(machine.initial().threads[0].window) == 64
    found = simulate(machine.test, seconds=30)
    assert (found.states, found.complete, found.hangs) == (frozenset(), True, True)


def test_a_counted_loop_ends_however_long_it_takes():
    body = f"cta 0 {{ L0: add.u32 r1, r1, 1; setp.lt.u32 p0, r1, 9000; @p0 bra L0; {STORE} [x], 1; }}"
    found = simulate(built(body, end="exists (x = 1)"), seconds=30)
    assert (found.states, found.complete, found.hangs) == ({(1,)}, True, False)
