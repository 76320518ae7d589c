"""Grids in an order, by hand from 8.9.4 (API synchronization) and ISA 9.7.15.14."""

from __future__ import annotations

import pytest

from tests.reference.texts import litmus, observing

PLACES = ("P0 @ grid 0, cta 0", "P1 @ grid 1, cta 1")
THREE = (*PLACES, "P2 @ grid 2, cta 2")
STORE, LOAD = "st.global.u32 [x], 1;", "ld.global.u32 r0, [x];"
PROGRAMMATIC = "order grid 0 -> grid 1 programmatic;"


def values(explore, *threads: str, orders: str, places: tuple[str, ...] = PLACES, of: str = "P1:r0") -> set[int]:
    found = explore(litmus(*threads, init=f".global .u32 x; {orders}", places=places, end=observing(of)), of)
    assert not found.outcome.outside
    assert not found.outcome.hang
    return {state[0] for state in found.states}


@pytest.mark.parametrize(("orders", "expected"), [("order grid 0 -> grid 1;", {1}), ("", {0, 1})])
def test_an_order(explore, orders, expected):
    assert values(explore, STORE, LOAD, orders=orders) == expected


# The later grid is not over before the earlier one: it cannot be seen by it, not even by a racing read.
def test_nothing_comes_from_a_later_grid(explore):
    found = values(explore, LOAD, STORE, orders="order grid 0 -> grid 1;", of="P0:r0")
    assert found == {0}


def test_orders_follow_each_other(explore):
    """Also through a grid that does nothing."""
    orders = "order grid 0 -> grid 1; order grid 1 -> grid 2;"
    assert values(explore, STORE, "", LOAD, orders=orders, places=THREE, of="P2:r0") == {1}


def test_an_unawaited_copy_is_not_over_with_its_thread(explore):
    copy = "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16; cp.async.bulk.commit_group;"
    memory = ".global .align 16 .b32 x[4]; .shared .align 16 .b32 s[4] = {1, 1, 1, 1}; order grid 0 -> grid 1;"
    for wait, expected in (("", {(0,), (1,)}), ("cp.async.bulk.wait_group 0;", {(1,)})):
        text = litmus(f"{copy} {wait}", LOAD, init=memory, places=PLACES, end=observing("P1:r0"))
        assert explore(text, "P1:r0").states == expected


# A thread that never ends keeps the next grid from starting: the load is in no execution that ends.
def test_a_grid_that_never_ends(explore):
    spin = "L: ld.relaxed.gpu.global.u32 r1, [x]; setp.eq.u32 p1, r1, 0; @p1 bra L;"
    found = explore(litmus(spin, STORE, init=".global .u32 x; order grid 0 -> grid 1;", places=PLACES))
    assert found.states == frozenset()
    assert found.outcome.hang


# --- programmatic


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (STORE, LOAD, {0, 1}),
        (STORE, f"griddepcontrol.wait; {LOAD}", {1}),
        (f"griddepcontrol.launch_dependents; {STORE}", f"griddepcontrol.wait; {LOAD}", {1}),
        # a release fence before the launch synchronizes with the start
        (f"{STORE} fence.release.gpu; griddepcontrol.launch_dependents;", LOAD, {1}),
        (f"{STORE} fence.release.cluster; griddepcontrol.launch_dependents;", LOAD, {0, 1}),
        (f"{STORE} griddepcontrol.launch_dependents; fence.release.gpu;", LOAD, {0, 1}),
        # only the first call counts
        (
            f"griddepcontrol.launch_dependents; {STORE} fence.release.gpu; griddepcontrol.launch_dependents;",
            LOAD,
            {0, 1},
        ),
    ],
)
def test_programmatic(explore, first, second, expected):
    assert values(explore, first, second, orders=PROGRAMMATIC) == expected


def test_the_first_call_of_a_cta(explore):
    """P0's fence comes before its call, but the other thread of its CTA may have called before."""
    places = ("P0 @ grid 0, cta 0", "P1 @ grid 1, cta 1", "P2 @ grid 0, cta 0")
    publish = f"{STORE} fence.release.gpu; griddepcontrol.launch_dependents;"
    for other, expected in (("griddepcontrol.launch_dependents;", {0, 1}), ("", {1})):
        assert values(explore, publish, LOAD, other, orders=PROGRAMMATIC, places=places) == expected


# What precedes the prerequisite grid has ended too when the wait returns.
def test_a_wait_after_an_order(explore):
    orders = "order grid 0 -> grid 1; order grid 1 -> grid 2 programmatic;"
    for steps, expected in ((f"griddepcontrol.wait; {LOAD}", {1}), (LOAD, {0, 1})):
        assert values(explore, STORE, "", steps, orders=orders, places=THREE, of="P2:r0") == expected


# --- proxies


def test_every_proxy_but_tensormap(explore):
    """A generic store, then a copy of the next grid that reads it, without a proxy fence."""
    copy = "mbarrier.arrive.expect_tx.b64 _, [m], 16;"
    copy += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [x], 16, [m];"
    copy += "L: mbarrier.try_wait.parity.b64 p1, [m], 0; @!p1 bra L; ld.shared.u32 r0, [s];"
    memory = ".global .align 16 .b32 x[4]; .shared .align 16 .b32 s[4]; .shared .mbarrier m = 1;"
    for order, expected in (("order grid 0 -> grid 1;", {(1,)}), ("", {(0,), (1,)})):
        text = litmus(STORE, copy, init=memory + order, places=PLACES, end=observing("P1:r0"))
        assert explore(text, "P1:r0").states == expected
