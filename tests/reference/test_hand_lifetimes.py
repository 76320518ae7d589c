"""Bytes of mbarriers, and shared memory of CTAs whose threads have exited, by hand."""

from __future__ import annotations

import pytest

from tests.reference.texts import ONE_CTA, litmus

CLUSTER = ("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0")
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"


def outside(explore, *threads: str, init: str, places: tuple[str, ...]) -> frozenset[str]:
    return explore(litmus(*threads, init=init, places=places)).outcome.outside


# --- mbarriers (9.7.15.16.1)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ("st.shared.u32 [m], 5; mbarrier.init.b64 [m], 1;", False),
        ("mbarrier.init.b64 [m], 1; st.shared.u32 [m], 5;", True),
        ("mbarrier.init.b64 [m], 1; mbarrier.inval.b64 [m]; st.shared.u32 [m], 5;", False),
        ("mbarrier.init.b64 [m], 1; mbarrier.inval.b64 [m]; st.shared.u32 [m], 5; mbarrier.init.b64 [m], 2;", False),
        ("mbarrier.init.b64 [m], 1; ld.shared.u32 r1, [m+4];", True),
        ("mbarrier.init.b64 [m], 1; ld.shared.u32 r1, [m+8];", False),
    ],
)
def test_bytes_of_an_object(explore, steps, found):
    rules = outside(explore, steps, init=".shared .align 8 .b64 m[2];", places=("P0 @ cta 0",))
    assert rules == (frozenset({"mbarrier-bytes"}) if found else frozenset())


# Another thread's store is only known to come after the inval if something says so.
@pytest.mark.parametrize(("between", "found"), [("bar.sync 0;", False), ("", True)])
def test_bytes_after_inval_of_another_thread(explore, between, found):
    first = f"mbarrier.init.b64 [m], 1; mbarrier.inval.b64 [m]; {between}"
    rules = outside(explore, first, f"{between} st.shared.u32 [m], 5;", init=".shared .b64 m;", places=ONE_CTA)
    assert ("mbarrier-bytes" in rules) == found


# --- exited CTAs


@pytest.mark.parametrize(
    ("owner", "peer", "found"),
    [
        # the peer's access comes before the rendezvous, or after it, when the owner may have gone
        (MEET, f"st.shared::cluster.u32 [r1], 1; {MEET}", False),
        (MEET, f"{MEET} st.shared::cluster.u32 [r1], 1;", True),
        (f"{MEET} {MEET}", f"{MEET} ld.shared::cluster.u32 r2, [r1]; {MEET}", False),
        # a flag, relaxed on both sides, orders nothing in memory, but the owner was there when it saw it
        (
            "L: ld.relaxed.gpu.u32 r3, [f]; setp.eq.u32 p1, r3, 0; @p1 bra L;",
            "st.shared::cluster.u32 [r1], 1; st.relaxed.gpu.u32 [f], 1;",
            False,
        ),
        ("", "st.shared::cluster.u32 [r1], 1;", True),
        # a thread that waits for ever has not exited
        ("bar.sync 1, 64;", "st.shared::cluster.u32 [r1], 1;", False),
    ],
)
def test_exited(explore, owner, peer, found):
    rules = outside(
        explore, owner, f"mapa.shared::cluster.u32 r1, s, 0; {peer}", init=".shared .u32 s; f = 0;", places=CLUSTER
    )
    assert rules == (frozenset({"exited-cta"}) if found else frozenset())


# A multicast writes into the other CTA, which is there as long as it waits for it.
@pytest.mark.parametrize("waits", [True, False])
def test_multicast_into_a_cta(explore, waits):
    owner = "mbarrier.arrive.expect_tx.b64 _, [m], 16;"
    owner += "L: mbarrier.try_wait.parity.b64 p1, [m], 0; @!p1 bra L;" if waits else ""
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [m], 1;"
    rules = outside(
        explore,
        owner,
        copy,
        init=".global .align 16 .b32 g[4]; .shared .align 16 .b32 s[4]; .shared .mbarrier m = 1;",
        places=CLUSTER,
    )
    assert rules == (frozenset() if waits else frozenset({"exited-cta"}))
