"""Barrier instructions and warp collectives as events, rendezvous and values."""

import pytest

from memcheck.errors import UnsupportedError
from memcheck.events.relations import barrier_candidates
from memcheck.events.structure import RendezvousKind
from memcheck.events.unfold import unfold
from memcheck.events.value import evaluate
from memcheck.language.test import RegisterTerm
from memcheck.ptx import instructions as ptx
from memcheck.ptx.qualifiers import Sem
from tests.events.building import SPAN, bar, bra, build, collective, ld, op, operand, r

ONE_CTA = [{"cta": 0, "warp": 0, "lane": 0}, {"cta": 0, "warp": 0, "lane": 1}, {"cta": 0, "warp": 1, "lane": 0}]


def cluster(arrive: bool, sem: Sem) -> ptx.ClusterBarrier:
    return ptx.ClusterBarrier(text="barrier.cluster", span=SPAN, arrive=arrive, sem=sem)


def warp(mask: int) -> ptx.WarpBarrier:
    return ptx.WarpBarrier(text="bar.warp.sync", span=SPAN, mask=operand(mask))


def test_a_cta_barrier_counts_warps():
    structure = unfold(build([bar("sync", 1)], [bar("arrive", 1, 64)], [bar("sync", 1, 32)], places=ONE_CTA))
    (meeting,) = structure.rendezvous
    assert (meeting.kind, meeting.name, meeting.units) == (RendezvousKind.CTA, "barrier 1 of cta 0", ((0, 1), (2,)))
    assert [(a.event, a.counts, a.waits, a.needed) for a in meeting.arrivals] == [
        (1, True, True, None), (2, True, False, 2), (3, True, True, 1),
    ]  # fmt: skip
    assert [(p.thread, p.before, p.barrier) for p in structure.blocking] == [(0, 2, 1), (2, 4, 3)]
    assert barrier_candidates(structure, "mismatch")[1:] == (1 << 3, 1 << 3, 1 << 1 | 1 << 2)


def test_a_barrier_number_from_memory_may_be_any():
    structure = unfold(build([ld("r0", "x"), bar("sync", "r0")]))
    assert len(structure.rendezvous) == 16
    assert [[evaluate(m.arrivals[0].member, {1: n}, {}) for m in structure.rendezvous].index(1) for n in (0, 9)] == [
        0, 9,
    ]  # fmt: skip
    (misuse,) = structure.misuses
    assert [evaluate(misuse.condition, {1: n}, {}) for n in (15, 16)] == [0, 1]


def test_a_barrier_number_chosen_by_a_branch():
    body = [ld("r0", "x"), op("mov", "r1", 2), bra("E", compare=("eq", "r0", 0)), op("mov", "r1", 3), "E:",
            bar("sync", "r1")]  # fmt: skip
    structure = unfold(build(body))
    assert [m.name for m in structure.rendezvous] == ["barrier 2 of cta 0", "barrier 3 of cta 0"]
    members = [m.arrivals[0].member for m in structure.rendezvous]
    assert [[evaluate(v, {1: n}, {}) for v in members] for n in (0, 5)] == [[1, 0], [0, 1]]


def test_the_peers_dialect_counts_threads_with_that_instance():
    def peer(instance: int, id: int | None = None, count: int | None = None) -> ptx.Barrier:
        return ptx.Barrier(
            text="bar.cta.sync", span=SPAN, kind=ptx.BarrierKind.SYNC, peer=True, instance=operand(instance),
            id=None if id is None else operand(id), count=None if count is None else operand(count),
        )  # fmt: skip

    places = [{"cta": 0}, {"cta": 0}, {"cta": 1}]
    structure = unfold(build([peer(1), peer(2)], [peer(1), peer(1, 1, 4)], [peer(1)], places=places))
    assert [(m.name, [a.needed for a in m.arrivals], m.units) for m in structure.rendezvous] == [
        ("barrier 1 of cta 0", [2, 2], ((0,), (1,))),
        ("barrier 2 of cta 0", [1], ((0,), (1,))),
        ("barrier 1, 1 of cta 0", [4], ((0,), (1,))),
        ("barrier 1 of cta 1", [1], ((2,),)),
    ]


def test_cluster_barriers():
    arrive, wait = cluster(True, Sem.RELEASE), cluster(False, Sem.ACQUIRE)
    places = [{"cta": 0, "cluster": 0}, {"cta": 1, "cluster": 0}]
    structure = unfold(build([arrive, wait], [cluster(True, Sem.RELAXED), wait], places=places))
    (meeting,) = structure.rendezvous
    assert (meeting.kind, meeting.units) == (RendezvousKind.CLUSTER, ((0,), (1,)))
    assert [(a.counts, a.waits, a.needed) for a in meeting.arrivals] == 2 * [(True, False, None), (False, True, None)]
    assert [sorted(e.tags - {"_", "B"}) for e in structure.events[1:]] == [
        ["CLUSTER", "REL"], ["ACQ", "CLUSTER", "WAIT"], ["CLUSTER", "RLX"], ["ACQ", "CLUSTER", "WAIT"],
    ]  # fmt: skip
    assert structure.misuses == ()
    rules = [m.rule for m in unfold(build([arrive, arrive, wait, wait])).misuses]
    assert rules == [
        "undefined-behaviour: barrier.cluster.arrive twice without a wait",
        "undefined-behaviour: barrier.cluster.wait without an arrive",
    ]


def test_warp_barriers_are_of_the_lanes_in_the_mask():
    structure = unfold(build([warp(0xFF)], [warp(0xFF)], [warp(2)], places=ONE_CTA))
    first, second = structure.rendezvous
    assert (first.kind, first.units, [a.needed for a in first.arrivals]) == (RendezvousKind.WARP, ((0,), (1,)), [2, 2])
    assert (second.units, [a.needed for a in second.arrivals]) == ((), [0])
    assert [(m.rule, m.event) for m in structure.misuses] == [
        ("undefined-behaviour: bar.warp.sync by a lane outside its mask", 3)
    ]


def test_bar_red_gives_its_generation_the_result():
    def red(reduction: str, destination: str, source: str) -> ptx.Barrier:
        return bar("red", 0, reduction=reduction, destination=r(destination), source=r(source))

    body = [ld("r0", "x"), op("setp.ne", "p0", "r0", 0), red("popc", "r1", "p0"), red("and", "p1", "p0"),
            red("or", "p2", "p0")]  # fmt: skip
    structure = unfold(build(body, body, places=ONE_CTA[1:], observed=["0:r1", "0:p1", "1:p2"]))
    terms = [RegisterTerm(0, "r1"), RegisterTerm(0, "p1"), RegisterTerm(1, "p2")]
    first, second = (e.index for e in structure.events if "R" in e.tags)
    for a, b, expected in ((0, 0, [0, 0, 0]), (1, 0, [1, 0, 1]), (3, 4, [2, 1, 1])):
        results = [evaluate(structure.final_registers[t], {first: a, second: b}, {}) for t in terms]
        assert results == expected
    with pytest.raises(UnsupportedError, match=r"bar\.red"):
        unfold(build([red("popc", "r1", "p0")], [*body[:2], bar("sync", 0, on="p0")], places=ONE_CTA[1:]))


def test_an_arrive_and_what_comes_next_on_its_barrier():
    structure = unfold(build([bar("arrive", 1, 64), bar("sync", 2), bar("sync", 1), bar("sync", 1)]))
    assert barrier_candidates(structure, "rearrive") == (0, 1 << 3, 0, 0, 0)


LANES = [{"cta": 0, "warp": 0, "lane": lane} for lane in range(4)]


def lanes(body: list[object], observed: str, mask_lanes: int = 4) -> list[int]:
    """The register of each lane where lane i loads 10 + i."""
    test = build(*([ld("r0", "x"), *body] for _ in range(mask_lanes)), places=LANES[:mask_lanes],
                 observed=[f"{i}:{observed}" for i in range(mask_lanes)])  # fmt: skip
    structure = unfold(test)
    assert structure.misuses == ()
    reads = {e.index: 10 + e.thread for e in structure.events[1:] if "R" in e.tags}
    return [evaluate(structure.final_registers[RegisterTerm(i, observed)], reads, {}) for i in range(mask_lanes)]


@pytest.mark.parametrize(
    ("body", "register", "expected"),
    [
        ([collective("shfl.idx", ["r1", "p1"], ["r0", 2, 31])], "r1", [12, 12, 12, 12]),
        ([collective("shfl.up", ["r1", "p1"], ["r0", 1, 0])], "r1", [10, 10, 11, 12]),
        ([collective("shfl.up", ["r1", "p1"], ["r0", 1, 0])], "p1", [0, 1, 1, 1]),
        ([collective("shfl.down", ["r1", "p1"], ["r0", 1, 3])], "r1", [11, 12, 13, 13]),
        ([collective("shfl.bfly", ["r1", None], ["r0", 1, 31])], "r1", [11, 10, 13, 12]),
        # segments of two lanes
        ([collective("shfl.idx", ["r1", "p1"], ["r0", 0, 30 << 8 | 31])], "r1", [10, 10, 12, 12]),
        ([collective("redux.add", ["r1"], ["r0"], type="u32")], "r1", [46] * 4),
        ([collective("redux.max", ["r1"], ["r0"], type="s32")], "r1", [13] * 4),
        ([op("setp.gt", "p0", "r0", 11), collective("vote.ballot", ["r1"], ["p0"])], "r1", [12] * 4),
        ([op("setp.gt", "p0", "r0", 11), collective("vote.all", ["p1"], ["p0"])], "p1", [0] * 4),
        ([op("setp.gt", "p0", "r0", 11), collective("vote.any", ["p1"], ["p0"])], "p1", [1] * 4),
        ([op("setp.gt", "p0", "r0", 9), collective("vote.uni", ["p1"], ["p0"])], "p1", [1] * 4),
        ([op("shr", "r2", "r0", 1), collective("match.any", ["r1"], ["r2"])], "r1", [3, 3, 12, 12]),
        ([op("shr", "r2", "r0", 4), collective("match.all", ["r1", "p1"], ["r2"], 15)], "r1", [15] * 4),
        ([collective("activemask", ["r1"], [])], "r1", [15] * 4),
    ],
)
def test_collectives(body, register, expected):
    assert lanes(body, register) == expected


def test_results_can_go_into_later_collectives():
    body = [collective("shfl.idx", ["r1", None], ["r0", 1, 31]), collective("redux.add", ["r2"], ["r1"], type="u32")]
    assert lanes(body, "r2") == [44] * 4


def test_elect_is_a_choice_of_one_lane():
    test = build(*([collective("elect", ["r1", "p1"], [], 3)] for _ in range(2)), places=LANES[:2],
                 observed=["0:r1", "0:p1", "1:p1"])  # fmt: skip
    structure = unfold(test)
    assert structure.choice_domains == ((0, 1),)
    results = [[evaluate(v, {}, {0: lane}) for v in structure.final_registers.values()] for lane in (0, 1)]
    assert results == [[0, 1, 0], [1, 0, 1]]


def test_collectives_off_their_mask():
    first, second = [collective("vote.any", ["p1"], ["p0"], 1)], [collective("vote.any", ["p1"], ["p0"], 1)]
    structure = unfold(build(first, second, places=LANES[:2], initial={0: {"p0": 1}, 1: {"p0": 1}}))
    assert [m.rule for m in structure.misuses] == ["undefined-behaviour: collective off its mask"]


def test_a_collective_that_not_all_lanes_reach():
    body = [ld("r0", "x"), op("setp.ne", "p0", "r0", 0), collective("vote.any", ["p1"], ["p0"], 3, on="p0")]
    structure = unfold(build(body, body, places=LANES[:2]))
    (misuse,) = structure.misuses
    reads = [e.index for e in structure.events if "R" in e.tags]
    assert [evaluate(misuse.condition, dict(zip(reads, n, strict=True)), {}) for n in ((0, 0), (1, 0), (1, 1))] == [
        0, 1, 0,
    ]  # fmt: skip
