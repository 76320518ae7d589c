"""Tensor copies as events: graphs by hand, bytes against numpy, maps that change, and what is misuse."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy
import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events import phase
from memcheck.events.relations import program_relation
from memcheck.events.structure import Kind, Operation, Structure
from memcheck.events.value import evaluate
from memcheck.relations.rows import pairs
from tests.events.copying import misused, numbered, place, structure, told

LOAD = "cp.async.bulk.tensor.{}d.shared::cta.global.mbarrier::complete_tx::bytes"
SPREAD = "cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.tensor.{}d.global.shared::cta.bulk_group"
REDUCE = "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.{}.bulk_group"
NUMBERS = ", ".join(map(str, range(1, 65)))
MEMORY = (
    f".global .align 16 .b32 g[64] = {{{NUMBERS}}}; .shared .align 1024 .b32 d[256];"
    " .const .tensormap tm = { base = g, type = .u32, dims = {4, 16}, strides = {16}, box = {4, 2} };"
    " .param .tensormap line = { base = g, type = .u32, dims = {5}, strides = {}, box = {8} };"
)
DESCRIPTOR = "R tm+0:128"


def made(*threads: str, more: str = "", places: Sequence[str] = (), end: str = "exists (w = 0)") -> Structure:
    return structure(*threads, more=MEMORY + more, places=places, end=end)


def only(found: Structure) -> Operation:
    (operation,) = found.operations
    return operation


def tags(found: Structure, index: int) -> set[str]:
    return set(found.events[index].tags) - {"_", "M", "R", "W", "ASYNCHRONOUS"}


def data(found: Structure, operation: Operation) -> list[str]:
    """The accesses through the async proxy."""
    kept = [i for i, e in enumerate(operation.events) if "ASYNC" in found.events[e].tags]
    return [line for i, line in enumerate(told(found, operation)) if i in kept]


def shared(found: Structure, cta: int = 0) -> dict[int, int]:
    """What the only copy leaves in `d`, by byte, where it reads initial memory."""
    reads: dict[int, int] = {}
    bytes_: dict[int, int] = {}
    for index in only(found).events:
        event = found.events[index]
        assert event.address is not None
        assert event.value is not None
        physical = found.memory.physical(event.address.payload, event.size)
        assert physical is not None
        if event.kind is Kind.READ:
            reads[index] = found.memory.initial_value(physical, event.size)
        elif "ASYNC" in event.tags:
            base = found.memory.instance("d", cta).base
            number = evaluate(event.value, reads, {})
            for i, byte in enumerate(number.to_bytes(event.size, "little")):
                bytes_[event.address.payload - base + i] = byte
    return bytes_


def words(found: Structure, count: int) -> list[int | None]:
    """The first words of `d`, None where nothing comes."""
    left = shared(found)
    wanted = [[left.get(4 * i + k) for k in range(4)] for i in range(count)]
    return [None if None in word else int.from_bytes(bytes(word), "little") for word in wanted]


WHOLE = "locations [d] exists (w = 0)"


class TestLoads:
    def test_graph(self) -> None:
        found = made(f"st.global.b32 [w], 1; {LOAD.format(2)} [d], [tm, {{0, 1}}], [m]; ld.shared.b32 r0, [d+4];")
        copy = only(found)
        # rows 1 and 2 follow each other in g, and of them only the second word is looked at
        assert told(found, copy) == [DESCRIPTOR, "R g+20:4", "W d+4:4 @0 <- 1", "R m+0:8 @0", "W m+0:8 @0"]
        assert sorted(numbered(copy, copy.within)) == [(0, 1), (0, 2), (1, 2)]
        assert sorted(numbered(copy, copy.complete)) == [(0, 4), (1, 4), (2, 4)]
        descriptor, read, write, _, count = copy.events
        assert tags(found, descriptor) == {"TMAP", "WEAK", "PIECE"}
        assert tags(found, read) == tags(found, write) == {"ASYNC", "WEAK", "PIECE"}
        assert {"CT", "MBAR", "RMW", "GEN", "CLUSTER"} <= tags(found, count)
        assert [found.events[e].cta for e in copy.events[:3]] == [None, None, 0]
        assert {b for a, b in pairs(program_relation(found, "issue")) if a == 1} == set(copy.events)
        assert all(found.events[e].guard is found.values.true for e in copy.events)
        assert found.misuses == tuple(m for m in found.misuses if m.event == count)

    def test_the_whole_box_is_counted(self) -> None:
        # rows 15 and 16, of which there is no 16
        found = made(f"{LOAD.format(2)} [d], [tm, {{0, 15}}], [m];", end=WHOLE)
        read, write = only(found).events[-2:]
        word = found.events[write].value
        assert word is not None
        before, expecting = phase.fresh(1) - (1 << 21), 32
        after = phase.counts(evaluate(word, {read: before + expecting}, {}))
        assert after == phase.counts(phase.fresh(1) + (1 << 61))
        assert words(found, 9) == [61, 62, 63, 64, 0, 0, 0, 0, None]

    def test_fill(self) -> None:
        nan = (
            ".const .tensormap tm2 = { base = g, type = .f32, dims = {4, 3}, strides = {16}, box = {4, 2}, fill = nan};"
        )
        found = made(f"{LOAD.format(2)} [d], [tm2, {{-4, 2}}], [m];", more=nan, end=WHOLE)
        assert words(found, 9) == [0x7FF77FF7] * 8 + [None]
        assert data(found, only(found))[0] == f"W d+0:4 @0 = {0x7FF77FF7}"

    def test_swizzle(self) -> None:
        """128-byte lines of 16-byte chunks, chunk c of line r at c xor r."""
        swizzled = (
            ".const .tensormap tm2 = { base = g, type = .u32, dims = {16, 4}, strides = {64}, box = {16, 4},"
            " swizzle = 64 };"
        )
        found = made(f"{LOAD.format(2)} [d], [tm2, {{0, 0}}], [m];", more=swizzled, end=WHOLE)
        assert 4 * len(words(found, 64)) == len(shared(found)) == 256
        lines = numpy.arange(1, 65).reshape(2, 8, 4)
        expected = numpy.empty_like(lines)
        for line in range(2):
            for chunk in range(8):
                expected[line, chunk ^ line] = lines[line, chunk]
        assert words(found, 64) == expected.reshape(-1).tolist()

    @pytest.mark.parametrize("start", [(0, 0, 0), (-4, 1, 0), (4, -1, 1), (8, 2, -1)])
    def test_boxes_against_numpy(self, start: tuple[int, int, int]) -> None:
        cube = (
            ".const .tensormap tm2 = { base = g, type = .u32, dims = {6, 3, 2}, strides = {32, 96}, box = {8, 3, 2},"
            " element_strides = {1, 2, 1} };"
        )
        body = f"{LOAD.format(3)} [d], [tm2, {{{', '.join(map(str, start))}}}], [m];"
        found = made(body, more=cube, end=WHOLE)
        tensor = numpy.arange(1, 49).reshape(2, 3, 8)[:, :, :6]
        around = numpy.pad(tensor, 16)
        x, y, z = (16 + at for at in start)
        box = around[z : z + 2, y : y + 3 : 2, x : x + 8]
        assert words(found, box.size) == box.reshape(-1).tolist()
        assert len(shared(found)) == 4 * box.size

    def test_im2col(self) -> None:
        images = (
            ".const .tensormap tm2 = { base = g, type = .u32, dims = {4, 3, 2, 1}, strides = {16, 48, 96},"
            " lower = {-1, -1}, upper = {-1, -1}, channels = 4, pixels = 6 };"
        )
        body = "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes"
        found = made(f"{body} [d], [tm2, {{0, -1, -1, 0}}], [m], {{1, 2}};", more=images, end=WHOLE)
        image = numpy.pad(numpy.arange(1, 25).reshape(2, 3, 4), ((4, 4), (4, 4), (0, 0)))
        # the 3 x 2 base pixels from (-1, -1), each plus (1, 2) in W and H
        expected = [image[4 + h + 2, 4 + w + 1] for h in (-1, 0) for w in (-1, 0, 1)]
        assert words(found, 24) == numpy.array(expected).reshape(-1).tolist()

    def test_gather4(self) -> None:
        rows = ".const .tensormap tm2 = { base = g, type = .u32, dims = {4, 16}, strides = {16}, box = {4, 1} };"
        body = "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
        found = made(f"{body} [d], [tm2, {{0, 9, 0, 9, 16}}], [m];", more=rows, end=WHOLE)
        table = numpy.pad(numpy.arange(1, 65).reshape(16, 4), ((0, 1), (0, 0)))
        assert words(found, 16) == table[[9, 0, 9, 16]].reshape(-1).tolist()

    def test_registers_with_constants_are_coordinates(self) -> None:
        found = made(f"mov.u32 r0, 0; mov.u32 r1, 3; {LOAD.format(2)} [d], [tm, {{r0, r1}}], [m];", end=WHOLE)
        assert words(found, 8) == list(range(13, 21))

    def test_a_predicate_guards_all(self) -> None:
        found = made(f"ld.global.b32 r0, [w]; setp.eq.u32 p0, r0, 0; @p0 {LOAD.format(2)} [d], [tm, {{0, 0}}], [m];")
        assert all(evaluate(found.events[e].guard, {1: n}, {}) == (n == 0) for e in only(found).events for n in (0, 1))


class TestSpreading:
    def test_multicast(self) -> None:
        body = f"{SPREAD.format(2)}.multicast::cluster [d], [tm, {{0, 0}}], [m], 5;"
        found = made(f"{body} ld.shared.b32 r0, [d];", "", "ld.shared.b32 r0, [d];")
        copy = only(found)
        assert told(found, copy) == [
            DESCRIPTOR, "R g+0:4", "W d+0:4 @0 <- 1", "W d+0:4 @2 <- 1",
            "R m+0:8 @0", "W m+0:8 @0", "R m+0:8 @2", "W m+0:8 @2",
        ]  # fmt: skip
        assert sorted(numbered(copy, copy.within)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
        assert sorted(numbered(copy, copy.complete)) == [(0, 5), (0, 7), (1, 5), (1, 7), (2, 5), (3, 7)]

    def test_another_cta(self) -> None:
        move = "mov.u32 r3, d; mapa.shared::cluster.u32 r1, r3, 1; mov.u32 r4, m; mapa.shared::cluster.u32 r2, r4, 1;"
        found = made(f"{move} {SPREAD.format(2)} [r1], [tm, {{0, 0}}], [r2];", "ld.shared.b32 r0, [d];")
        assert told(found, only(found))[2:] == ["W d+0:4 @1 <- 1", "R m+0:8 @1", "W m+0:8 @1"]
        (line,) = misused(made(f"{move} {SPREAD.format(2)} [r1], [tm, {{0, 0}}], [m];", ""))
        assert "in the same CTA as its destination" in line

    def test_pairs_of_ctas(self) -> None:
        move = "mov.u32 r4, m; mapa.shared::cluster.u32 r2, r4, 1;"
        pair = SPREAD.format(2) + ".cta_group::2"
        found = made(f"{move} {pair} [d], [tm, {{0, 0}}], [r2];", "", "", "")
        assert told(found, only(found))[1:] == ["R g+0:32", "W d+0:32 @0 <- 1", "R m+0:8 @1", "W m+0:8 @1"]
        (line,) = misused(made(f"{move.replace(', 1;', ', 2;')} {pair} [d], [tm, {{0, 0}}], [r2];", "", "", ""))
        assert "nor in its pair" in line
        spread = SPREAD.format(2) + ".multicast::cluster.cta_group::2"
        look = "ld.shared.b32 r0, [d];"
        found = made(f"{move} {spread} [d], [tm, {{0, 0}}], [r2], 15; {look}", look, look, look)
        counted = [line for line in told(found, only(found)) if line.startswith("W m")]
        assert counted == ["W m+0:8 @1", "W m+0:8 @1", "W m+0:8 @3", "W m+0:8 @3"]
        assert len([line for line in data(found, only(found)) if line.startswith("W d")]) == 4


class TestStores:
    def test_graph(self) -> None:
        found = made(
            f"{STORE.format(2)} [tm, {{0, 1}}], [d]; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
            " cp.async.bulk.wait_group 0; ld.global.b32 r0, [g+20];"
        )
        copy = only(found)
        assert told(found, copy) == [DESCRIPTOR, "R d+4:4 @0", "W g+20:4 <- 1"]
        assert sorted(numbered(copy, copy.within)) == [(0, 1), (0, 2), (1, 2)]
        assert not copy.complete
        waits = [e.index for e in found.events if "GROUP_WAIT" in e.tags]
        descriptor, read, write = copy.events
        assert {pair for pair, when in found.grouped.items() if when is found.values.true} == {
            (descriptor, waits[0]), (read, waits[0]),
            (descriptor, waits[1]), (read, waits[1]), (write, waits[1]),
        }  # fmt: skip
        assert [found.events[e].cta for e in copy.events] == [None, 0, None]

    def test_out_of_bounds_ends_with_a_chunk(self) -> None:
        """A row of five words: the chunk that has the fifth is written whole, the rest of the box not."""
        found = made(f"{STORE.format(1)} [line, {{0}}], [d];", end="locations [g] exists (w = 0)")
        places = [place(found, found.events[e]) for e in only(found).events if found.events[e].kind is Kind.WRITE]
        assert places == [f"g+{4 * k}:4" for k in range(8)]
        found = made(f"{STORE.format(1)} [line, {{4}}], [d];", end="locations [g] exists (w = 0)")
        assert data(found, only(found))[-1] == "W g+28:4 <- 7"

    def test_all_out_of_bounds(self) -> None:
        found = made(f"{STORE.format(1)} [line, {{8}}], [d];")
        assert told(found, only(found)) == ["R line+0:128"]

    def test_scatter4(self) -> None:
        rows = ".const .tensormap tm2 = { base = g, type = .u32, dims = {4, 16}, strides = {16}, box = {4, 1} };"
        body = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
        found = made(f"{body} [tm2, {{0, 9, 0, 15, 16}}], [d];", more=rows)
        assert data(found, only(found)) == ["R d+0:16 @0", "W g+144:16 <- 1"]
        found = made(f"{body} [tm2, {{0, 9, 0, 15, 16}}], [d];", more=rows, end="exists (g[0] = 0 /\\ g[60] = 0)")
        assert data(found, only(found)) == ["R d+16:4 @0", "W g+0:4 <- 1", "R d+32:4 @0", "W g+240:4 <- 3"]


class TestReductions:
    def test_graph(self) -> None:
        found = made(
            f"{REDUCE.format(2, 'add')} [tm, {{0, 1}}], [d]; ld.global.b32 r0, [g+20]; ld.shared.b8 r1, [d+5];"
        )
        copy = only(found)
        assert told(found, copy) == [
            DESCRIPTOR, "R d+4:1 @0", "R d+5:1 @0", "R d+6:2 @0", "R g+20:4", "W g+20:4"
        ]  # fmt: skip
        _, low, second, high, read, write = copy.events
        assert tags(found, read) == tags(found, write) == {"ASYNC", "RLX", "GPU", "RMW", "RED"}
        assert found.events[write].rmw == read
        value = found.events[write].value
        assert value is not None
        assert evaluate(value, {low: 0x01, second: 0x02, high: 0x0304, read: 0x10}, {}) == 0x03040211
        assert sorted(numbered(copy, copy.within)) == [
            (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("op", "type", "refused"),
        [
            ("add", "f16", ""),
            ("add", "u8", "there is no .add of .u8 elements"),
            ("inc", "s32", "there is no .inc of .s32 elements"),
            ("min", "f32", "there is no .min of .f32 elements"),
            ("xor", "s64", ""),
        ],
    )
    def test_types(self, op: str, type: str, refused: str) -> None:
        typed = f".const .tensormap tm2 = {{ base = g, type = .{type}, dims = {{16}}, strides = {{}}, box = {{16}} }};"
        body = f"{REDUCE.format(1, op)} [tm2, {{0}}], [d]; ld.global.b32 r0, [g];"
        if refused:
            (line,) = misused(made(body, more=typed))
            assert refused in line
        else:
            sizes = {found.events[e].size for found in (made(body, more=typed),) for e in only(found).events[1:]}
            assert sizes <= {2, 4, 8}

    def test_flushing_is_not_decided(self) -> None:
        typed = ".const .tensormap tm2 = { base = g, type = .f32.ftz, dims = {16}, strides = {}, box = {4} };"
        with pytest.raises(UnsupportedError, match=r"a reduction of \.f32\.ftz elements"):
            made(f"{REDUCE.format(1, 'add')} [tm2, {{0}}], [d];", more=typed)


CHANGED = (
    ".global .tensormap gm = { base = g, type = .u32, dims = {4}, strides = {}, box = {4} };"
    " .global .align 32 .b32 h[4] = {101, 102, 103, 104};"
)


class TestMapsThatChange:
    """A map whose base is replaced: its copy can read two descriptors, and moves either's bytes."""

    REPLACE = "mov.u64 rd0, h; tensormap.replace.tile.global_address.global.b1024.b64 [gm], rd0;"

    def test_graph(self) -> None:
        found = made(f"{self.REPLACE} {LOAD.format(1)} [d], [gm, {{0}}], [m]; ld.shared.b32 r0, [d];", more=CHANGED)
        copy = only(found)
        assert told(found, copy) == [
            "R gm+0:128", "R g+0:4", "W d+0:4 @0 <- 1", "R h+0:4", "W d+0:4 @0 <- 3", "R m+0:8 @0", "W m+0:8 @0",
        ]  # fmt: skip
        before = found.memory.initial_value(found.memory.instance("gm").base, 128)
        base = found.memory.instance("h").base
        after = before >> 64 << 64 | base
        descriptor = copy.events[0]
        guards = [[evaluate(found.events[e].guard, {descriptor: n}, {}) for e in copy.events] for n in (before, after)]
        assert guards == [[1, 1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 1, 1]]
        assert sorted(numbered(copy, copy.complete)) == [(n, 6) for n in range(5)]

    def test_one_complete_tx_of_what_the_descriptor_says(self) -> None:
        wider = "tensormap.replace.tile.box_dim.global.b1024.b32 [gm], 0, 8;"
        found = made(f"{wider} {LOAD.format(1)} [d], [gm, {{0}}], [m];", more=CHANGED)
        copy = only(found)
        descriptor, read, write = copy.events[0], *copy.events[-2:]
        before = found.memory.initial_value(found.memory.instance("gm").base, 128)
        word, expecting = found.events[write].value, phase.fresh(1) + 64
        assert word is not None
        left = [
            phase.counts(evaluate(word, {descriptor: number, read: expecting}, {}))
            for number in (before, before + (4 << 440))
        ]
        assert [one.transactions for one in left if one is not None] == [48, 32]

    def test_a_value_that_is_no_map_is_outside(self) -> None:
        wrong = "tensormap.replace.tile.box_dim.global.b1024.b32 [gm], 0, 3;"
        found = made(f"{wrong} {LOAD.format(1)} [d], [gm, {{0}}], [m];", more=CHANGED)
        copy = only(found)
        (misuse,) = [m for m in found.misuses if m.event == copy.events[0]]
        assert misuse.rule == (
            "undefined-behaviour: a tensor copy whose descriptor is no tensor map:"
            " `box[0]` is 12 bytes; it must be a multiple of 16 bytes"
        )
        before = found.memory.initial_value(found.memory.instance("gm").base, 128)
        number = before - (1 << 440)
        assert [evaluate(misuse.condition, {copy.events[0]: n}, {}) for n in (before, number)] == [0, 1]

    def test_a_map_that_a_copy_writes_is_not_decided(self) -> None:
        written = "cp.async.bulk.global.shared::cta.bulk_group [gm], [d], 128;"
        with pytest.raises(UnsupportedError, match="a tensor map that a copy writes"):
            made(f"{written} {LOAD.format(1)} [d], [gm, {{0}}], [m];", more=CHANGED)

    def test_a_store_that_changes_nothing_leaves_the_map_as_it_is(self) -> None:
        found = made(
            f"mov.u64 rd1, g; st.global.b64 [gm], rd1; {LOAD.format(1)} [d], [gm, {{0}}], [m]; ld.shared.b32 r0, [d];",
            more=CHANGED,
        )
        assert told(found, only(found))[1:3] == ["R g+0:4", "W d+0:4 @0 <- 1"]
        assert all(found.events[e].guard is found.values.true for e in only(found).events)


VARIABLES = (
    ".const .tensormap big = { base = g, type = .u32, dims = {80}, strides = {}, box = {8} };"
    " .global .align 128 .b32 plain[32]; .global .align 128 .b32 wide[64];"
    " .global .align 128 .b32 one[64]; .global .align 128 .b32 two[64]; .multimem wide_mm = {one, two};"
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{LOAD.format(1)} [d], [tm, {{0}}], [m];", "there are 1 coordinates; this copy takes 2"),
        (f"{LOAD.format(2)} [d+16], [tm, {{0, 0}}], [m];", "is not a multiple of 128"),
        (f"{LOAD.format(2)} [d], [tm, {{1, 0}}], [m];", "the first coordinate, 1, is not at a multiple of 16 bytes"),
        (f"{STORE.format(2)} [tm, {{0, -1}}], [d];", "coordinate 1 of a store is -1; it must not be negative"),
        (f"{LOAD.format(1)} [d], [plain, {{0}}], [m];", "whose descriptor is no tensor map"),
        (f"mov.u64 rd0, wide; add.u64 rd0, rd0, 32; {LOAD.format(1)} [d], [rd0, {{0}}], [m];", "is aligned to 64"),
        (f"cvta.shared.u64 rd0, d; {LOAD.format(1)} [d], [rd0, {{0}}], [m];", "a tensor map lies in global"),
        ("cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes"
         " [d], [tm, {0, 0, 0, 0}], [m], {0, 0};", "copies in mode im2col, but the map is for tile mode"),
        (f"{SPREAD.format(2)}.multicast::cluster [d], [tm, {{0, 0}}], [m], 2;", "names a rank that the cluster"),
        (f"{LOAD.format(1)} [d], [wide_mm, {{0}}], [m];", "only multimem instructions may access it"),
    ],
)  # fmt: skip
def test_what_is_outside_at_sight(body: str, message: str) -> None:
    assert any(message in line for line in misused(made(body, more=VARIABLES)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{LOAD.format(2)} [d+1024], [tm, {{0, 0}}], [m];", "32 bytes at this address are not inside d"),
        (f"{LOAD.format(1)} [d], [big, {{60}}], [m];", "the box reaches byte 271 of g, which has 256"),
        (f"mov.u64 rd0, plain; add.u64 rd0, rd0, 4; {LOAD.format(1)} [d], [rd0, {{0}}], [m];", "128 bytes at this"),
    ],
)  # fmt: skip
def test_what_is_in_no_variable_is_an_input_error(body: str, message: str) -> None:
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        made(body, more=VARIABLES)
    assert not isinstance(caught.value, UnsupportedError)
    span = caught.value.span
    assert span.source.line(span.line)[span.column - 1 :].startswith("cp.")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"ld.global.b32 r0, [w]; {LOAD.format(2)} [d], [tm, {{0, r0}}], [m];", "coordinates depend on a read"),
        (f"ld.global.b64 rd0, [g]; {LOAD.format(2)} [d], [rd0, {{0, 0}}], [m];", "a tensor map at an address"),
        (f"ld.global.b32 r0, [w]; {LOAD.format(2)} [r0], [tm, {{0, 0}}], [m];", "whose shared address depends on"),
    ],
)
def test_what_is_not_decided(body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        made(body)


def test_misuse_under_a_predicate_is_outside() -> None:
    found = made(f"ld.global.b32 r0, [w]; setp.eq.u32 p0, r0, 0; @p0 {LOAD.format(2)} [d], [tm, {{1, 0}}], [m];")
    (misuse,) = [m for m in found.misuses if "does not allow" in m.rule]
    assert evaluate(misuse.condition, {1: 0}, {}) == 1
    assert evaluate(misuse.condition, {1: 1}, {}) == 0


def test_a_mask_without_any_cta_of_the_cluster() -> None:
    spread = f"{SPREAD.format(2)}.multicast::cluster [d], [tm, {{0, 0}}], [m], 6;"
    found = made(f"ld.global.b32 r0, [w]; setp.eq.u32 p0, r0, 0; @p0 {spread}")
    (misuse,) = [m for m in found.misuses if "mask" in m.rule]
    assert misuse.event == only(found).events[0]
    assert [evaluate(misuse.condition, {1: n}, {}) for n in (0, 1)] == [1, 0]
    assert told(found, only(found)) == [DESCRIPTOR]
