"""Copies that complete later, by hand: pieces, completion, groups, proxies; and what an H200 was seen to do."""

from __future__ import annotations

import time

import pytest

from memcheck.corpus import load
from memcheck.machine import simulate
from memcheck.machine.engine import Engine
from memcheck.machine.machine import Machine
from memcheck.machine.mbarriers import Word
from tests.machine.building import built, reached, states, step, texts

GLOBAL = ".global .align 16 .b32 g[4] = {1, 2, 3, 4};"
SHARED = ".shared .align 16 .b32 s[4];"
BAR = ".shared .mbarrier bar = 1;"
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [bar];"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;"
WAIT = "L: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L;"
OUT = "cp.async.bulk.global.shared::cta.bulk_group [g], [s], 16; cp.async.bulk.commit_group;"
WORD = "exists (P0:r0 = 0)"


def engine(machine: Machine) -> Engine:
    unit = machine.unit(Engine)
    assert isinstance(unit, Engine)
    return unit


# ---- bulk copies to shared memory


def test_a_copy_lands_in_pieces_that_are_looked_at_and_then_tells_its_mbarrier() -> None:
    body = f"cta 0 {{ {EXPECT} {COPY} ld.shared.b32 r0, [s]; ld.shared.b32 r1, [s+12]; }}"
    machine = Machine(built(body, variables=GLOBAL + SHARED + BAR, end="exists (P0:r0 = 1 /\\ P0:r1 = 0)"))
    state = step(machine, machine.initial(), "expect_tx")
    (command,) = engine(machine).commands(state)
    assert [(piece.size, piece.value) for piece in command.pieces] == [(4, 1), (4, 4)]
    assert sum("bytes land" in text for text in texts(machine, state)) == 2
    assert not any("told" in text for text in texts(machine, state))
    state = step(machine, step(machine, state, "land"), "land")
    state = step(machine, state, "told")
    line = machine.layout.lines_of(machine.layout.instance("bar", 0))[0]
    assert Word.decode(state.memory[line]) == Word(1, 1, 0, 1)
    assert engine(machine).idle(state)


def test_words_of_a_copy_land_in_any_order() -> None:
    body = f"cta 0 {{ {EXPECT} {COPY} ld.shared.b32 r0, [s]; ld.shared.b32 r1, [s+4]; }}"
    end = "exists (P0:r0 = 1 /\\ P0:r1 = 2)"
    assert states(body, variables=GLOBAL + SHARED + BAR, end=end) == {(0, 0), (0, 2), (1, 0), (1, 2)}


def test_a_waiter_sees_the_copy_without_a_proxy_fence() -> None:
    body = f"cta 0 {{ {EXPECT} {COPY} {WAIT} ld.shared.b32 r0, [s]; }}"
    assert states(body, variables=GLOBAL + SHARED + BAR, end=WORD) == {(1,)}


def test_fewer_bytes_than_expected_hang_and_more_go_below() -> None:
    body = f"cta 0 {{ {EXPECT.replace('16;', '32;')} {COPY} {WAIT} }}"
    assert reached(body, variables=GLOBAL + SHARED + BAR, end="forall (0 = 0)").hangs


def test_a_copy_tells_no_one_of_what_its_issuer_did_before() -> None:
    producer = f"cta 0 {{ st.global.b32 [y], 1; {EXPECT} {COPY} }}"
    consumer = f"cta 0 {{ {WAIT} ld.global.b32 r0, [y]; }}"
    variables = GLOBAL + SHARED + BAR + ".global .b32 y = 0;"
    assert states(producer, consumer, variables=variables, end="exists (P1:r0 = 0)") == {(1,)}
    relaxed = producer.replace("expect_tx.", "expect_tx.relaxed.cta.")
    assert states(relaxed, consumer, variables=variables, end="exists (P1:r0 = 0)") == {(0,), (1,)}


def test_a_misaligned_copy_traps() -> None:
    body = f"cta 0 {{ {COPY.replace('[s]', '[s+4]')} }}"
    variables = GLOBAL + ".shared .align 16 .b32 s[8];" + BAR
    assert reached(body, variables=variables, end="forall (0 = 0)").traps


def test_multicast_tells_every_destination() -> None:
    copy = (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [bar], 3;"
    )
    wait = (
        "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p0, [bar], 0; @!p0 bra L; ld.shared.b32 r0, [s];"
    )
    result = states(
        f"cta 0, cluster 0 {{ {EXPECT} {copy} {wait} }}",
        f"cta 1, cluster 0 {{ {EXPECT} {wait} }}",
        variables=GLOBAL + SHARED + BAR,
        end="exists (P0:r0 = 1 /\\ P1:r0 = 1)",
    )
    assert result == {(1, 1)}


# ---- groups


def test_wait_group_counts_the_latest_groups() -> None:
    one = "cp.async.ca.shared.global [s], [g], 4; cp.async.commit_group;"
    two = "cp.async.ca.shared.global [s+4], [g+4], 4; cp.async.commit_group;"
    body = "cta 0 {{ {} {} cp.async.wait_group {}; ld.shared.b32 r0, [s]; ld.shared.b32 r1, [s+4]; }}"
    end = "exists (P0:r0 = 1 /\\ P0:r1 = 2)"
    variables = GLOBAL + SHARED
    assert states(body.format(one, two, 0), variables=variables, end=end) == {(1, 2)}
    assert states(body.format(one, two, 1), variables=variables, end=end) == {(1, 0), (1, 2)}
    assert states(body.format(one, two, 2), variables=variables, end=end) == {(0, 0), (0, 2), (1, 0), (1, 2)}


def test_what_is_not_committed_is_not_waited_for() -> None:
    body = "cta 0 { cp.async.ca.shared.global [s], [g], 4; cp.async.wait_group 0; ld.shared.b32 r0, [s]; }"
    assert states(body, variables=GLOBAL + SHARED, end=WORD) == {(0,), (1,)}


def test_bytes_beyond_the_source_are_zeros() -> None:
    body = "cta 0 { cp.async.ca.shared.global [s], [g], 8, 4; cp.async.wait_all; ld.shared.v2.b32 {r0, r1}, [s]; }"
    variables = GLOBAL + ".shared .align 16 .b32 s[4] = {7, 7, 7, 7};"
    assert states(body, variables=variables, end="exists (P0:r0 = 1 /\\ P0:r1 = 0)") == {(1, 0)}


@pytest.mark.parametrize(("count", "noinc", "hangs"), [(1, "", True), (1, ".noinc", False), (2, ".noinc", True)])
def test_an_arrival_of_copies_counts_itself_unless_noinc(count: int, noinc: str, hangs: bool) -> None:
    arrive = f"cp.async.mbarrier.arrive{noinc}.shared::cta.b64 [bar];"
    body = f"cta 0 {{ cp.async.ca.shared.global [s], [g], 4; {arrive} {WAIT} ld.shared.b32 r0, [s]; }}"
    variables = GLOBAL + SHARED + f".shared .mbarrier bar = {count};"
    result = reached(body, variables=variables, end=WORD)
    assert result.hangs is hangs
    assert result.states == (frozenset() if hangs else {(1,)})


def test_a_read_wait_frees_the_source_and_no_more() -> None:
    body = (
        f"cta 0 {{ st.shared.b32 [s], 5; fence.proxy.async; {OUT}"
        " cp.async.bulk.wait_group.read 0; st.shared.b32 [s], 6; ld.global.b32 r0, [g]; }"
    )
    assert states(body, variables=GLOBAL + SHARED, end=WORD) == {(1,), (5,)}
    assert states(body.replace(".read", ""), variables=GLOBAL + SHARED, end=WORD) == {(5,)}


# ---- proxies


def test_an_unpublished_store_may_be_missed() -> None:
    """Seen on an H200: stale 3,977 times of 211,200, never with the proxy fence."""
    body = f"cta 0 {{ st.shared.b32 [s], 5; FENCE {OUT} cp.async.bulk.wait_group 0; ld.global.b32 r0, [g]; }}"
    assert states(body.replace("FENCE", ""), variables=GLOBAL + SHARED, end=WORD) == {(0,), (5,)}
    assert states(body.replace("FENCE", "fence.proxy.async.shared::cta;"), variables=GLOBAL + SHARED, end=WORD) == {
        (5,)
    }
    assert (0,) in states(body.replace("FENCE", "fence.proxy.async.global;"), variables=GLOBAL + SHARED, end=WORD)


def test_an_unpublished_global_store_may_be_missed() -> None:
    """Seen on an H200: stale 743 times of 211,200, never with the proxy fence."""
    body = f"cta 0 {{ st.global.b32 [g], 5; FENCE {EXPECT} {COPY} {WAIT} ld.shared.b32 r0, [s]; }}"
    variables = GLOBAL + SHARED + BAR
    assert states(body.replace("FENCE", ""), variables=variables, end=WORD) == {(1,), (5,)}
    assert states(body.replace("FENCE", "fence.proxy.async;"), variables=variables, end=WORD) == {(5,)}


def test_a_copy_in_flight_reads_what_overwrites_its_source() -> None:
    """Seen on an H200 nearly always."""
    body = f"cta 0 {{ st.shared.b32 [s], 5; fence.proxy.async; {OUT} st.shared.b32 [s], 6; }}"
    assert states(body, variables=GLOBAL + SHARED, end="exists (g[0] = 6)") == {(5,), (6,)}


def test_a_load_may_return_what_is_copied_over_it_without_a_proxy_fence() -> None:
    consumer = "cta 0 { ld.shared.b32 r0, [s]; FENCE mbarrier.arrive.shared::cta.b64 _, [free]; }"
    producer = f"cta 0 {{ L: mbarrier.try_wait.parity.shared::cta.b64 p0, [free], 0; @!p0 bra L; {EXPECT} {COPY} }}"
    variables = GLOBAL + SHARED + BAR + ".shared .mbarrier free = 1;"
    bare, fenced = consumer.replace("FENCE", ""), consumer.replace("FENCE", "fence.proxy.async;")
    assert states(bare, producer, variables=variables, end=WORD) == {(0,), (1,)}
    assert states(fenced, producer, variables=variables, end=WORD) == {(0,)}


def test_cp_async_needs_no_proxy_fence() -> None:
    copy = "cp.async.ca.shared.global [s], [g], 4; cp.async.wait_all;"
    body = f"cta 0 {{ st.global.b32 [g], 5; {copy} ld.shared.b32 r0, [s]; }}"
    assert states(body, variables=GLOBAL + SHARED, end=WORD) == {(5,)}


# ---- reductions and stores


def test_reductions_are_atomic_to_each_other() -> None:
    body = (
        "cta 0 { cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 16;"
        " cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 16; }"
    )
    variables = ".global .align 16 .u32 x[4]; .shared .align 16 .u32 s[4] = {3, 0, 0, 0};"
    assert states(body, variables=variables, end="exists (x[0] = 6)") == {(6,)}


def test_an_asynchronous_store_to_a_peer() -> None:
    store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [rd0], 7, [rd1];"
    peer = "mapa.shared::cluster.u32 r1, s, 1; mapa.shared::cluster.u32 r2, bar, 1;"
    producer = f"cta 0, cluster 0 {{ {peer} {store.replace('rd0', 'r1').replace('rd1', 'r2')} }}"
    wait = (
        "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p0, [bar], 0; @!p0 bra L; ld.shared.b32 r0, [s];"
    )
    consumer = f"cta 1, cluster 0 {{ {EXPECT.replace('16;', '4;')} {wait} }}"
    assert states(producer, consumer, variables=SHARED + BAR, end="exists (P1:r0 = 7)") == {(7,)}


# ---- the pipeline


def test_the_pipeline_is_explored_in_time() -> None:
    started = time.process_time()
    result = simulate(load("litmus/idioms/tma-pipeline-2x2.litmus"), seconds=60)
    assert result.complete
    assert result.states == {(1, 2, 3, 4)}
    assert time.process_time() - started < 60


def test_a_store_may_end_up_on_top_of_a_later_copy_without_a_proxy_fence() -> None:
    store = "cta 0 { st.shared.b32 [s], 7; FENCE mbarrier.arrive.shared::cta.b64 _, [free]; }"
    copy = f"cta 0 {{ L: mbarrier.try_wait.parity.shared::cta.b64 p0, [free], 0; @!p0 bra L; {EXPECT} {COPY} }}"
    variables = GLOBAL + SHARED + BAR + ".shared .mbarrier free = 1;"
    end = "exists (s[0] = 7)"
    assert states(store.replace("FENCE", ""), copy, variables=variables, end=end) == {(1,), (7,)}
    assert states(store.replace("FENCE", "fence.proxy.async;"), copy, variables=variables, end=end) == {(1,)}
