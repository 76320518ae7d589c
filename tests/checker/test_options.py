"""Readings that the user chooses with --option."""

from __future__ import annotations

import pytest

import memcheck

LB_RMW = """PTX LB+RMW
{ x = 0; y = 0; }
P0 @ cta 0 { ld.acquire.gpu.global.u32 r0, [y]; st.global.u32 [x], 1; }
P1 @ cta 0 { atom.relaxed.gpu.global.add.u32 r1, [x], 1; }
P2 @ cta 0 { ld.relaxed.gpu.global.u32 r2, [x]; st.release.gpu.global.u32 [y], 1; }
exists (P0:r0 = 1 /\\ P1:r1 = 1 /\\ P2:r2 = 2)
"""


def test_tearing_lets_a_racy_load_mix_bytes() -> None:
    test = memcheck.load("tearing-racy")
    whole = memcheck.check(test)
    torn = memcheck.check(test, options={"tearing"})
    assert {state[0] for state in whole.states} == {0, 0x1_0000_0001}
    assert {state[0] for state in torn.states} == {0, 1, 0x1_0000_0000, 0x1_0000_0001}


def test_tearing_does_not_touch_morally_strong_accesses() -> None:
    text = """PTX strong
    { .global .align 8 .u64 x = 0; }
    P0 @ cta 0 { st.relaxed.gpu.global.u64 [x], 0x0000000100000001; }
    P1 @ cta 1 { ld.relaxed.gpu.global.u64 rd0, [x]; }
    exists (P1:rd0 = 1)
    """
    assert memcheck.check(memcheck.load(text), options={"tearing"}).states == ((0,), (0x1_0000_0001,))


def test_an_atomic_as_one_operation_bounds_what_it_reads() -> None:
    test = memcheck.load(LB_RMW)
    assert memcheck.check(test).holds is True
    assert memcheck.check(test, options={"rmw-one-operation"}).holds is False


def states(name: str, *options: str) -> set[tuple[int, ...]]:
    return set(memcheck.check(memcheck.load(name), options=frozenset(options)).states)


def test_the_owner_of_an_mbarrier_executes_the_completion() -> None:
    assert states("default-scope-multicast") == {(0,), (1,)}
    assert states("default-scope-multicast", "owner-scope") == {(1,)}


@pytest.mark.parametrize("name", ["remote-arrive", "cluster-arrive-only", "cluster-wait-only"])
def test_arrivals_are_no_completions(name: str) -> None:
    name = f"default-scope-{name}"
    assert states(name) == states(name, "owner-scope") == {(0,), (1,)}


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("mbarrier-operations-chain", {(0,), (1,)}),
        ("who-executes-scope-issuer", {(0,), (1,)}),
        ("which-proxy-st.async", {(0,), (1,), (2,)}),
        ("which-proxy-red.async", {(0,), (2,), (3,)}),
        ("multicast-read-over", {(1,), (2,)}),
    ],
)
def test_links_of_an_mbarrier_that_must_be_morally_strong(name: str, literal: set[tuple[int, ...]]) -> None:
    assert states(name) < literal
    assert states(name, "strict-mbarrier-chain") == literal


@pytest.mark.parametrize(
    "name", ["mbarrier-operations-atomic", "mbarrier-operations-relaxed-link", "mbarrier+init-fence"]
)
def test_operations_on_an_mbarrier_are_atomic_all_the_same(name: str) -> None:
    assert states(name) == states(name, "strict-mbarrier-chain") != set()


@pytest.mark.parametrize("name", ["relaxed-copy-generic-acquire", "relaxed-copy+generic-acquire", "reduce+atom"])
def test_strong_accesses_across_proxies(name: str) -> None:
    lenient = states(name, "cross-proxy-strong")
    assert lenient
    assert lenient < states(name)
