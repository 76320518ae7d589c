"""Runs told step by step."""

from __future__ import annotations

from memcheck.machine import trace
from memcheck.machine.explore import shortest
from memcheck.machine.machine import Machine
from memcheck.machine.mbarriers import Word
from memcheck.machine.trace import told
from tests.machine.building import built

STORE = "st.relaxed.gpu.global.u32"
LOAD = "ld.relaxed.gpu.global.u32"


def test_a_shortest_run_has_a_row_for_each_step():
    test = built(
        f"cta 0 {{ {STORE} [x], 1; {STORE} [y], 1; }}",
        f"cta 1 {{ {LOAD} r0, [y]; {LOAD} r1, [x]; }}",
        end="exists (P1:r0 = 1 /\\ P1:r1 = 0)",
    )
    steps = trace(test, (1, 0))
    assert steps is not None
    assert steps[0].changes == ("P0 has issued 2 accesses", "P1 has issued 2 accesses")
    assert [step.number for step in steps] == [0, 1, 2, 3, 4]
    assert {step.thread for step in steps[1:]} == {"P0", "P1"}
    assert [change for step in steps[1:] for change in step.changes].count("y = 1") == 1
    assert "P1:r1 = 0" in [change for step in steps for change in step.changes]


def test_a_state_that_is_not_reached_has_no_trace():
    test = built(f"cta 0 {{ {STORE} [x], 1; }}", f"cta 1 {{ {LOAD} r0, [x]; }}", end="exists (P1:r0 = 1)")
    assert trace(test, (2,)) is None


def test_an_old_value_is_called_old():
    test = built(
        "cta 0 { st.global.u32 [x], 1; st.relaxed.gpu.global.u32 [y], 1; }",
        "cta 1 { ld.acquire.gpu.global.u32 r0, [y]; ld.global.u32 r1, [x]; }",
        "cta 2 { ld.relaxed.gpu.global.u32 r0, [y]; ld.global.u32 r1, [x]; ld.global.u32 r2, [x]; }",
        end="exists (P1:r0 = 1 /\\ P1:r1 = 1 /\\ P2:r0 = 1 /\\ P2:r1 = 0 /\\ P2:r2 = 0)",
    )
    machine = Machine(test)

    def wanted(outcome):
        values = dict(zip(map(test.key, test.observed), outcome, strict=True))
        return (values["P1:r0"], values["P1:r1"], values["P2:r0"], values["P2:r1"]) == (1, 1, 1, 0)

    run = shortest(machine, wanted)
    assert run is not None
    steps = told(machine, run)
    by_load = {step.happened.partition(" returns")[0]: step for step in steps if "returns" in step.happened}
    late = [step for step in steps if step.thread == "P2" and "P2:r1 = 0" in step.changes]
    written = next(step.number for step in steps if "x = 1" in step.changes)
    for step in late:
        assert ("an old value from a cache" in step.happened) is (step.number > written)
    assert "ld.acquire.gpu.global.u32 r0, [y]" in by_load


def test_a_thread_that_waits_says_where():
    test = built(
        f"cta 0, warp 0 {{ {STORE} [x], 1; bar.sync 0; }}",
        "cta 0, warp 1 { bar.sync 0; ld.global.u32 r1, [x]; }",
        end="exists (P1:r1 = 1)",
    )
    steps = trace(test, (1,))
    assert steps is not None
    assert "P1 waits at `bar.sync 0`" in steps[0].changes


def test_the_word_of_an_mbarrier_is_read():
    test = built(
        "cta 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; }",
        "cta 0 { ld.global.u32 r1, [x]; }",
        variables=".global .u32 x = 0; .shared .mbarrier m = 2;",
        end="exists (P1:r1 = 0)",
    )
    steps = trace(test, (0,))
    assert steps is not None
    word = Word(expected=2, pending=1, transactions=16).encode()
    assert f"m: parity 0, pending 1 of 2, tx 16 ({word:#x})" in [change for step in steps for change in step.changes]


def test_elements_of_arrays_and_large_numbers():
    test = built(
        "cta 0 { st.global.u32 [x+4], 0x12345; }",
        "cta 1 { ld.global.u32 r0, [x+4]; }",
        variables=".global .u32 x[3] = {1, 2, 3};",
        end="exists (x[1] = 0x12345)",
    )
    steps = trace(test, (0x12345,))
    assert steps is not None
    assert ["x[1] = 0x12345" in step.changes for step in steps].count(True) == 1


def test_levels_are_named_where_there_are_several():
    test = built(
        "gpu 0, cta 0 { st.relaxed.gpu.global.u32 [x], 1; }",
        "gpu 0, cta 1 { ld.relaxed.gpu.global.u32 r0, [x]; }",
        "gpu 1, cta 2 { ld.relaxed.sys.global.u32 r0, [x]; }",
        end="exists (P1:r0 = 1 /\\ P2:r0 = 1)",
    )
    steps = trace(test, (1, 1))
    assert steps is not None
    changes = [change for step in steps for change in step.changes]
    assert "x = 1 in the L2 of GPU 0" in changes
    assert "x = 1 in memory" in changes
