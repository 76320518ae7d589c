"""Executions: what is well formed, and what a broken one is told."""

from dataclasses import replace

import pytest

from memcheck.events.execution import Execution
from memcheck.events.unfold import unfold
from memcheck.events.valuation import base, from_read
from memcheck.events.vocabulary import VOCABULARY
from memcheck.events.wellformed import maximal, observe, problems
from memcheck.ptx.qualifiers import Scope, Sem
from tests.events.building import at, bar, bra, build, fence, ld, st, var

FLAG = (Sem.RELAXED, Scope.GPU)


def bytes_of(structure, name):
    region = structure.memory.instance(name)
    return range(region.physical, region.physical + region.size)


def execution(structure, reads, sources, co, final, executed=None, fences=(), generations=None, choices=None):
    """`sources[read]`: a write, or one a byte; `final[variable]` likewise."""
    rf = {}
    for read, write in sources.items():
        size = structure.events[read].size
        for i in range(size):
            rf[read, i] = write[i] if isinstance(write, list) else write
    last = {}
    for name, write in final.items():
        for i, byte in enumerate(bytes_of(structure, name)):
            last[byte] = write[i] if isinstance(write, list) else write
    every = frozenset(range(len(structure.events))) if executed is None else frozenset(executed)
    writes = {i for i in every if structure.events[i].kind.value == "W"}
    order = frozenset(co) | {(0, w) for w in writes if w}
    return Execution(structure, every, reads, choices or {}, rf, order, tuple(fences), generations or {}, last)


@pytest.fixture
def message():
    body = [ld("r0", "y", *FLAG), fence(Sem.SC), ld("r1", "x")]
    test = build([st("x", 1), fence(Sem.SC), st("y", 1, *FLAG)], body, observed=["1:r0", "1:r1", "x"])
    return execution(unfold(test), {4: 1, 6: 1}, {4: 3, 6: 1}, [], {"x": 1, "y": 3}, fences=(2, 5))


def test_a_good_execution(message):
    assert problems(message) == []
    assert observe(message) == (1, 1, 1)
    relations = base(message)
    assert relations.keys() == VOCABULARY.keys()
    assert relations["rf"] == (0, 1 << 6, 0, 1 << 4, 0, 0, 0)
    assert relations["fr"] == (0,) * 7
    assert relations["sync_fence"] == (0, 0, 1 << 5, 0, 0, 0, 0)
    assert relations["co"] == (0b1010, 0, 0, 0, 0, 0, 0)
    assert relations["loc"][1] == 0b1000011
    assert relations["po-loc"] == (0,) * 7
    assert relations["W"] == 0b1011


def test_from_read_follows_the_order_of_writes(message):
    stale = replace(message, reads={4: 1, 6: 0}, rf={**message.rf, **{(6, i): 0 for i in range(4)}})
    assert problems(stale) == []
    assert from_read(stale, base(stale)["co"]) == (0, 0, 0, 0, 0, 0, 1 << 1)
    assert observe(stale) == (1, 0, 1)


@pytest.mark.parametrize(
    ("change", "message_part"),
    [
        ({"executed": frozenset(range(6))}, "event 6 should be executed"),
        ({"reads": {4: 1}}, "read 6 has no value"),
        ({"reads": {4: 1, 6: 0}}, "has not the value"),
        ({"reads": {4: 1, 6: 1 << 40}}, "wider"),
        ({"co": frozenset({(0, 1)})}, "W0 is not before 3"),
        ({"co": frozenset({(0, 1), (0, 3), (1, 3)})}, "do not overlap"),
        ({"co": frozenset({(0, 1), (0, 3), (1, 1)})}, "to itself"),
        ({"co": frozenset({(0, 1), (0, 3), (1, 0)})}, "before W0"),
        ({"fence_order": (2,)}, "Fence-SC"),
        ({"fence_order": (2, 5, 5)}, "Fence-SC"),
        ({"generations": {(0, 2): 0}}, "takes no part"),
        ({"final": {}}, "x has no final value"),
    ],
)
def test_broken_executions(message, change, message_part):
    found = problems(replace(message, **change))
    assert any(message_part in problem for problem in found), found


def test_a_byte_comes_from_a_write_that_covers_it(message):
    wrong = replace(message, rf={**message.rf, (6, 0): 3})
    assert "byte 0 of read 6 comes from 3, which does not cover it" in problems(wrong)
    missing = replace(message, rf={k: v for k, v in message.rf.items() if k != (6, 3)})
    assert problems(missing) == ["byte 3 of read 6 comes from nowhere"]
    reader = replace(message, rf={**message.rf, (6, 0): 4})
    assert "byte 0 of read 6 comes from 4, no executed write" in problems(reader)
    extra = replace(message, rf={**message.rf, (5, 0): 0})
    assert problems(extra) == ["byte 0 of event 5 is not read"]
    x = bytes_of(message.structure, "x")
    final = replace(message, final={**message.final, x[0]: 3})
    assert problems(final) == [f"final byte {x[0]:#x} comes from 3, which does not cover it"]


def test_guards_decide_what_happens():
    body = [ld("r0", "x"), bra("E", compare=("eq", "r0", 0)), st("y", 1), "E:"]
    structure = unfold(build(body, [st("x", 1)]))
    taken = execution(structure, {1: 1}, {1: 3}, [], {})
    assert problems(taken) == []
    skipped = execution(structure, {1: 0}, {1: 0}, [], {}, executed={0, 1, 3})
    assert problems(skipped) == []
    assert problems(execution(structure, {1: 0}, {1: 0}, [], {})) == ["event 2 should not be executed"]


def test_a_spin_that_is_not_left_stops_its_thread():
    body = ["L:", ld("r0", "x"), bra("L", compare=("eq", "r0", 0)), st("y", 1)]
    structure = unfold(build(body))
    assert problems(execution(structure, {1: 0}, {1: 0}, [], {}, executed={0, 1})) == []
    assert problems(execution(structure, {1: 0}, {1: 0}, [], {})) == ["event 2 should not be executed"]


def test_tearing():
    variables = [var("x", "b64", align=8)]
    both = [st("x", 0x11, type="b64"), st("x", 0x22 << 32, type="b64"), st(at("x", 4), 0x33)]
    structure = unfold(build(*[[s] for s in both], [ld("rd0", "x", type="b64")], variables=variables, observed=["x"]))
    mixed = execution(structure, {4: 0x22 << 32 | 0x11}, {4: [1] * 4 + [2] * 4}, [], {"x": 1})
    assert problems(mixed) == ["read 4 is torn between 1 and 2", "read 4 is torn between 2 and 1"]
    assert problems(mixed, tearing=True) == []
    later = execution(structure, {4: 0x33 << 32 | 0x11}, {4: [1] * 4 + [3] * 4}, [(1, 3)], {"x": [1] * 4 + [3] * 4})
    assert problems(later) == []
    assert observe(later) == (0x33 << 32 | 0x11,)
    unordered = replace(later, co=later.co - {(1, 3)})
    assert problems(unordered) == []  # such writes race
    turned = replace(later, co=unordered.co | {(3, 1)})
    assert problems(turned) == ["read 4 is torn between 1 and 3"]
    ending = execution(structure, {4: 0}, {4: 0}, [], {"x": [1] * 4 + [2] * 4})
    assert problems(ending) == ["final memory is torn between 1 and 2"]


def test_the_last_write_is_maximal_in_what_the_model_calls_coherence():
    structure = unfold(build([st("x", 1)], [st("x", 2)], observed=["x"]))
    first = execution(structure, {}, {}, [(1, 2)], {"x": 1})
    assert problems(first) == []
    assert len(maximal(first, base(first)["co"])) == 4
    assert maximal(replace(first, co=first.co - {(1, 2)}), (0b110, 0, 0)) == []


CTA = [{"cta": 0, "warp": i} for i in range(3)]


def barriers(bodies, places=None):
    structure = unfold(build(*bodies, places=places or CTA[: len(bodies)]))
    return lambda executed, **generations: problems(
        execution(
            structure, {}, {}, [], {}, executed={0, *executed},
            generations={(0, int(name[1:])): number for name, number in generations.items()},
        )
    )  # fmt: skip


def test_generations_are_full_and_increase():
    check = barriers([[bar("sync", 0), bar("sync", 0)]] * 2)
    assert check({1, 2, 3, 4}, e1=0, e3=0, e2=1, e4=1) == []
    assert any("do not increase" in p for p in check({1, 2, 3, 4}, e1=1, e3=0, e2=0, e4=1))
    assert any("gaps" in p for p in check({1, 2, 3, 4}, e1=0, e3=0, e2=2, e4=2))
    assert any("lacks units" in p for p in check({1, 2, 3}, e1=0, e2=1, e3=0))
    # both could go on
    assert any("could fill" in p for p in check({1, 3}))


def test_threads_that_have_ended_are_not_waited_for():
    check = barriers([[bar("sync", 0), bar("sync", 0)], [bar("sync", 0)]])
    assert check({1, 2, 3}, e1=0, e3=0, e2=1) == []
    assert any("could fill" in p for p in check({1, 2, 3}, e1=0, e3=0))


def test_counts_are_exact():
    check = barriers([[bar("sync", 0, 64)]] * 3)
    assert check({1, 2, 3}, e1=0, e3=0) == []
    assert any("has 3 units, not 2" in p for p in check({1, 2, 3}, e1=0, e2=0, e3=0))
    assert any("could fill" in p for p in check({1, 2, 3}))


def test_a_warp_arrives_as_a_whole():
    places = [{"cta": 0, "warp": 0, "lane": 0}, {"cta": 0, "warp": 0, "lane": 1}, {"cta": 0, "warp": 1}]
    check = barriers([[bar("sync", 0, 64)]] * 3, places)
    assert check({1, 2, 3}, e1=0, e2=0, e3=0) == []
    assert any("is missing in generation 0" in p for p in check({1, 2, 3}, e1=0, e3=0))


def test_a_wait_left_over_stops_its_thread():
    check = barriers([[bar("sync", 0), bar("sync", 1)], [bar("arrive", 1, 64), bar("sync", 1)]])
    assert any("event 2 should not be executed" in p for p in check({1, 2, 3, 4}))


def test_relations_of_barriers():
    structure = unfold(build([bar("arrive", 0, 64), bar("sync", 0)], [bar("sync", 0, 64)], places=CTA[:2]))
    found = base(execution(structure, {}, {}, [], {}, generations={(0, 1): 0, (0, 3): 0, (0, 2): 1}))
    assert found["syncbar"] == (0, 1 << 3, 0, 0)
    assert found["bar-before"] == (0, 1 << 2, 0, 1 << 2)
    assert found["samegen"] == (0, 0b1010, 0b100, 0b1010)
    assert found["exited"] == (0, 0, 0, 1 << 2)
