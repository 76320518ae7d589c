"""mbarriers, worked out by hand from ISA 9.7.15.16: counters, phases, waits, and what they synchronize."""

from __future__ import annotations

import pytest

from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.reference.domains import find_domains
from memcheck.reference.mbarriers import MOST, Counters, objects, packed, unpacked
from memcheck.reference.traces import traces
from memcheck.reference.words import Words
from memcheck.source import SourceFile
from tests.reference.texts import ANY, ONE_CTA, litmus, observing

CLUSTER = ("P0 @ cta 0, cluster 0", "P1 @ cta 1, cluster 0")
SPIN = "L{0}: mbarrier.try_wait.parity{2}.shared::cta.b64 p{0}, [m], {1}; @!p{0} bra L{0};"


def spin(number: int = 1, parity: int = 0, qualifiers: str = "") -> str:
    return SPIN.format(number, parity, qualifiers)


def structure_of(text: str):
    return unfold(parse_test(SourceFile("<hand>", text)))


def completed(init: str, *steps: str) -> list[int]:
    """How many phases are over after one thread's operations, in each trace."""
    text = litmus(" ".join(steps), init=f".shared .mbarrier m = {init};", places=("P0 @ cta 0",))
    structure = structure_of(text)
    found = traces(structure, find_domains(structure))
    return [len(trace.mbarriers.completing) for trace in found]


# --- counters


def test_words_are_taken_apart_and_put_together():
    for counters in (Counters(0, 1, 1, 0), Counters(3, MOST, 0, -MOST), Counters(2, 7, MOST, MOST)):
        assert unpacked(packed(counters)) == counters
    assert unpacked(0) is None
    assert packed(None) == 0
    assert unpacked(packed(Counters(5, 2, 1, -1))) == Counters(1, 2, 1, -1)


@pytest.mark.parametrize(
    ("init", "steps", "phases"),
    [
        ("1", ["mbarrier.arrive.b64 _, [m];"], 1),
        ("2", ["mbarrier.arrive.b64 _, [m];"], 0),
        ("2", ["mbarrier.arrive.b64 _, [m], 2;"], 1),
        # pending is 0, but 16 bytes are due; then complete_tx brings both to 0
        ("1", ["mbarrier.arrive.expect_tx.b64 _, [m], 16;"], 0),
        ("1", ["mbarrier.arrive.expect_tx.b64 _, [m], 16;", "mbarrier.complete_tx.b64 [m], 16;"], 1),
        # the tx-count may go below 0 while arrivals pend; expect_tx itself completes the phase
        ("1", ["mbarrier.complete_tx.b64 [m], 8;", "mbarrier.arrive.b64 _, [m];", "mbarrier.expect_tx.b64 [m], 8;"], 1),
        # arrive_drop: phase 0 had two arrivals, phase 1 needs one
        ("2", ["mbarrier.arrive_drop.b64 _, [m];", *["mbarrier.arrive.b64 _, [m];"] * 3], 3),
    ],
)
def test_phases(init, steps, phases):
    assert completed(init, *steps) == [phases]


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ("mov.u32 r1, 2; mbarrier.arrive.b64 _, [m], r1;", "range"),
        ("mbarrier.arrive_drop.b64 _, [m];", "range"),
        # with nothing pending and 16 bytes too many an expect_tx would complete the phase, but an arrive.expect_tx is
        # one arrival too many: both its changes are made at once (an H200 does so)
        (
            "mbarrier.complete_tx.b64 [m], 16; mbarrier.arrive.b64 _, [m]; mbarrier.arrive.expect_tx.b64 _, [m], 16;",
            "range",
        ),
        ("mbarrier.inval.b64 [m]; mbarrier.arrive.b64 _, [m];", "not initialised"),
        ("mbarrier.init.b64 [m], 1;", "live"),
        ("mbarrier.arrive.noComplete.b64 rd1, [m], 1;", "noComplete"),
    ],
)
def test_misuse(explore, steps, rule):
    found = explore(litmus(steps, init=".shared .mbarrier m = 1;", places=("P0 @ cta 0",)))
    assert len(found.outcome.outside) == 1
    assert rule in next(iter(found.outcome.outside))


def test_a_word_that_is_no_object_becomes_one(explore):
    steps = "mbarrier.init.b64 [m], 1; mbarrier.arrive.b64 _, [m]; " + spin()
    found = explore(litmus(steps, init=".shared .b64 m;", places=("P0 @ cta 0",)))
    assert found.outcome.outside == frozenset()
    assert not found.outcome.hang
    assert len(found.states) == 1


# What a word can be before and after each of three operations of two threads: P0's are in order, P1's comes anywhere.
def test_words_in_every_order():
    first = "mbarrier.arrive.expect_tx.b64 _, [m], 16; mbarrier.complete_tx.b64 [m], 16;"
    text = litmus(first, "mbarrier.arrive.b64 _, [m];", init=".shared .mbarrier m = 2;", places=ONE_CTA)
    structure = structure_of(text)
    ((place, events),) = objects(structure).items()
    words = Words(structure, place, events)
    words.grow({}, {})
    fresh, expecting = Counters(0, 2, 2, 0), Counters(0, 2, 1, 16)
    arrive, complete, other = (e.index for e in words.reads)
    assert {unpacked(w) for w in words.before[arrive]} == {fresh, Counters(0, 2, 1, 0)}
    assert {unpacked(w) for w in words.before[complete]} == {expecting, Counters(0, 2, 0, 16)}
    assert {unpacked(w) for w in words.before[other]} == {fresh, expecting, Counters(0, 2, 1, 0)}
    assert {unpacked(w) for w in words.after[complete + 1]} == {Counters(0, 2, 1, 0), Counters(1, 2, 2, 0)}


# The chain of an object: two threads with two operations each, in order, interleave in 6 ways.
def test_chains_interleave():
    twice = "mbarrier.arrive.b64 _, [m]; mbarrier.arrive.b64 _, [m];"
    structure = structure_of(litmus(twice, twice, init=".shared .mbarrier m = 4;", places=ONE_CTA))
    found = [trace.chains[0].links for trace in traces(structure, find_domains(structure))]
    assert len(found) == 6
    assert len({tuple(link.write for link in links) for links in found}) == 6
    assert all(unpacked(links[-1].word) == Counters(1, 4, 4, 0) for links in found)


# --- waits


# Fresh object: phase 0 is current, so parity 0 is false and parity 1 true.
@pytest.mark.parametrize(("parity", "value"), [(0, 0), (1, 1)])
def test_fresh_object(explore, parity, value):
    text = litmus(
        f"mbarrier.test_wait.parity.b64 p1, [m], {parity};",
        init=".shared .mbarrier m = 3;",
        places=("P0 @ cta 0",),
        end=observing("P0:p1"),
    )
    assert explore(text, "P0:p1").states == {(value,)}


# A token names the phase in which it was given: over once that is.
def test_token(explore):
    steps = (
        "mbarrier.arrive.b64 rd1, [m]; mbarrier.test_wait.b64 p1, [m], rd1;"
        "mbarrier.arrive.b64 _, [m]; mbarrier.test_wait.b64 p2, [m], rd1;"
    )
    text = litmus(steps, init=".shared .mbarrier m = 2;", places=("P0 @ cta 0",), end=observing("P0:p1", "P0:p2"))
    assert explore(text, "P0:p1", "P0:p2").states == {(0, 1)}


# try_wait may return false though the phase is over; test_wait, which its own thread's arrival precedes, may not.
@pytest.mark.parametrize(("wait", "values"), [("try_wait", {(0,), (1,)}), ("test_wait", {(1,)})])
def test_true_and_false(explore, wait, values):
    text = litmus(
        f"mbarrier.arrive.b64 _, [m]; mbarrier.{wait}.parity.b64 p1, [m], 0;",
        init=".shared .mbarrier m = 1;",
        places=("P0 @ cta 0",),
        end=observing("P0:p1"),
    )
    assert explore(text, "P0:p1").states == values


# One arrival too few: the wait never returns true, no execution ends.
def test_hang(explore):
    text = litmus("mbarrier.arrive.b64 _, [m];", spin(), init=".shared .mbarrier m = 2;", places=ONE_CTA)
    found = explore(text)
    assert found.states == frozenset()
    assert found.outcome.hang


# Two waits of one thread do not go back along the chain: false after true is impossible.
def test_waits_go_forward(explore):
    reader = "mbarrier.test_wait.parity.b64 p1, [m], 0; mbarrier.test_wait.parity.b64 p2, [m], 0;"
    text = litmus(
        "mbarrier.arrive.b64 _, [m];",
        reader,
        init=".shared .mbarrier m = 1;",
        places=ONE_CTA,
        end=observing("P1:p1", "P1:p2"),
    )
    assert explore(text, "P1:p1", "P1:p2").states == {(0, 0), (0, 1), (1, 1)}


# --- synchronization


def passed(explore, arrive: str, wait: str, places: tuple[str, ...] = ONE_CTA, before: str = "", after: str = ""):
    """Whether data stored before an arrive can be missed after a wait that returned true."""
    remote = places is not ONE_CTA
    target = "[r9]" if remote else "[m]"
    space = "cluster" if remote else "cta"
    mapped = "mapa.shared::cluster.u32 r9, m, 1;" if remote else ""
    writer = f"{mapped} st.u32 [x], 1; {before} mbarrier.arrive{arrive}.shared::{space}.b64 _, {target};"
    reader = f"{spin(1, 0, wait)} {after} ld.u32 r0, [x];"
    text = litmus(writer, reader, init=".shared .mbarrier m = 1; x = 0;", places=places, end=observing("P1:r0"))
    return set(explore(text, "P1:r0").states)


@pytest.mark.parametrize(
    ("arrive", "wait", "places", "before", "after", "values"),
    [
        ("", "", ONE_CTA, "", "", {(1,)}),
        (".relaxed.cta", "", ONE_CTA, "", "", {(0,), (1,)}),
        ("", ".relaxed.cta", ONE_CTA, "", "", {(0,), (1,)}),
        # 8.8, patterns 3
        (".relaxed.cta", "", ONE_CTA, "fence.release.cta;", "", {(1,)}),
        ("", ".relaxed.cta", ONE_CTA, "", "fence.acquire.cta;", {(1,)}),
        # the default scope counts the arrival, and includes nobody of another CTA
        ("", "", CLUSTER, "", "", {(0,), (1,)}),
        (".release.cluster", "", CLUSTER, "", "", {(0,), (1,)}),
        ("", ".acquire.cluster", CLUSTER, "", "", {(0,), (1,)}),
        (".release.cluster", ".acquire.cluster", CLUSTER, "", "", {(1,)}),
        (".relaxed.cluster", ".relaxed.cluster", CLUSTER, "fence.release.cluster;", "fence.acquire.cluster;", {(1,)}),
    ],
)
def test_arrive_and_wait(explore, arrive, wait, places, before, after, values):
    assert passed(explore, arrive, wait, places, before, after) == values


# Links between operations on one object count whatever their scope: P0's release is observed through P1's relaxed
# arrival of scope cta.
def test_links_need_no_scope(explore):
    writer = "st.u32 [x], 1; mbarrier.arrive.release.cluster.b64 _, [m];"
    text = litmus(
        writer,
        "mbarrier.arrive.relaxed.cta.b64 _, [m];",
        spin() + "ld.u32 r0, [x];",
        init=".shared .mbarrier m = 2; x = 0;",
        places=("P0 @ cta 0", "P1 @ cta 0", "P2 @ cta 0"),
        end=observing("P2:r0"),
    )
    assert explore(text, "P2:r0").states == {(1,)}


# A wait that returns false is no acquire: the flag is not seen (p1 = 0), and x is any. If it returns true, x is 1.
def test_false_acquires_nothing(explore):
    text = litmus(
        "st.u32 [x], 1; mbarrier.arrive.b64 _, [m];",
        "mbarrier.test_wait.parity.b64 p1, [m], 0; ld.u32 r0, [x];",
        init=".shared .mbarrier m = 1; x = 0;",
        places=ONE_CTA,
        end=observing("P1:p1", "P1:r0"),
    )
    assert explore(text, "P1:p1", "P1:r0").states == ANY - {(1, 0)}


# An arrive with a token is like atom: with a fence after it, it acquires what the arrivals before it released. Two
# arrivals pend where P0's came first; then x is 1 behind a fence.
@pytest.mark.parametrize(("fence", "missed"), [("fence.acquire.cta;", set()), ("", {(2, 0)})])
def test_a_token_is_read(explore, fence, missed):
    reader = f"mbarrier.arrive.noComplete.b64 rd1, [m], 1; {fence} ld.u32 r0, [x]; mbarrier.pending_count.b64 r1, rd1;"
    text = litmus(
        "st.u32 [x], 1; mbarrier.arrive.b64 _, [m];",
        reader,
        init=".shared .mbarrier m = 3; x = 0;",
        places=ONE_CTA,
        end=observing("P1:r1", "P1:r0"),
    )
    assert explore(text, "P1:r1", "P1:r0").states == {(2, 1), (3, 0), (3, 1)} | missed
