"""cp.async, bulk copies and reductions, st.async and red.async as events: graphs by hand, and what is misuse."""

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events import phase
from memcheck.events.loops import registers_read, registers_written
from memcheck.events.relations import program_relation
from memcheck.events.structure import Kind, Structure
from memcheck.events.value import evaluate
from memcheck.relations.rows import pairs
from tests.events.copying import misused, numbered, place, structure, told

BULK = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
BULK_OUT = "cp.async.bulk.global.shared::cta.bulk_group"
RELAXED_OUT = "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128"
BULK_CLUSTER = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
BULK_ACROSS = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"


def only(found: Structure):
    (operation,) = found.operations
    return operation


def tags(found: Structure, index: int) -> set[str]:
    return set(found.events[index].tags) - {"_", "M", "R", "W", "ASYNCHRONOUS"}


# --- cp.async


def test_cp_async_is_a_weak_generic_read_and_write():
    found = structure(
        "st.shared.b32 [t], 1; cp.async.ca.shared::cta.global [s], [x], 16; ld.shared.v4.b32 {r0, r1, r2, r3}, [s];"
    )
    copy = only(found)
    assert told(found, copy)[:2] == ["R x+0:4", "W s+0:4 @0 <- 0"]
    assert len(copy.events) == 8
    assert numbered(copy, copy.within) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert all(tags(found, e) == {"GEN", "WEAK", "PIECE"} for e in copy.events)
    assert [found.events[e].cta for e in copy.events[:2]] == [None, 0]
    assert copy.after == copy.events[0] == 2
    assert not copy.complete
    # the earlier store precedes it by issue, and nothing is before or after it in program order
    assert {b for a, b in pairs(program_relation(found, "issue")) if a == 1} == set(copy.events)
    assert not {a for pair in pairs(program_relation(found, "po")) for a in pair} & set(copy.events)


@pytest.mark.parametrize(
    ("copied", "graph"),
    [
        ("16, 4", ["R x+0:4", "W s+0:4 @0 <- 0", "W s+4:12 @0 = 0"]),
        ("16, 0", ["W s+0:16 @0 = 0"]),
        ("16, 16", ["R x+0:16", "W s+0:16 @0 <- 0"]),
    ],
)
def test_bytes_that_the_source_has_not_are_zero(copied, graph):
    found = structure(f"cp.async.ca.shared::cta.global [s], [x], {copied};")
    whole = structure(f"cp.async.ca.shared::cta.global [s], [x], {copied}; ld.shared.b128 rq0, [s];")
    assert told(whole, only(whole)) == graph
    assert set(told(found, only(found))) <= set(graph)


def test_a_number_of_source_bytes_from_a_read_decides_byte_by_byte():
    found = structure("ld.global.b32 r0, [y]; cp.async.ca.shared::cta.global [s], [x], 4, r0; ld.shared.b32 r1, [s];")
    copy = only(found)
    reads = [found.events[e] for e in copy.events if found.events[e].kind is Kind.READ]
    writes = [found.events[e] for e in copy.events if found.events[e].kind is Kind.WRITE]
    assert [place(found, e) for e in writes] == [f"s+{k}:1 @0" for k in range(4)]
    for size in range(5):
        numbers = {1: size} | {e.index: 0x11 * (k + 1) for k, e in enumerate(reads)}
        assert [evaluate(e.guard, numbers, {}) for e in reads] == [int(k < size) for k in range(4)]
        assert all(e.guard is found.values.true for e in writes)
        assert [evaluate(e.value, numbers, {}) for e in writes] == [0x11 * (k + 1) * (k < size) for k in range(4)]
    (misuse,) = found.misuses
    assert misuse.rule == "undefined-behaviour: cp.async that reads more than it copies"
    assert [evaluate(misuse.condition, {1: size}, {}) for size in (0, 4, 5)] == [0, 0, 1]


def test_a_choice_of_two_numbers_cuts_at_them_only():
    body = "ld.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; selp.b32 r1, 4, 16, p0;"
    found = structure(f"{body} cp.async.ca.shared::cta.global [s], [x], 16, r1; ld.shared.b128 rq0, [s];")
    assert told(found, only(found)) == ["R x+0:4", "W s+0:4 @0 <- 0", "R x+4:12", "W s+4:12 @0"]
    assert found.misuses == ()


def test_ignored_source():
    body = "ld.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; cp.async.ca.shared::cta.global [s], [x], 4, p0;"
    found = structure(f"{body} ld.shared.b32 r1, [s];")
    read, write = (found.events[e] for e in only(found).events)
    assert [evaluate(read.guard, {1: n, read.index: 7}, {}) for n in (0, 1)] == [0, 1]
    assert [evaluate(write.value, {1: n, read.index: 7}, {}) for n in (0, 1)] == [0, 7]


def test_an_ignored_source_need_not_exist():
    assert structure("cp.async.ca.shared::cta.global [s], [r9], 16, 0;").operations
    assert structure("cp.async.ca.shared::cta.global [s], [x+60], 16, 0;").operations
    with pytest.raises(SourceError, match="not inside x"):
        structure("cp.async.ca.shared::cta.global [s], [x+64], 16, 4;")
    assert structure("cp.async.ca.shared::cta.global [s], [x+48], 16, 4;").operations


def test_arrive_on_follows_all_earlier_copies():
    found = structure(
        "cp.async.ca.shared::cta.global [s], [x], 4; cp.async.commit_group;"
        " cp.async.ca.shared::cta.global [s+4], [x+4], 4;"
        " cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m]; cp.async.ca.shared::cta.global [s+8], [x+8], 4;"
        " ld.shared.b32 r0, [s]; ld.shared.b32 r1, [s+4]; ld.shared.b32 r2, [s+8];"
    )
    first, second, arrival, third = found.operations
    read, write = arrival.events
    assert {"AA", "ARRIVE", "MBAR", "RMW", "RED", "GEN", "CTA"} <= tags(found, write)
    assert sorted(arrival.complete) == [(e, write) for e in (*first.events, *second.events)]
    assert not first.complete
    assert not third.complete
    before, after = phase.fresh(2), phase.fresh(2) - (1 << 21)
    assert evaluate(found.events[write].value, {read: before}, {}) == after


def test_arrive_on_is_expected_first_unless_noinc():
    found = structure("cp.async.mbarrier.arrive.shared::cta.b64 [m];")
    (arrival,) = found.operations
    assert [e.operation for e in found.events[1:]] == [None, None, 0, 0]
    assert arrival.after == 3
    more = found.events[2]
    assert evaluate(more.value, {1: phase.fresh(1)}, {}) == phase.fresh(1) + (1 << 21)
    assert {(1, 3), (2, 4)} <= set(pairs(program_relation(found, "issue")))


# --- bulk copies


def test_bulk_copy_to_shared_completes_on_its_mbarrier():
    found = structure(f"{BULK} [s], [x], 32, [m]; ld.shared.b64 rd0, [s+8];")
    copy = only(found)
    assert told(found, copy) == ["R x+8:8", "W s+8:8 @0 <- 0", "R m+0:8 @0", "W m+0:8 @0"]
    assert numbered(copy, copy.complete) == [(0, 3), (1, 3)]
    assert numbered(copy, copy.within) == [(0, 1)]
    assert all(tags(found, e) == {"ASYNC", "WEAK", "PIECE"} for e in copy.events[:2])
    report = copy.events[3]
    assert {"CT", "CLUSTER", "GEN", "MBAR"} <= tags(found, report)
    assert evaluate(found.events[report].value, {copy.events[2]: phase.fresh(1)}, {}) == phase.fresh(1) + (2**21 - 32)


def test_bulk_copy_of_nothing_completes():
    found = structure(f"{BULK} [s], [x], 0, [m];")
    assert told(found, only(found)) == ["R m+0:8 @0", "W m+0:8 @0"]
    assert only(found).complete == ()
    assert structure(f"{BULK_OUT} [x], [s], 0;").events[1:] == ()


@pytest.mark.parametrize("size", [8, 24])
def test_a_size_of_no_multiple_of_16_is_outside_under_a_condition(size):
    relaxed = "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [x], [s], r1;"
    for copy in (relaxed, f"{BULK_OUT} [x], [s], r1;"):
        found = structure(f"mov.u32 r1, {size}; ld.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; @p0 {copy}")
        (misuse,) = found.misuses
        assert misuse.rule == "undefined-behaviour: a bulk copy of no multiple of 16 bytes"
        assert misuse.event is None or misuse.event in only(found).events
        assert [evaluate(misuse.condition, {1: n}, {}) for n in (0, 1)] == [1, 0]


def test_bulk_copy_to_global_belongs_to_a_group():
    found = structure(
        f"{BULK_OUT} [x], [s], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
        " cp.async.bulk.wait_group 0; ld.global.b128 rq0, [x];"
    )
    copy = only(found)
    assert told(found, copy) == ["R s+0:16 @0", "W x+0:16 <- 0"]
    read, write = copy.events
    assert not copy.complete
    assert dict(found.grouped) == dict.fromkeys([(read, 3), (read, 4), (write, 4)], found.values.true)


def test_bulk_copy_to_another_cta():
    found = structure(
        f"mapa.shared::cluster.u32 r0, s, 1; mapa.shared::cluster.u32 r1, m, 1; {BULK_ACROSS} [r0], [s], 16, [r1];",
        "ld.shared.b128 rq0, [s];",
    )
    copy = only(found)
    assert told(found, copy) == ["R s+0:16 @0", "W s+0:16 @1 <- 0", "R m+0:8 @1", "W m+0:8 @1"]
    assert [found.events[e].cta for e in copy.events] == [0, 1, 1, 1]


def test_relaxed_copies_are_of_strong_elements_of_16_bytes():
    body = "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128 [s], [x], 48, [m];"
    found = structure(f"{body} ld.shared.b32 r0, [s+4]; ld.shared.b32 r1, [s+32];")
    copy = only(found)
    assert told(found, copy)[:4] == ["R x+0:16", "W s+0:16 @0 <- 0", "R x+32:16", "W s+32:16 @0 <- 2"]
    assert all(tags(found, e) == {"ASYNC", "RLX", "GPU"} for e in copy.events[:4])


def test_multicast_reads_once_and_reports_to_each():
    found = structure(
        f"{BULK_CLUSTER}.multicast::cluster [s+16], [x], 16, [m], 5;", "ld.shared.b128 rq0, [s+16];",
        "ld.shared.b128 rq0, [s+16];",
    )  # fmt: skip
    copy = only(found)
    assert told(found, copy) == [
        "R x+0:16", "W s+16:16 @2 <- 0", "R m+0:8 @0", "W m+0:8 @0", "R m+0:8 @2", "W m+0:8 @2",
    ]  # fmt: skip
    assert numbered(copy, copy.complete) == [(0, 3), (0, 5), (1, 5)]


def test_a_mask_from_a_read_guards_each_destination():
    found = structure(
        f"ld.global.b16 rs0, [y]; {BULK_CLUSTER}.multicast::cluster [s], [x], 16, [m], rs0; ld.shared.b128 rq0, [s];",
        "ld.shared.b128 rq0, [s];",
    )
    copy = only(found)
    guards = [[evaluate(found.events[e].guard, {1: mask}, {}) for e in copy.events] for mask in (1, 2, 3)]
    assert guards == [[1, 1, 0, 1, 1, 0, 0], [1, 0, 1, 0, 0, 1, 1], [1] * 7]
    rules = [m.rule for m in found.misuses if evaluate(m.condition, {1: 4} | dict.fromkeys(copy.events, 0), {})]
    assert rules == ["undefined-behaviour: a CTA mask beyond the cluster"]


def test_a_multimem_copy_writes_every_location():
    found = structure("multimem.cp.async.bulk.global.shared::cta.bulk_group [mm], [s], 16; ld.global.b128 rq0, [x];")
    assert told(found, only(found)) == ["R s+0:16 @0", "W mm->x+0:16 <- 0"]
    both = structure(
        "multimem.cp.async.bulk.global.shared::cta.bulk_group [mm], [s], 16; ld.global.b128 rq0, [x];"
        " ld.global.b128 rq1, [y];"
    )
    assert told(both, only(both)) == ["R s+0:16 @0", "W mm->x+0:16 <- 0", "W mm->y+0:16 <- 0"]


# --- reductions


def test_bulk_reduction_is_an_atomic_an_element():
    found = structure(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 16; ld.global.b32 r0, [x+4];"
    )
    reduction = only(found)
    assert told(found, reduction) == ["R s+4:4 @0", "R x+4:4", "W x+4:4"]
    source, read, write = reduction.events
    assert tags(found, source) == {"ASYNC", "WEAK", "PIECE"}
    assert tags(found, read) == tags(found, write) == {"ASYNC", "RLX", "SYS", "RMW", "RED"}
    assert found.events[write].rmw == read
    assert evaluate(found.events[write].value, {source: 3, read: 4}, {}) == 7
    assert reduction.within == ((source, read), (source, write))


def test_a_reduction_reads_a_source_that_others_take_apart_in_parts():
    found = structure("st.shared.b8 [s+1], 1; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [x], [s], 16;")
    reduction = only(found)
    assert told(found, reduction)[:3] == ["R s+0:1 @0", "R s+1:1 @0", "R s+2:2 @0"]
    *sources, read, write = reduction.events
    assert len(sources) == 3
    assert evaluate(found.events[write].value, dict(zip(sources, (1, 2, 3), strict=True)) | {read: 0}, {}) == 0x30201


def test_a_reduction_in_another_cta_completes_on_an_mbarrier():
    found = structure(
        "mapa.shared::cluster.u32 r0, s, 1; mapa.shared::cluster.u32 r1, m, 1;"
        " cp.reduce.async.bulk.relaxed.cluster.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32"
        " [r0], [s], 16, [r1];",
        "ld.shared.b32 r0, [s];",
    )
    reduction = only(found)
    assert told(found, reduction)[:3] == ["R s+0:4 @0", "R s+0:4 @1", "W s+0:4 @1"]
    assert numbered(reduction, reduction.complete) == [(0, 4), (1, 4), (2, 4)]


# --- st.async, red.async

REMOTE = "mapa.shared::cluster.u32 r0, s, 1; mapa.shared::cluster.u32 r1, m, 1;"


def test_st_async_is_generic_and_weak():
    found = structure(
        f"{REMOTE} st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [r0], {{3, 4}}, [r1];", ""
    )
    store = only(found)
    assert told(found, store)[:2] == ["W s+0:4 @1 = 3", "W s+4:4 @1 = 4"]
    assert all(tags(found, e) == {"GEN", "WEAK"} for e in store.events[:2])
    assert numbered(store, store.complete) == [(0, 3), (1, 3)]
    amount = evaluate(found.events[store.events[3]].value, {store.events[2]: phase.fresh(1)}, {}) & (1 << 21) - 1
    assert amount == 2**21 - 8


def test_st_async_release():
    found = structure("st.global.b32 [y], 1; st.async.release.gpu.global.b32 [x], 2;")
    store = only(found)
    assert told(found, store) == ["W x+0:4 = 2"]
    assert tags(found, store.events[0]) == {"GEN", "REL", "GPU"}
    assert not store.complete
    mapped = structure("st.async.mmio.release.sys.global.b32 [x], 2;")
    assert tags(mapped, 1) == {"GEN", "REL", "SYS", "MMIO"}


def test_red_async():
    found = structure(
        f"{REMOTE} red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], 5, [r1];", ""
    )
    reduction = only(found)
    read, write = (found.events[e] for e in reduction.events[:2])
    assert told(found, reduction)[:2] == ["R s+0:4 @1", "W s+0:4 @1"]
    assert tags(found, read.index) == tags(found, write.index) == {"GEN", "RLX", "CLUSTER", "RMW", "RED"}
    assert evaluate(write.value, {read.index: 1}, {}) == 6
    assert numbered(reduction, reduction.complete) == [(0, 3), (1, 3)]
    released = structure("red.async.release.gpu.global.add.u32 [x], 5;")
    read, write = released.events[1:]
    assert (tags(released, 1), tags(released, 2)) == (
        {"GEN", "RLX", "GPU", "RMW", "RED"},
        {"GEN", "REL", "GPU", "RMW", "RED"},
    )


# --- misuse

OWN_S = "mov.u32 r0, s; mov.u32 r1, m;"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{BULK} [s+8], [x], 16, [m];", "not aligned to 16 bytes"),
        (f"{BULK} [s], [x+4], 16, [m];", "not aligned to 16 bytes"),
        (f"mov.u32 r5, 20; {BULK} [s], [x], r5, [m];", "multiple of 16 bytes, not 20"),
        (f"mapa.shared::cluster.u32 r0, s, 1; {BULK_CLUSTER} [r0], [x], 16, [m];", "same CTA as its destination"),
        (f"{OWN_S} {BULK_ACROSS} [r0], [t], 16, [r1];", "another CTA of the cluster"),
        (f"{BULK_CLUSTER}.multicast::cluster [s], [x], 16, [m], 4;", "names a rank that the cluster, of 2 CTAs"),
        (f"{BULK_OUT} [mm], [s], 16;", "only multimem instructions"),
        ("multimem.cp.async.bulk.global.shared::cta.bulk_group [mm+8], [s], 16;", "not aligned to 16 bytes"),
        ("cp.async.ca.shared::cta.global [s+4], [x], 8;", "not aligned to 8 bytes"),
        ("mov.u32 r0, 17; cp.async.ca.shared::cta.global [s], [x], 16, r0;", "reads at most the 16 bytes"),
        ("mov.u64 rd1, s; cvta.shared.u64 rd0, rd1; cp.async.mbarrier.arrive.b64 [rd0+4];", "not aligned to 8 bytes"),
        (
            "mov.u64 rd2, m; cvta.shared.u64 rd0, rd2; mapa.u64 rd1, rd0, 1; cp.async.mbarrier.arrive.b64 [rd1];",
            "own CTA",
        ),
        (f"{OWN_S} st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0+2], 1, [r1];", "not aligned"),
        (f"{REMOTE} st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0], 1, [m];", "same CTA"),
        (
            f"{OWN_S} red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], 1, [r1];",
            "not the own one",
        ),
        (f"{OWN_S} mov.u32 r2, 17; cp.async.ca.shared::cta.global [s+4], [x], 16, r2;", "not aligned to 16 bytes"),
        ("cp.async.ca.shared::cta.global [s+4], [x], 8, 0;", "not aligned to 8 bytes"),
        (f"mov.u32 r5, 8; {BULK_OUT} [x], [s], r5;", "multiple of 16 bytes, not 8"),
        (f"mov.u32 r5, 8; {RELAXED_OUT} [x], [s], r5;", "multiple of 16 bytes, not 8"),
        (f"{BULK_CLUSTER}.multicast::cluster [s+8], [x], 16, [m], 0;", "not aligned to 16 bytes"),
    ],
)  # fmt: skip
def test_static_misuse_is_outside(body, message):
    found = structure(body, "")
    assert any(message in line for line in misused(found))


@pytest.mark.parametrize(
    ("variable", "operand", "hint"),
    [(".align 16", "z+4", ""), (".align 8", "z", ": declare the variable .align 16"), (".align 8", "z+4", "")],
)
def test_alignment_is_asked_for_where_it_is_missing(variable, operand, hint):
    found = structure(f"{BULK_OUT} [{operand}], [s], 16;", more=f".global {variable} .b32 z[16];")
    assert misused(found) == [f"misaligned access (this address is not aligned to 16 bytes{hint})"]


def test_misuse_of_a_copy_that_reads_nothing_needs_its_write():
    found = structure("cp.async.ca.shared::cta.global [s+4], [x], 8, 0;")
    (misuse,) = found.misuses
    assert told(found, only(found)) == ["W s+4:8 @0 = 0"]
    assert misuse.event == only(found).events[0]
    ignored = "ld.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; cp.async.ca.shared::cta.global [s+4], [x], 8, p0;"
    found = structure(ignored)
    (misuse,) = found.misuses
    assert found.events[misuse.event].guard is found.values.true


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{BULK} [s], [x+16], 64, [m];", "64 bytes at this address are not inside x, which has 64"),
        (f"{BULK} [s+48], [x], 32, [m];", "not inside s"),
        (f"mapa.shared::cluster.u32 r0, s, 1; {BULK} [r0], [x], 16, [m];", "not inside"),
        (f"mapa.shared::cluster.u32 r0, s, 1; mov.u64 rd0, x; {BULK} [s], [rd0+52], 32, [m];", "not inside any"),
        ("multimem.cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16;", "not inside a multimem variable"),
        ("st.async.release.gpu.global.b32 [x+64], 1;", "not inside x"),
        ("mov.u64 rd0, 4; st.async.release.gpu.global.b32 [rd0], 1;", "not inside any variable"),
    ],
)  # fmt: skip
def test_an_access_to_no_variable_is_an_input_error(body, message):
    with pytest.raises(SourceError, match=message):
        structure(body, "")


def test_st_async_needs_several_ctas():
    body = f"{OWN_S} st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0], 1, [r1];"
    assert any("cluster of several CTAs" in line for line in misused(structure(body)))
    assert misused(structure(body, "")) == []


def test_misuse_under_a_condition_is_outside():
    found = structure(f"ld.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; @p0 {BULK} [s+8], [x], 16, [m];")
    assert {m.rule for m in found.misuses} >= {"undefined-behaviour: misaligned access"}
    (misuse,) = [m for m in found.misuses if m.rule.endswith("misaligned access")]
    assert [evaluate(misuse.condition, {1: n}, {}) for n in (0, 1)] == [1, 0]
    assert misuse.event in only(found).events


@pytest.mark.parametrize(
    "body",
    [
        f"ld.global.b64 rd0, [y]; {BULK} [s], [rd0], 16, [m];",
        f"ld.global.b32 r0, [y]; {BULK} [s], [x], r0, [m];",
        f"ld.global.b32 r0, [y]; {BULK} [s], [x], 16, [r0];",
    ],
)
def test_what_depends_on_reads_is_not_decided(body):
    with pytest.raises(UnsupportedError, match="depends on a read"):
        structure(body)


def test_prefetches_do_nothing():
    found = structure("cp.async.bulk.prefetch.L2.global [x], 16;")
    assert (len(found.events), found.operations) == (1, ())


# --- loops, remarks


def test_copies_are_in_no_spin():
    copy = "cp.async.ca.shared::cta.global [s], [x], 4;"
    found = structure(f"L: {copy} ld.relaxed.gpu.global.b32 r0, [y]; setp.eq.u32 p0, r0, 0; @p0 bra L;")
    assert len(found.operations) == 5
    assert len(found.bounds) == 1


def test_the_address_of_a_destination_is_made_from_registers_that_are_read():
    body = "mov.u32 r5, s; mov.u32 r6, m; mov.u64 rd7, x; @p0 " + BULK + " [r5], [rd7], 16, [r6];"
    copy = structure(body).test.threads[0].body[-1]
    assert registers_read(copy) == {"p0", "r5", "rd7", "r6"}
    assert registers_written(copy) == frozenset()


def test_what_nothing_waits_for_is_remarked_on():
    copy = f"{BULK} [s], [x], 16, [m];"
    remark = "no one waits for the mbarrier of `{}` in P0"
    assert structure(copy).notes == (remark.format(copy[:-1]),)
    assert structure(copy, "").notes == structure(copy).notes
    wait = "mbarrier.test_wait.parity.shared::cta.b64 p0, [{}], 0;"
    assert structure(copy + wait.format("m")).notes == ()
    assert structure(copy + wait.format("n")).notes == structure(copy).notes
    out, commit = f"{BULK_OUT} [x], [s], 16;", " cp.async.bulk.commit_group;"
    left = (f"`{out[:-1]}` is not awaited before P0 ends",)
    assert structure(out).notes == structure(out + commit).notes == left
    assert structure(f"{out} {commit} cp.async.bulk.wait_group 1;").notes == left
    assert structure(f"{out} {commit} cp.async.wait_all;").notes == left
    assert structure(f"{out} {commit} cp.async.bulk.wait_group.read 0;").notes == ()
    mine = "cp.async.ca.shared::cta.global [s], [x], 4;"
    assert structure(f"{mine} cp.async.wait_all;").notes == ()
    arrive = " cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m];"
    assert structure(f"{mine} {arrive} {wait.format('m')}").notes == ()
    assert structure(f"{mine} {arrive}").notes == (f"`{mine[:-1]}` is not awaited before P0 ends",)
