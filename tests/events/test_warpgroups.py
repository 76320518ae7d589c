"""wgmma as events: what it reads, what precedes that, its groups, and registers without values."""

from __future__ import annotations

import re

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events.relations import program_relation
from memcheck.events.structure import Kind, Structure
from memcheck.language.load import parse_test
from memcheck.relations.rows import pairs
from memcheck.source import SourceFile
from tests.events.copying import misused, place, structure, told

MEMORY = ".shared .align 128 .b32 a[512]; .shared .align 128 .b32 b[64]; .shared .align 128 .b32 big[2048];"
FENCE = "wgmma.fence.sync.aligned;"
COMMIT = "wgmma.commit_group.sync.aligned;"
REGISTERS = "{r4, r5, r6, r7}"
OTHERS = "{r24, r25, r26, r27}"
FRAGMENTS = "{r10, r11, r12, r13}"


def wait(pending: int = 0) -> str:
    return f"wgmma.wait_group.sync.aligned {pending};"


def multiply(a: str = "[a]", b: str = "[b]", d: str = REGISTERS, tail: str = "1, 1, 1, 0, 0") -> str:
    if a.startswith("{"):
        tail = tail.removesuffix(", 0")
    return f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {a}, {b}, {tail};"


def made(*threads: str, more: str = "", end: str = "exists (w = 0)", **rest: object) -> Structure:
    return structure(*threads, more=MEMORY + more, end=end, **rest)  # type: ignore[arg-type]


def looked(found: Structure, index: int = 0) -> list[str]:
    return told(found, found.operations[index])


LOOK = "ld.shared.b32 r0, [a+8]; ld.shared.b32 r1, [b+4]; "


def test_reads_of_both_matrices_in_pieces():
    found = made(f"{LOOK} {FENCE} {multiply()}")
    (operation,) = found.operations
    assert looked(found) == ["R b+4:4 @0", "R a+8:4 @0"]
    tags = [set(found.events[e].tags) for e in operation.events]
    assert tags == [{"_", "M", "R", "ASYNC", "WEAK", "PIECE", "ASYNCHRONOUS"}] * 2
    assert not operation.within
    assert not operation.complete
    assert operation.thread == 0


@pytest.mark.parametrize(
    ("words", "a", "b"),
    [
        ("m64n8k16.f32.f16.f16", "R big+0:2048 @0", "R a+0:256 @0"),
        ("m64n64k32.s32.s8.u8", "R big+0:2048 @0", "R a+0:2048 @0"),
        ("m64n16k8.f32.tf32.tf32", "R big+0:2048 @0", "R a+0:512 @0"),
        ("m64n8k256.s32.b1.b1.and.popc", "R big+0:2048 @0", "R a+0:256 @0"),
    ],
)
def test_as_many_bytes_as_shape_and_types_say(words, a, b):
    n = int(words.split(".")[0].partition("n")[2].partition("k")[0])
    accumulators = "{" + ", ".join(f"r{i}" for i in range(20, 20 + n // 2)) + "}"
    tail = {"f32.f16.f16": "1, 1, 1, 0, 0", "f32.tf32.tf32": "1, 1, 1"}.get(words.partition(".")[2], "1")
    body = f"wgmma.mma_async.sync.aligned.{words} {accumulators}, [big], [a], {tail};"
    whole = f"{FENCE} {body} {COMMIT} {wait()}"
    # only what others touch is left, so one read of the whole of a, and one of the whole of big
    found = made(f"{whole} {FENCE} {body}", end="exists (w = 0)")
    assert looked(found) == looked(found, 1) == [b, a]


def test_fragments_of_a_are_registers():
    found = made(f"{LOOK} {FENCE} {multiply(FRAGMENTS)}")
    assert looked(found) == ["R b+4:4 @0"]


def test_descriptors_name_their_start():
    # start addresses in units of 16 bytes, in bits 0 to 13; the rest of a descriptor is not looked at
    body = (
        "mov.u32 r20, b; cvt.u64.u32 rd0, r20; shr.b64 rd0, rd0, 4; or.b64 rd0, rd0, 0x4000004000010000;"
        " mov.u32 r21, a; cvt.u64.u32 rd1, r21; shr.b64 rd1, rd1, 4;"
    )
    found = made(f"{LOOK} {body} {FENCE} {multiply('rd1', 'rd0')}")
    assert looked(found) == ["R b+4:4 @0", "R a+8:4 @0"]


def test_only_what_precedes_the_fence_precedes_the_reads():
    found = made(f"st.shared.b32 [a], 1; {FENCE} st.shared.b32 [b], 1; {multiply()}")
    (operation,) = found.operations
    assert operation.after == 2
    assert set(pairs(program_relation(found, "issue"))) == {(1, e) for e in operation.events}
    latest = made(f"{FENCE} st.shared.b32 [a], 1; {FENCE} st.shared.b32 [b], 1; {multiply()}")
    assert latest.operations[0].after == 2


def test_groups():
    second = multiply(d=OTHERS)
    found = made(f"{FENCE} {multiply()} {COMMIT} {second} {COMMIT} {wait(1)} {wait()} st.shared.b32 [b], 1;")
    one, other = (set(o.events) for o in found.operations)
    first, last = (e.index for e in found.events if e.kind is Kind.POINT)
    covered = {pair for pair, when in found.grouped.items() if when is found.values.true}
    assert covered == {(e, first) for e in one} | {(e, last) for e in one | other}


def test_a_branch_around_the_fence_is_not_decided():
    body = f"ld.b32 r0, [w]; setp.eq.b32 p0, r0, 0; @p0 bra L; {FENCE} L: {multiply()}"
    with pytest.raises(UnsupportedError, match=r"behind paths with different wgmma\.fence"):
        made(body)


# --- registers


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (multiply(), "wgmma without a wgmma.fence before it"),
        (f"{FENCE} mov.b32 r4, 0; {multiply()}", "`mov.b32 r4, 0` accesses r4, without a wgmma.fence after it"),
        (f"{FENCE} mov.b32 r10, 0; {multiply(FRAGMENTS)}", "accesses r10, without a wgmma.fence"),
        (f"{FENCE} {multiply()} mov.b32 r5, 1; {COMMIT} {wait()}", "accesses r5 of this wgmma, without"),
        (f"{FENCE} {multiply()} {COMMIT} {wait(1)} mov.b32 r5, 1;", "without a wgmma.wait_group before it"),
        (f"{FENCE} {multiply(FRAGMENTS)} add.u32 r0, r11, 1;", "accesses r11 of this wgmma"),
        (f"{FENCE} {multiply()} {multiply(REGISTERS, d=OTHERS)}", "accesses r4, without a wgmma.fence after it"),
        (f"{FENCE} {multiply('[big+8]')}", "a matrix of wgmma is aligned to 16 bytes"),
    ],
)  # fmt: skip
def test_what_is_outside_at_sight(body, message):
    found = made(body)
    assert any(message in line for line in misused(found))
    assert all(found.events[m.event].operation is not None for m in found.misuses)


@pytest.mark.parametrize("a", ["[a+16]", "[a+2048]"])
def test_a_matrix_in_no_variable_is_an_input_error(a):
    message = "a matrix of 2048 bytes at this address is not inside a shared variable"
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        made(f"{FENCE} {multiply(a)}")
    assert not isinstance(caught.value, UnsupportedError)


def test_accumulators_go_from_one_wgmma_to_the_next_of_their_shape():
    assert len(made(f"{FENCE} {multiply()} {multiply()} {COMMIT} {wait()}").operations) == 2
    other = "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {r4, r5, r6, r7}, [a], [b], 1, 1, 1;"
    (line,) = misused(made(f"{FENCE} {multiply()} {other}"))
    assert "accesses r4, without a wgmma.fence after it" in line
    assert len(made(f"{FENCE} {multiply()} {FENCE} {other}").operations) == 2


def test_registers_may_be_written_after_the_wait():
    found = made(f"{FENCE} {multiply()} {COMMIT} {wait()} mov.b32 r5, 1;", end="exists (P0:r5 = 1)")
    (value,) = found.final_registers.values()
    assert value.payload == 1


def test_results_have_no_values():
    done = f"{FENCE} {multiply()} {COMMIT} {wait()}"
    with pytest.raises(UnsupportedError, match="r5 may hold a result of wgmma") as caught:
        made(f"{done} add.u32 r0, r5, 1;")
    assert caught.value.span.source.line(3)[caught.value.span.column - 1 :].startswith("add.u32")
    with pytest.raises(UnsupportedError, match="P0:r5 is observed") as caught:
        made(done, end="exists (P0:r5 = 1)")
    assert caught.value.span.source.line(3)[caught.value.span.column - 1 :].startswith("wgmma.mma_async")
    maybe = f"ld.b32 r0, [w]; setp.eq.b32 p0, r0, 0; {FENCE} @p0 {multiply()} {COMMIT} {wait()} add.u32 r1, r5, 1;"
    with pytest.raises(UnsupportedError, match="r5 may hold a result"):
        made(maybe)


def test_results_are_not_observed_where_nothing_is_named():
    text = f"PTX T {{ {MEMORY} }} P0 @ cta 0 {{ mov.b32 r0, 1; {FENCE} {multiply()} {COMMIT} {wait()} }}"
    test = parse_test(SourceFile("t.litmus", text))
    assert [test.key(term) for term in test.observed if test.key(term).startswith("P0")] == ["P0:r0"]


def test_one_thread_stands_for_its_warpgroup():
    with pytest.raises(UnsupportedError, match="executed by a whole warp"):
        made(FENCE, "", places=("cta 0, warp 0, lane 0", "cta 0, warp 0, lane 1"))


def test_an_address_from_a_read_is_not_decided():
    with pytest.raises(UnsupportedError, match="a matrix whose address depends on a read"):
        made(f"ld.b64 rd0, [x]; {FENCE} {multiply('rd0')}")


def test_places():
    found = made(f"{LOOK} {FENCE} {multiply()}")
    assert [place(found, found.events[e]) for e in found.operations[0].events] == ["b+4:4 @0", "a+8:4 @0"]
    assert [found.events[e].cta for e in found.operations[0].events] == [0, 0]
