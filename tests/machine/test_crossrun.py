"""The model and the machine side by side: contradictions are found, and what is missing has a true reason."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from memcheck.checker import check
from memcheck.corpus import find
from memcheck.crossrun import BUDGET, CONVERGED, ELECTED, REASONS, UNEXPLAINED, crossrun, definitions
from memcheck.errors import UnsupportedError
from memcheck.machine.explore import explore
from memcheck.machine.machine import Machine
from memcheck.machine.parts import LOWERINGS
from memcheck.models import load, machine_model
from memcheck.ptx.instructions import Load
from tests.machine.building import built

ENOUGH = 60.0


def suite_test(name):
    return next(case.parse() for case in find(name) if case.name == name)


def test_where_both_agree_nothing_is_missing():
    found = crossrun(check(suite_test("MP+rlx+rlx")), seconds=ENOUGH)
    assert (found.complete, dict(found.missing), found.refuted) == (True, {}, ())
    assert found.reached == ((0, 0), (0, 1), (1, 0), (1, 1))


@pytest.mark.parametrize(
    ("name", "state", "reason"),
    [
        ("LB+acq-only", (1, 1), "thread-order"),
        ("LB+rel-only", (1, 1), "thread-order"),
        ("LB+fake-data", (1, 1), "thread-order"),
        ("2+2W+rel", (1, 1), "write-order"),
        ("CoWR+weak", (2, 1), "own-write"),
        ("ISA2+fence.rel-fence.acq-middle", (1, 1, 0), "handed-on"),
        ("st.async.release+own-load", (0,), "own-write"),
        ("LB+bulk-loads", (1, 1), "thread-order"),
        ("completion-not-transitive+reader", (1,), "thread-order"),
        ("completion-is-not-cumulative", (1,), "thread-order"),
        ("bulk+chain", (0, 1), "write-order"),
        ("bulk-store+atom", (5, 5), "write-order"),
        ("defaults-cp.reduce-tensor", (1,), "write-order"),
        ("waits-relaxed", (0,), "write-order"),
        ("mbarrier+fresh-parity-of-consumer", (0, 0), "write-order"),
        ("relaxed-cluster-arrive-after-bar", (0,), "write-order"),
        ("bulk-store+full-wait+relaxed-peer", (1, 0), "whole-acquire"),
        ("stream-order-relaxed-flag", (1, 0), "whole-acquire"),
        ("grids+unawaited-copy", (0,), "whole-acquire"),
        ("stream-ordered-kernels+programmatic", (0,), "whole-acquire"),
        ("relaxed-copies+strong-load", (1, 0), "write-order"),
        ("relaxed-copies+fence-of-another-thread", (1, 0), "whole-acquire"),
        ("one-way+small-scope", (1, 1, 2), "proxy-fence"),
        ("bulk-load-of-alias+no-alias", (0,), "proxy-fence"),
        ("surface-texture+wrong-order", (0,), "proxy-fence"),
        ("proxy-fence-one-directional-release-only", (2,), "proxy-fence"),
        ("proxy-fence-third-cta", (1, 1, 0), "far-fence"),
    ],
)
def test_what_is_missing_has_its_reason(name, state, reason):
    found = crossrun(check(suite_test(name)), seconds=ENOUGH)
    assert dict(found.missing) == {state: reason}


def test_a_lane_that_a_convergence_barrier_holds_is_a_reason():
    body = """setp.ne.u32 p0, r9, 0; @p0 bra L0; ld.acquire.cta.global.u32 r0, [x];
      L0: setp.eq.u32 p1, r9, 0; @!p1 st.relaxed.cta.global.u32 [x], 1;"""
    lanes = [f"cta 0, warp 0, lane {lane} {{ {body} }}" for lane in range(2)]
    test = built(*lanes, variables=".global .u32 x = 0; P1:r9 = 1; ", end="exists (P0:r0 = 1)")
    assert dict(crossrun(check(test), seconds=ENOUGH).missing) == {(1,): CONVERGED}


def test_an_engine_that_does_not_read_what_one_of_its_cta_has_written_has_a_reason():
    test = built(
        "cta 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m]; }",
        "cta 0 { W: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p0, [m], 0; @!p0 bra W; "
        "cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16; }",
        variables=".global .align 16 .u32 g[4] = {3, 3, 3, 3}; .global .align 16 .u32 o[4]; "
        ".shared .align 16 .u32 s[4]; .shared .mbarrier m = 1;",
        end="exists (o[0] = 0)",
    )
    assert dict(crossrun(check(test), seconds=ENOUGH).missing) == {(0,): "write-order"}


def test_another_leader_than_the_lowest_lane_is_a_reason():
    body = "elect.sync r1|p0, 0x3; @p0 st.relaxed.cta.global.u32 [x], r9;"
    lanes = [f"cta 0, warp 0, lane {lane} {{ {body} }}" for lane in range(2)]
    test = built(*lanes, variables=".global .u32 x = 7; P1:r9 = 1; ", end="exists (x = 1)")
    assert dict(crossrun(check(test), seconds=ENOUGH).missing) == {(1,): ELECTED}


def test_a_search_that_did_not_end_is_no_reason_but_that():
    found = crossrun(check(suite_test("SB-ring-6+fence.sc")), states=100, seconds=ENOUGH)
    assert found.complete is False
    assert set(found.missing.values()) == {BUDGET}
    found = crossrun(check(suite_test("LB+acq-only")), seconds=1e-9)
    assert set(found.missing.values()) <= {BUDGET}


def test_what_the_model_forbids_and_the_machine_reaches_is_told_with_its_run():
    result = check(suite_test("MP+rlx+rlx"))
    wrong = replace(result, states=tuple(state for state in result.states if state != (1, 0)))
    (refutation,) = crossrun(wrong, seconds=ENOUGH).refuted
    assert refutation.state == (1, 0)
    assert len(refutation.trace) == 5
    assert "P1:r1 = 0" in refutation.trace[-1].changes or "P1:r0 = 1" in refutation.trace[-1].changes


def test_the_axioms_that_forbid_a_state_are_those_without_which_it_is_allowed():
    weak = check(suite_test("SB+rlx"), "sc")
    (refutation,) = crossrun(weak, seconds=ENOUGH).refuted
    assert refutation.state == (0, 0)
    assert refutation.axioms == ("sequential-consistency",)


def test_a_search_of_the_model_that_did_not_end_contradicts_nothing():
    result = check(suite_test("MP+rlx+rlx"))
    cut = replace(result, states=result.states[:1], complete=False)
    assert crossrun(cut, seconds=ENOUGH).refuted == ()


def test_what_the_machine_cannot_execute_is_said(monkeypatch):
    result = check(suite_test("MP+rlx+rlx"))
    monkeypatch.delitem(LOWERINGS, Load)
    with pytest.raises(UnsupportedError, match="does not execute"):
        crossrun(result)


def test_the_reasons_are_the_axioms_of_the_machine():
    model = machine_model(**definitions(Machine(suite_test("LB+acq-only"))))
    added = [axiom.name for axiom in model.axioms[len(load("ptx").axioms) :]]
    assert [BUDGET, CONVERGED, ELECTED, *added, UNEXPLAINED] == list(REASONS)


def test_every_reason_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "machine.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \| [^|]+ \|$", page, re.MULTILINE) == list(REASONS)


def keeps_its_axioms(names):
    """How many tests were told; a reason is true only if the machine never does what its axiom forbids."""
    told = 0
    for name in names:
        for case in find(name):
            test = case.parse()
            try:
                machine = Machine(test)
                reached = explore(machine, seconds=1.0).states
                result = check(test, machine_model(**definitions(machine)), verify=False, timeout=20)
            except UnsupportedError:
                continue
            if not result.outside and result.complete:
                assert reached <= set(result.states), test.name
                told += 1
    return told


THEMES = ["classic/MP.table", "classic/IRIW.table", "classic/WRC.table", "isa", "rmw"]
OTHERS = ["async/device", "async/grids", "async/groups", "async/mbarrier", "proxies"]


@pytest.mark.parametrize("theme", [*THEMES, *OTHERS])
def test_the_machine_keeps_its_own_axioms(theme):
    assert keeps_its_axioms([f"litmus/{theme}"])


@pytest.mark.slow
def test_the_machine_keeps_its_own_axioms_on_the_whole_suite():
    assert keeps_its_axioms(["litmus"]) > 1000


@pytest.mark.slow
def test_every_state_of_the_suite_that_is_missing_has_a_reason():
    for case in find("litmus"):
        result = check(case.parse(), verify=False)
        if result.outside or not result.complete:
            continue
        try:
            found = crossrun(result, seconds=5.0)
        except UnsupportedError:
            continue
        assert UNEXPLAINED not in found.missing.values(), case.name
