"""Asynchronous operations, by hand from 8.9.1.1 and the instruction pages: issue, completion, groups, patterns 4, 5."""

from __future__ import annotations

import pytest

from memcheck.errors import TooLargeError
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.reference.domains import find_domains
from memcheck.reference.groups import find_groups
from memcheck.reference.traces import traces
from memcheck.source import SourceFile
from tests.reference.texts import ONE_CTA, litmus, observing

ONE = ("P0 @ cta 0",)
CLUSTER = ("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0")
MEMORY = ".global .align 16 .b32 g[4] = {1, 1, 1, 1}; .global .align 16 .b32 o[4]; .shared .align 16 .b32 s[4];"
OBJECT = ".shared .mbarrier m = 1;"
COPY = "cp.async.ca.shared.global [s], [g], 4;"
LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [m];"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16;"
EXPECT = "mbarrier.arrive.expect_tx.b64 _, [m], 16;"
WAIT = "L: mbarrier.try_wait.parity.b64 p1, [m], 0; @!p1 bra L;"


def values(explore, *threads: str, places: tuple[str, ...], of: str, init: str = "") -> set[int]:
    found = explore(litmus(*threads, init=MEMORY + OBJECT + init, places=places, end=observing(of)), of)
    assert not found.outcome.outside
    return {state[0] for state in found.states}


# --- issue and completion of cp.async


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (f"{COPY} ld.shared.u32 r0, [s];", {0, 1}),
        (f"{COPY} cp.async.wait_all; ld.shared.u32 r0, [s];", {1}),
        (f"{COPY} cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 r0, [s];", {1}),
        # nothing was committed, or the group may be pending
        (f"{COPY} cp.async.wait_group 0; ld.shared.u32 r0, [s];", {0, 1}),
        (f"{COPY} cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 r0, [s];", {0, 1}),
        # an empty group counts
        (f"{COPY} {'cp.async.commit_group;' * 2} cp.async.wait_group 1; ld.shared.u32 r0, [s];", {1}),
        # what precedes the copy in its thread precedes its accesses
        (f"st.global.u32 [g], 2; {COPY} cp.async.wait_all; ld.shared.u32 r0, [s];", {2}),
        (f"st.shared.u32 [s], 2; {COPY} cp.async.wait_all; ld.shared.u32 r0, [s];", {1}),
        # what follows it is in no order with it
        (f"{COPY} st.global.u32 [g], 2; cp.async.wait_all; ld.shared.u32 r0, [s];", {1, 2}),
        (f"{COPY} st.shared.u32 [s], 2; cp.async.wait_all; ld.shared.u32 r0, [s];", {1, 2}),
    ],
)
def test_copy(explore, steps, expected):
    assert values(explore, steps, places=ONE, of="P0:r0") == expected


# The arrive-on comes after all earlier cp.async of its thread, and after nothing else of it.
@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        (f"{COPY} cp.async.mbarrier.arrive.noinc.b64 [m];", {1}),
        (f"cp.async.mbarrier.arrive.noinc.b64 [m]; {COPY}", {0, 1}),
        ("st.shared.u32 [s], 1; cp.async.mbarrier.arrive.noinc.b64 [m];", {0, 1}),
    ],
)
def test_arrive_on(explore, writer, expected):
    assert values(explore, writer, f"{WAIT} ld.shared.u32 r0, [s];", places=ONE_CTA, of="P1:r0") == expected


# Without .noinc one arrival more is expected first, so that another has to complete the phase.
def test_arrive_on_with_increment(explore):
    writer = f"{COPY} cp.async.mbarrier.arrive.b64 [m]; mbarrier.arrive.b64 _, [m];"
    assert values(explore, writer, f"{WAIT} ld.shared.u32 r0, [s];", places=ONE_CTA, of="P1:r0") == {1}
    alone = explore(litmus(f"{COPY} cp.async.mbarrier.arrive.b64 [m];", WAIT, init=MEMORY + OBJECT, places=ONE_CTA))
    assert alone.states == frozenset()
    assert alone.outcome.hang


# --- completion of bulk copies


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (f"{EXPECT} {LOAD} {WAIT} ld.shared.u32 r0, [s];", {1}),
        (f"{EXPECT} {LOAD} ld.shared.u32 r0, [s]; {WAIT}", {0, 1}),
        (f"{EXPECT} {LOAD} {WAIT.replace('.parity', '.parity.relaxed.cta')} ld.shared.u32 r0, [s];", {0, 1}),
    ],
)
def test_load(explore, steps, expected):
    assert values(explore, steps, places=ONE, of="P0:r0") == expected


@pytest.mark.parametrize(
    ("wait", "source", "destination"),
    [("", {1, 2}, {0, 1}), (" 0", {1}, {1}), (".read 0", {1}, {0, 1}), (" 1", {1, 2}, {0, 1})],
)
def test_store(explore, wait, source, destination):
    steps = f"st.shared.u32 [s], 1; fence.proxy.async; {STORE} cp.async.bulk.commit_group;"
    waits = f"cp.async.bulk.wait_group{wait};" if wait else ""
    assert values(explore, f"{steps} {waits} st.shared.u32 [s], 2;", places=ONE, of="o[0]") == source
    assert values(explore, f"{steps} {waits} ld.global.u32 r0, [o];", places=ONE, of="P0:r0") == destination


# 8.9.1.1: the completion orders the copy's own accesses, and nothing that its issuer did before. An arrival does, also
# that of the expect_tx, if it is the issuer's.
@pytest.mark.parametrize(
    ("issuer", "waiter", "expected"),
    [(LOAD, EXPECT, {0, 1}), (f"{EXPECT} {LOAD}", "", {1}), (f"{LOAD} {EXPECT}", "", {1})],
)
def test_completion_is_not_transitive(explore, issuer, waiter, expected):
    reader = f"{waiter} {WAIT} ld.global.u32 r0, [x];"
    writer = f"st.global.u32 [x], 1; {issuer}"
    assert values(explore, writer, reader, places=ONE_CTA, of="P1:r0", init=".global .u32 x;") == expected


# --- who has the destination: each complete-tx of a multicast reports the writes to its own CTA, and the reads


@pytest.mark.parametrize(("cta", "expected"), [(0, {0, 1}), (1, {1})])
def test_multicast(explore, cta, expected):
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [m], 3;"
    end = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;"
    peer = f"{EXPECT} {WAIT.replace('.parity', '.parity.acquire.cluster')} mapa.shared::cluster.u32 r1, s, {cta};"
    peer += f"ld.shared::cluster.u32 r0, [r1]; {end}"
    first = f"{EXPECT} {copy} {end}"
    assert values(explore, first, peer, places=CLUSTER, of="P1:r0") == expected


# --- 8.8, patterns 4 and 5


@pytest.mark.parametrize(("fence", "expected"), [("fence.release.gpu;", {1}), ("", {0, 1})])
def test_a_fence_before_an_asynchronous_reduction(explore, fence, expected):
    """Release pattern 4: red.async is a strong write through the generic proxy, so that a load observes it."""
    writer = "mapa.shared::cluster.u32 r1, s, 1; mapa.shared::cluster.u32 r2, m, 1; st.global.u32 [x], 1;" + fence
    writer += "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r1], 5, [r2];"
    reader = "L: ld.acquire.cluster.shared.u32 r3, [s]; setp.ne.u32 p1, r3, 5; @p1 bra L; ld.global.u32 r0, [x];"
    # the CTA is there until the copy is over
    reader += "mbarrier.arrive.expect_tx.b64 _, [m], 4; M: mbarrier.try_wait.parity.b64 p1, [m], 0; @!p1 bra M;"
    assert values(explore, writer, reader, places=CLUSTER, of="P1:r0", init=".global .u32 x;") == expected


@pytest.mark.parametrize(
    ("release", "expected"), [(".async.release.gpu", {1}), (".async.release.sys", {1}), ("", {0, 1})]
)
def test_an_asynchronous_release(explore, release, expected):
    """Release pattern 5: what precedes st.async.release in its thread is released."""
    writer = f"st.global.u32 [x], 1; st{release}.global.u32 [f], 1;"
    reader = "L: ld.acquire.gpu.global.u32 r3, [f]; setp.ne.u32 p1, r3, 1; @p1 bra L; ld.global.u32 r0, [x];"
    init = ".global .u32 x; .global .u32 f;"
    assert values(explore, writer, reader, places=ONE_CTA, of="P1:r0", init=init) == expected


@pytest.mark.parametrize(
    ("release", "acquire", "expected"),
    [
        ("fence.release.gpu;", "fence.acquire.gpu;", {1}),
        ("", "fence.acquire.gpu;", {0, 1}),
        ("fence.release.gpu;", "", {0, 1}),
    ],
)
def test_relaxed_copies(explore, release, acquire, expected):
    """Release and acquire patterns 4: a relaxed copy writes what another reads, seen complete before the fence."""
    copy = "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [f], [s], 16;"
    writer = f"st.global.u32 [x], 1; {release} {copy}"
    back = "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128 [t], [f], 16, [m];"
    reader = f"{EXPECT} {back} {WAIT.replace('.parity', '.parity.relaxed.cta')} {acquire} ld.global.u32 r0, [x];"
    # without a fence nothing orders the copy before the load of t: only its value says that f was read
    reader += "ld.shared.u32 r1, [t];" if acquire else "fence.acquire.cta; ld.shared.u32 r1, [t];"
    init = MEMORY.replace("s[4]", "s[4] = {1, 1, 1, 1}") + OBJECT
    init += ".global .align 16 .b32 f[4]; .shared .align 16 .b32 t[4]; .global .u32 x;"
    places = ("P0 @ cta 0", "P1 @ cta 1")
    end = observing("P1:r0", "P1:r1") + " filter (P1:r1 = 1)"
    found = explore(litmus(writer, reader, init=init, places=places, end=end), "P1:r0", "P1:r1")
    assert {state[0] for state in found.states} == expected


# --- following the code


def covered(text: str) -> set[tuple[tuple[int, int], ...]]:
    """What waits cover, in each trace: by wait, the number of accesses."""
    structure = unfold(parse_test(SourceFile("<hand>", text)))
    return {
        tuple(sorted((w, sum(1 for _, x in groups if x == w)) for w in {w for _, w in groups}))
        for trace in traces(structure, find_domains(structure))
        for groups in [find_groups(trace).covered]
    }


def test_groups_of_a_loop():
    """Three rounds of copy and commit, then a wait for all but the latest: two copies of one piece each are over."""
    steps = f"mov.u32 r1, 0; L: {COPY} cp.async.commit_group; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, 3; @p1 bra L;"
    steps += "cp.async.wait_group 1;"
    (found,) = covered(litmus(steps, init=MEMORY, places=ONE))
    ((_, count),) = found
    assert count == 4


@pytest.mark.parametrize("value", [0, 1])
def test_a_commit_under_a_predicate(value):
    steps = f"setp.eq.u32 p1, {value}, 1; {COPY} @p1 cp.async.commit_group; cp.async.wait_group 0;"
    (found,) = covered(litmus(steps, init=MEMORY, places=ONE))
    assert len(found) == value


def test_a_commit_that_a_load_decides():
    steps = f"ld.global.u32 r1, [g]; setp.eq.u32 p1, r1, 1; {COPY} @p1 cp.async.commit_group; cp.async.wait_group 0;"
    found = covered(litmus(steps, "st.global.u32 [g], 2;", init=MEMORY, places=ONE_CTA))
    assert {len(of_trace) for of_trace in found} == {0, 1}


def test_a_predicate_that_events_tell():
    """Who is elected is a choice; the copy tells, and the commit goes with it."""
    steps = f"elect.sync r1|p1, 1; @p1 {COPY} @p1 cp.async.commit_group; cp.async.wait_group 0;"
    (found,) = covered(litmus(steps, init=MEMORY, places=("P0 @ cta 0, warp 0, lane 0",)))
    assert len(found) == 1


def test_a_commit_that_nothing_tells():
    steps = f"elect.sync r1|p1, 3; {COPY} @p1 cp.async.commit_group; cp.async.wait_group 0;"
    other = "elect.sync r1|p1, 3;"
    places = ("P0 @ cta 0, warp 0, lane 0", "P1 @ cta 0, warp 0, lane 1")
    with pytest.raises(TooLargeError):
        covered(litmus(steps, other, init=MEMORY, places=places))
