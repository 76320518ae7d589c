"""The async and tensormap proxies, by hand from 8.6, 8.9.5 and ISA 9.7.15.4: which fences preserve causality."""

from __future__ import annotations

import pytest

from tests.reference.texts import ONE_CTA, litmus, observing

ONE = ("P0 @ cta 0",)
CLUSTER = ("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0")
MEMORY = ".global .align 16 .b32 g[4] = {1, 1, 1, 1}; .global .align 16 .b32 o[4]; .shared .align 16 .b32 s[4];"
OBJECTS = ".shared .mbarrier m = 1; .shared .mbarrier e = 1; .shared .mbarrier f = 1;"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16; cp.async.bulk.commit_group;"
DONE = "cp.async.bulk.wait_group 0;"
EXPECT = "mbarrier.arrive.expect_tx.b64 _, [m], 16;"
WAIT = "L: mbarrier.try_wait.parity{}.b64 p1, [{}], 0; @!p1 bra L;"
CLUSTER_WAIT = ".acquire.cluster.shared::cta"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


def explored(explore, *threads: str, places: tuple[str, ...], of: str, init: str = ""):
    found = explore(litmus(*threads, init=MEMORY + OBJECTS + init, places=places, end=observing(of)), of)
    assert not found.outcome.outside
    return found


def values(explore, *threads: str, places: tuple[str, ...], of: str, init: str = "") -> set[int]:
    return {state[0] for state in explored(explore, *threads, places=places, of=of, init=init).states}


# --- rule 4: generic, then async. Stale is 0.


@pytest.mark.parametrize(
    ("fence", "expected"),
    [
        ("", {0, 1}),
        ("fence.proxy.async;", {1}),
        ("fence.proxy.async.shared::cta;", {1}),
        ("fence.proxy.async.shared::cluster;", {1}),
        ("fence.proxy.async.global;", {0, 1}),
        ("fence.acq_rel.gpu;", {0, 1}),
        ("fence.proxy.alias;", {0, 1}),
        # a fence of one direction needs its partner
        ("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", {0, 1}),
        (
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
            {1},
        ),
        (
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
            {0, 1},
        ),
    ],
)
def test_store_then_copy(explore, fence, expected):
    assert values(explore, f"st.shared.u32 [s], 1; {fence} {STORE} {DONE}", places=ONE, of="o[0]") == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("", "", {0, 1}), ("fence.proxy.async;", "", {1}), ("", "fence.proxy.async;", {1})],
)
def test_fence_on_either_side_of_a_barrier(explore, before, after, expected):
    threads = (f"st.shared.u32 [s], 1; {before} bar.sync 0;", f"bar.sync 0; {after} {STORE} {DONE}")
    assert values(explore, *threads, places=ONE_CTA, of="o[0]") == expected


# A generic read before the copy that overwrites what it read: 1 is the copy's.
@pytest.mark.parametrize(("fence", "expected"), [("", {0, 1}), ("fence.proxy.async;", {0})])
def test_read_then_overwrite(explore, fence, expected):
    threads = (
        f"ld.shared.u32 r0, [s]; {fence} mbarrier.arrive.b64 _, [e];",
        f"{WAIT.format('', 'e')} {EXPECT} {LOAD}",
    )
    assert values(explore, *threads, places=ONE_CTA, of="P0:r0") == expected


# --- rule 5: async, then generic: the completion brings the fence, one way and for its own accesses


def test_completion_brings_a_fence(explore):
    found = explored(explore, f"{EXPECT} {LOAD} {WAIT.format('', 'm')} ld.shared.u32 r0, [s];", places=ONE, of="P0:r0")
    assert found.states == {(1,)}
    assert not found.outcome.race


def test_completion_and_an_asynchronous_generic_write(explore):
    """A cp.async after the completion of a bulk copy into the same bytes: in order, though in different proxies."""
    steps = f"{EXPECT} {LOAD} {WAIT.format('', 'm')} cp.async.ca.shared.global [s], [o], 4; cp.async.wait_all;"
    found = explored(explore, steps, places=ONE, of="s[0]")
    assert found.states == {(0,)}
    assert not found.outcome.race


def test_completion_publishes_no_generic_store(explore):
    """The wait for a load does not carry the store of t to the copy out of t."""
    steps = f"st.shared.u32 [t], 1; {EXPECT} {LOAD} {WAIT.format('', 'm')}"
    out = "cp.async.bulk.global.shared::cta.bulk_group [o], [t], 16; cp.async.bulk.commit_group;"
    init = ".shared .align 16 .b32 t[4];"
    assert values(explore, f"{steps} {out} {DONE}", places=ONE, of="o[0]", init=init) == {0, 1}


# --- rules 2 and 6: async, then async


def test_copy_of_what_a_copy_brought(explore):
    """One CTA, one proxy: no fence."""
    steps = f"{EXPECT} {LOAD} {WAIT.format('', 'm')} {STORE} {DONE}"
    assert values(explore, steps, places=ONE, of="o[0]") == {1}


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [("", "", {0, 1}), ("fence.proxy.async;", "", {1}), ("", "fence.proxy.async;", {1})],
)
def test_copies_of_two_ctas(explore, writer, reader, expected):
    """Through global memory: each copy is executed by the CTA that issues it. The fence is in either."""
    out = "cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16; cp.async.bulk.commit_group;"
    back = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [t], [x], 16, [m];"
    first = f"st.shared.u32 [s], 1; fence.proxy.async; {out} {DONE} {writer} {MEET}"
    second = f"{MEET} {reader} {EXPECT} {back} {WAIT.format('', 'm')} ld.shared.u32 r0, [t];"
    init = ".global .align 16 .b32 x[4]; .shared .align 16 .b32 t[4];"
    assert values(explore, first, second, places=CLUSTER, of="P1:r0", init=init) == expected


def test_a_copy_into_another_cta_is_executed_there(explore):
    """A peer's copy into s, seen complete by the owner, and the owner's copy out of s: one CTA, no fence."""
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [m], 2;"
    owner = f"{EXPECT} {WAIT.format(CLUSTER_WAIT, 'm')} {STORE} {DONE}"
    assert values(explore, copy, owner, places=CLUSTER, of="o[0]") == {1}


@pytest.mark.parametrize("third", [True, False])
def test_a_fence_in_a_third_cta(explore, third):
    """The owner of s stores, a peer copies over it: only a fence in the owner's CTA is on a side of the pair."""
    places = (*CLUSTER, "P2 @ cta 2, cluster 0")
    fences = ("", "fence.proxy.async;") if third else ("fence.proxy.async;", "")
    arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r1];"
    owner = f"mapa.shared::cluster.u32 r1, e, 2; st.shared.u32 [s], 2; {fences[0]} {arrive} {EXPECT}"
    owner += WAIT.format(CLUSTER_WAIT, "m")
    issuer = WAIT.format(CLUSTER_WAIT, "f") + "mapa.shared::cluster.u32 r1, s, 0; mapa.shared::cluster.u32 r2, m, 0;"
    issuer += "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [g], 16, [r2];"
    between = f"mapa.shared::cluster.u32 r1, f, 1; {WAIT.format(CLUSTER_WAIT, 'e')} {fences[1]} {arrive}"
    found = values(explore, owner, issuer, between, places=places, of="s[0] @ cta 0")
    assert found == ({1, 2} if third else {1})


# --- one-directional fences head and end patterns of their own


@pytest.mark.parametrize(
    ("release", "acquire", "expected"),
    [(True, True, {1}), (True, False, {1, 2}), (False, True, {1, 2})],
)
def test_a_pair_over_a_relaxed_arrival(explore, release, acquire, expected):
    fences = (
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;" if release else "",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;" if acquire else "",
    )
    owner = f"mapa.shared::cluster.u32 r1, e, 1; st.shared.u32 [s], 2; {fences[0]}"
    owner += f"mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [r1]; {EXPECT} {WAIT.format(CLUSTER_WAIT, 'm')}"
    peer = "mapa.shared::cluster.u32 r1, s, 0; mapa.shared::cluster.u32 r2, m, 0;"
    peer += WAIT.format(".relaxed.cluster.shared::cta", "e") + fences[1]
    peer += "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [g], 16, [r2];"
    assert values(explore, owner, peer, places=CLUSTER, of="s[0] @ cta 0") == expected


@pytest.mark.parametrize("arrive", [".relaxed", ""])
def test_a_pair_orders_generic_data_for_no_one(explore, arrive):
    """The same pair around a rendezvous: a store of the peer's sees nothing of it, unless the arrive releases."""
    first = "st.global.u32 [x], 1; fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
    first += f"barrier.cluster.arrive{arrive}; barrier.cluster.wait;"
    second = "barrier.cluster.arrive; barrier.cluster.wait;"
    second += "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; ld.global.u32 r0, [x];"
    found = values(explore, first, second, places=CLUSTER, of="P1:r0", init=".global .u32 x;")
    assert found == ({0, 1} if arrive else {1})


# --- rule 7: tensor maps

MAP = ".global .align 16 .b32 y[4] = {2, 2, 2, 2}; .shared .align 128 .b32 t[4];"
MAP += ".global .align 128 .tensormap tm = {base = g, type = .u32, dims = {4}, box = {4}};"
REPLACE = "mov.u64 rd1, y; tensormap.replace.tile.global_address.global.b1024.b64 [tm], rd1;"
USE = f"{EXPECT} cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [t], [tm, {{0}}], [m];"
USE += WAIT.format("", "m") + "ld.shared.u32 r0, [t];"
RELEASE = "fence.proxy.tensormap::generic.release.gpu;"
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [tm], 128;"


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", {1, 2}),
        (RELEASE + ACQUIRE, {2}),
        (RELEASE, {1, 2}),
        (ACQUIRE, {1, 2}),
        (ACQUIRE + RELEASE, {1, 2}),
        (RELEASE + "fence.proxy.tensormap::generic.acquire.gpu [other], 128;", {1, 2}),
        ("fence.proxy.async;", {1, 2}),
    ],
)
def test_a_changed_map(explore, between, expected):
    init = MAP + ".global .align 128 .b8 other[128];"
    assert values(explore, f"{REPLACE} {between} {USE}", places=ONE, of="P0:r0", init=init) == expected


@pytest.mark.parametrize(
    ("store", "load", "expected"),
    [("st.relaxed.gpu", "ld.relaxed.gpu", {2}), ("st.relaxed.gpu", "ld.weak", {1, 2})],
)
def test_a_map_handed_over_by_a_flag(explore, store, load, expected):
    writer = f"{REPLACE} {RELEASE} {store}.u32 [flag], 1;"
    reader = f"L0: {load}.u32 r1, [flag]; setp.eq.u32 p2, r1, 0; @p2 bra L0; {ACQUIRE} {USE}"
    init = MAP + ".global .u32 flag;"
    places = ("P0 @ cta 0", "P1 @ cta 1")
    assert values(explore, writer, reader, places=places, of="P1:r0", init=init) == expected
