"""What the machine reaches in the suite's asynchronous tests is inside what the model allows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from memcheck.checker import check
from memcheck.corpus import Case, find
from memcheck.errors import SourceError, UnsupportedError
from memcheck.language.load import parse_test
from memcheck.language.test import Test
from memcheck.machine import Reached, simulate
from memcheck.result import Result
from memcheck.source import SourceFile
from tests.engines.asynchronous import asynchronous_programs, exchanges
from tests.machine.building import states

THEMES = ("async", "decisions", "fields", "idioms")
STRIDE = 12
"""Of the sample: every test is in the slow run."""
SEED = 1
SHARE = 0.9
"""Of tests in which every allowed state is reached."""


def suite() -> Iterator[tuple[Case, Test]]:
    for theme in THEMES:
        for case in find(f"litmus/{theme}"):
            try:
                yield case, case.parse()
            except SourceError:
                continue


def compared(test: Test, seconds: float) -> tuple[Result, Reached] | None:
    """Both answers; None where one of the two has none."""
    try:
        result = check(test, verify=False, timeout=20)
    except UnsupportedError:
        return None
    if result.outside or not result.complete:
        return None
    return result, simulate(test, seconds=seconds)


def hangs_agree(result: Result, reached: Reached) -> bool:
    """Whether both have a run that never ends, or neither; without all of the machine's runs nobody knows."""
    return not reached.complete or reached.hangs == any(flag.name == "deadlock" for flag in result.flags)


def contradicted(every: int, seconds: float) -> tuple[list[str], int, int]:
    """The tests with a fault; how many reach all that is allowed, of how many.

    A fault is a state that is reached and not allowed, or a hang that only one of the two knows.
    """
    wrong, equal, count = [], 0, 0
    for number, (case, test) in enumerate(suite()):
        both = compared(test, seconds) if number % every == 0 else None
        if both is None:
            continue
        result, reached = both
        count += 1
        equal += reached.states == set(result.states)
        if not reached.states <= set(result.states) or not hangs_agree(result, reached):
            wrong.append(case.name)
    return wrong, equal, count


def test_a_sample_is_inside_the_model() -> None:
    wrong, _, count = contradicted(STRIDE, 2.0)
    assert not wrong
    assert count > 30


@pytest.mark.slow
def test_all_are_inside_the_model_and_most_are_reached() -> None:
    wrong, equal, count = contradicted(1, 10.0)
    assert not wrong
    assert equal >= SHARE * count


@pytest.mark.parametrize("examples", [40, pytest.param(2_000, marks=pytest.mark.slow)], ids=["quick", "long"])
@pytest.mark.parametrize("strategy", [asynchronous_programs(), exchanges()], ids=["programs", "exchanges"])
def test_generated_programs_are_inside_the_model(strategy: SearchStrategy[str], examples: int) -> None:
    told = 0

    @seed(SEED)
    @settings(
        max_examples=examples, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def holds(text: str) -> None:
        nonlocal told
        try:
            test = parse_test(SourceFile("generated", text))
        except SourceError:
            return
        both = compared(test, 2.0)
        if both is None:
            return
        result, reached = both
        assert reached.states <= set(result.states)
        assert not reached.traps
        assert hangs_agree(result, reached)
        told += 1

    holds()
    assert told > examples // 2


def test_a_remote_load_before_a_wait_that_acquires_nothing_may_be_early() -> None:
    found = states(
        "cta 0, cluster 0 { st.shared.u32 [s], 1; mapa.shared::cluster.u32 r1, m, 1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r1]; barrier.cluster.arrive; barrier.cluster.wait; }",
        "cta 1, cluster 0 { mapa.shared::cluster.u32 r1, s, 0; "
        "W: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p0, [m], 0; @!p0 bra W; "
        "ld.shared::cluster.u32 r0, [r1]; "
        "barrier.cluster.arrive; barrier.cluster.wait; }",
        variables=".shared .u32 s = 0; .shared .mbarrier m = 1;",
        end="exists (P1:r0 = 0)",
    )
    assert found == {(0,), (1,)}


@pytest.mark.parametrize("name", ["mbarrier+counted-copy+fence-of-cta", "mbarrier+init-fence-not-for-waits"])
def test_what_acquires_from_nobody_ends_nothing(name: str) -> None:
    (test,) = (case.parse() for case in find(name) if case.name == name)
    assert simulate(test, seconds=10.0).states == {(0,), (1,)}


@pytest.mark.parametrize(
    "copy",
    [
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m]; "
        "W: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0; @!p0 bra W;",
        "cp.async.ca.shared.global [s], [g], 16; cp.async.wait_all;",
    ],
    ids=["bulk", "cp.async"],
)
def test_a_copy_is_at_its_own_address_at_once_and_old_at_another_until_a_fence(copy: str) -> None:
    variables = (
        ".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 s[4]; .shared .u32 t aliases s; "
        ".shared .mbarrier m = 1;"
    )
    loads = "ld.shared.u32 r0, [s]; ld.shared.u32 r1, [t];"
    end = "exists (P0:r0 = 1 /\\ P0:r1 = 0)"
    assert states(f"cta 0 {{ {copy} {loads} }}", variables=variables, end=end) == {(1, 0), (1, 1)}
    assert states(f"cta 0 {{ {copy} fence.proxy.alias; {loads} }}", variables=variables, end=end) == {(1, 1)}


def test_a_copy_whose_place_a_register_has_is_old_at_another_address_too() -> None:
    found = states(
        "cta 0, cluster 0 { mapa.shared::cluster.u32 r1, s, 1; mapa.shared::cluster.u32 r2, m, 1; "
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r1], 1, [r2]; }",
        "cta 1, cluster 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 4; "
        "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p0, [m], 0; @!p0 bra W; ld.shared.u32 r0, [t]; }",
        variables=".shared .align 16 .u32 s[4]; .shared .u32 t aliases s; .shared .mbarrier m = 1;",
        end="exists (P1:r0 = 0)",
    )
    assert found == {(0,), (1,)}


def test_a_load_that_is_early_finds_at_the_own_address_of_a_copy_what_is_old_too() -> None:
    found = states(
        "cta 0, cluster 0 { mapa.shared::cluster.u32 r1, s, 1; mapa.shared::cluster.u32 r2, m, 1; "
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [g], 16, [r2]; }",
        "cta 1, cluster 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; "
        "W: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0; @!p0 bra W; "
        "ld.shared.u32 r0, [s]; ld.shared.u32 r1, [t]; }",
        variables=".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 s[4]; "
        ".shared .u32 t aliases s; .shared .mbarrier m = 1;",
        end="exists (P1:r0 = 0 /\\ P1:r1 = 0)",
    )
    assert found == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_copy_issued_before_a_proxy_fence_may_land_before_it_under_an_earlier_write() -> None:
    body = "atom.relaxed.gpu.global.exch.b32 r0, [x], 1; mov.u32 r1, 16; add.u32 r1, r1, r0; "
    found = states(
        f"cta 0 {{ {body} cp.async.bulk.global.shared::cta.bulk_group [x], [s], r1; fence.proxy.async; }}",
        "cta 1 { mov.u32 r0, 1; }",
        variables=".global .align 16 .u32 x[4]; .shared .align 16 .u32 s[4] = {5, 5, 5, 5};",
        end="exists (x[0] = 1)",
    )
    assert found == {(1,), (5,)}


def test_a_copy_may_come_before_a_load_until_the_proxy_fence_behind_it_is_over() -> None:
    found = states(
        "cta 0 { ld.shared.u32 r0, [s]; mbarrier.arrive.shared::cta.b64 _, [e]; fence.proxy.async; }",
        "cta 0 { W: mbarrier.try_wait.parity.shared::cta.b64 p0, [e], 0; @!p0 bra W; "
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m]; "
        "V: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0; @!p0 bra V; }",
        variables=".global .align 16 .u32 g[4] = {1, 1, 1, 1}; .shared .align 16 .u32 s[4]; "
        ".shared .mbarrier m = 1; .shared .mbarrier e = 1;",
        end="exists (P0:r0 = 1)",
    )
    assert found == {(0,), (1,)}


def test_a_copy_may_come_under_an_atomic() -> None:
    found = states(
        "cta 0 { cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16; }",
        "cta 1 { atom.relaxed.gpu.global.add.u32 r0, [x], 1; }",
        variables=".global .align 16 .u32 x[4]; .shared .align 16 .u32 s[4] = {5, 5, 5, 5};",
        end="exists (P1:r0 = 0 /\\ x[0] = 1)",
    )
    assert found == {(0, 1), (0, 5), (5, 6)}


def test_no_copy_comes_between_a_store_and_the_load_that_it_serves() -> None:
    found = states(
        "cta 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 16; "
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m]; "
        "st.shared.u32 [s], 2; ld.shared.u32 r0, [s]; }",
        variables=".global .align 16 .u32 g[4] = {3, 3, 3, 3}; .shared .align 16 .u32 s[4]; .shared .mbarrier m = 1;",
        end="exists (P0:r0 = 3 /\\ s[0] = 2)",
    )
    assert found == {(2, 2), (2, 3), (3, 3)}


@pytest.mark.parametrize("theme", THEMES)
def test_everything_of_a_theme_is_executed(theme: str) -> None:
    cases = find(f"litmus/{theme}")
    assert cases
    for case in cases[::5]:
        try:
            test = case.parse()
        except SourceError:
            continue
        simulate(test, budget_states=1)
