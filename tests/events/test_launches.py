"""clusterlaunchcontrol.try_cancel as events: an answer that is abstract, and who hears of it."""

from __future__ import annotations

from memcheck.events import phase
from memcheck.events.value import evaluate
from tests.events.copying import misused, numbered, structure, told

CANCEL = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{}.b128"


def test_an_answer_and_its_complete_tx():
    found = structure(f"{CANCEL.format('')} [s], [m]; ld.shared.b128 rq0, [s];")
    (operation,) = found.operations
    assert told(found, operation) == ["W s+0:16 @0 = 0", "R m+0:8 @0", "W m+0:8 @0"]
    assert set(found.events[operation.events[0]].tags) == {"_", "M", "W", "ASYNC", "WEAK", "PIECE", "ASYNCHRONOUS"}
    assert numbered(operation, operation.complete) == [(0, 2)]
    write = found.events[operation.events[2]]
    assert {"CT", "CLUSTER"} <= write.tags
    assert write.value is not None
    left = phase.counts(evaluate(write.value, {operation.events[1]: phase.fresh(1) + 40}, {}))
    assert left == phase.counts(phase.fresh(1) + 24)
    assert any("try_cancel answers is not modelled" in note for note in found.notes)


def test_every_cta_of_the_cluster_gets_one():
    look = "ld.shared.b32 r0, [s];"
    found = structure(f"{CANCEL.format('.multicast::cluster::all')} [s], [m]; {look}", look)
    (operation,) = found.operations
    assert told(found, operation) == [
        "W s+0:4 @0 = 0", "W s+0:4 @1 = 0", "R m+0:8 @0", "W m+0:8 @0", "R m+0:8 @1", "W m+0:8 @1",
    ]  # fmt: skip
    assert numbered(operation, operation.complete) == [(0, 3), (1, 5)]


def test_an_answer_is_aligned():
    (line,) = misused(structure(f"{CANCEL.format('')} [s+4], [m];"))
    assert line.startswith("misaligned access (this address is not aligned to 16 bytes")
