"""Tensor maps in memory: their initial bytes, tensormap.replace field by field, tensormap.cp_fenceproxy."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events.memory import lay_out
from memcheck.events.relations import program_relation
from memcheck.events.structure import Kind, Structure
from memcheck.events.value import evaluate
from memcheck.language.load import parse_test
from memcheck.relations.rows import pairs
from memcheck.source import SourceFile
from memcheck.tensor.descriptor import Atomicity, Fill, Im2col, Interleave, Swizzle, TensorMap, Tile
from memcheck.tensor.element import ElementType
from memcheck.tensor.words import decode, encode
from tests.events.copying import misused, place, structure

MEMORY = (
    ".global .align 32 .b32 g[64]; .global .tensormap tm = { base = g, type = .f32, dims = {5, 7, 9},"
    " strides = {32, 256}, box = {4, 3, 2} }; .shared .align 128 .b64 c[16];"
    " .global .tensormap im = { base = g, type = .u8, dims = {16, 3, 2, 1}, strides = {16, 48, 96},"
    " lower = {-1, -1}, upper = {-1, -1}, channels = 16, pixels = 6, interleave = none };"
)


def made(*threads: str, more: str = "", **rest: object) -> Structure:
    return structure(*threads, more=MEMORY + more, **rest)  # type: ignore[arg-type]


def described(base: int) -> TensorMap:
    return TensorMap(
        base=base,
        element=ElementType.F32,
        dims=(5, 7, 9),
        strides=(32, 256),
        mode=Tile((4, 3, 2)),
        element_strides=(1, 1, 1),
    )


def initial(found: Structure, name: str) -> int:
    return found.memory.initial_value(found.memory.instance(name).base, 128)


# --- initial bytes


def test_bytes_of_declared_maps():
    found = made("")
    base = found.memory.instance("g").base
    assert initial(found, "tm").to_bytes(128, "little") == encode(described(base))
    images = decode(initial(found, "im").to_bytes(128, "little"))
    assert images.mode == Im2col((-1, -1), (-1, -1), 16, 6)
    assert (images.base, images.dims, images.element) == (base, (16, 3, 2, 1), ElementType.U8)


@pytest.mark.parametrize("space", [".const", ".param", ".global .align 64"])
def test_maps_lie_where_they_are_declared_and_before_their_tensor_too(space):
    text = (
        f"PTX T {{ {space} .tensormap tm = {{ base = g, type = .bf16, dims = {{64}}, strides = {{}}, box = {{64}},"
        f" swizzle = 128, fill = nan }}; .global .b16 g[64] }} P0 {{ }}"
    )
    memory = lay_out(parse_test(SourceFile("t.litmus", text)))
    region, base = memory.instance("tm"), memory.instance("g").base
    assert region.space.value == space.split()[0][1:]
    map = decode(memory.initial_value(region.physical, 128).to_bytes(128, "little"))
    assert (map.base, map.swizzle, map.fill, map.element) == (base, Swizzle.B128, Fill.NAN, ElementType.BF16)
    assert base % 16 == 0


# --- tensormap.replace


def replaced(field: str, operands: str, name: str = "tm", before: int | None = None) -> tuple[Structure, TensorMap]:
    """The map after a replace of a declared one (or of the bytes `before`)."""
    width = "b64" if field in ("global_address", "global_stride") else "b32"
    found = made(f"tensormap.replace.tile.{field}.global.b1024.{width} [{name}], {operands};")
    read, write = found.events[1:3]
    assert write.value is not None
    number = evaluate(write.value, {read.index: initial(found, name) if before is None else before}, {})
    return found, decode(number.to_bytes(128, "little"))


@pytest.mark.parametrize(
    ("field", "operands", "changed"),
    [
        ("rank", "1", {"dims": (5, 7), "strides": (32,), "mode": Tile((4, 3)), "element_strides": (1, 1)}),
        ("box_dim", "0, 256", {"mode": Tile((256, 3, 2))}),
        ("box_dim", "2, 7", {"mode": Tile((4, 3, 7))}),
        ("global_dim", "0, 4096", {"dims": (4096, 7, 9)}),
        ("global_dim", "2, 1", {"dims": (5, 7, 1)}),
        ("global_stride", "0, 1099511627760", {"strides": ((1 << 40) - 16, 256)}),
        ("global_stride", "1, 48", {"strides": (32, 48)}),
        ("element_stride", "1, 8", {"element_strides": (1, 8, 1)}),
        ("elemtype", "0", {"element": ElementType.U8}),
        ("elemtype", "11", {"element": ElementType.TF32}),
        ("elemtype", "12", {"element": ElementType.TF32_FTZ}),
        ("interleave_layout", "2", {"interleave": Interleave.B32}),
        ("swizzle_mode", "3", {"swizzle": Swizzle.B128}),
        ("swizzle_atomicity", "2", {"atomicity": Atomicity.B32_FLIP_8B}),
        ("fill_mode", "1", {"fill": Fill.NAN}),
    ],
)
def test_a_field_is_changed_and_no_other(field, operands, changed):
    found, map = replaced(field, operands)
    assert map == replace(described(found.memory.instance("g").base), **changed)
    assert found.misuses == tuple(m for m in found.misuses if "im2col" in m.rule)


def test_a_field_takes_the_place_of_what_was_there():
    base = made("").memory.instance("g").base
    swizzled = replace(described(base), swizzle=Swizzle.B96, element=ElementType.TF32, fill=Fill.NAN)
    before = int.from_bytes(encode(swizzled), "little")
    assert replaced("swizzle_mode", "1", before=before)[1] == replace(swizzled, swizzle=Swizzle.B32)
    assert replaced("elemtype", "2", before=before)[1] == replace(swizzled, element=ElementType.U32)


def test_replace_reads_and_writes_the_whole_map():
    found = made("mov.u64 rd0, g; tensormap.replace.tile.global_address.global.b1024.b64 [tm], rd0; st.b32 [w], 1;")
    read, write, store = found.events[1:]
    assert [e.kind for e in (read, write)] == [Kind.READ, Kind.WRITE]
    assert [place(found, e) for e in (read, write)] == ["tm+0:128"] * 2
    assert read.tags - {"R"} == write.tags - {"W"} == {"_", "M", "WEAK", "GEN"}
    assert write.rmw is None
    assert {(1, 2), (2, 3), (1, 3)} <= set(pairs(program_relation(found, "po")))
    assert found.data_sources[2] == frozenset((1,))
    assert store.index == 3


def test_the_address_of_a_register_and_shared_maps():
    found = made("tensormap.replace.tile.rank.shared::cta.b1024.b32 [c], 1;")
    assert [place(found, e) for e in found.events[1:]] == ["c+0:128 @0"] * 2
    found = made("mov.u64 rd0, tm; ld.global.b32 r0, [w]; tensormap.replace.tile.box_dim.b1024.b32 [rd0], 1, r0;")
    (out_of_range,) = [m for m in found.misuses if "cannot hold" in m.rule]
    outside = [evaluate(out_of_range.condition, {1: n}, {}) for n in (0, 1, 256, 257)]
    assert outside == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("tensormap.replace.tile.box_dim.global.b1024.b32 [tm], 0, 257;", "box_dim of a tensor map is from 1 to 256"),
        ("tensormap.replace.tile.element_stride.global.b1024.b32 [tm], 0, 0;", "element_stride of a tensor map is"),
        ("tensormap.replace.tile.global_stride.global.b1024.b64 [tm], 0, 24;", "in steps of 16"),
        ("tensormap.replace.tile.global_stride.global.b1024.b64 [tm], 4, 16;", "has 4 strides: 0 to 3"),
        ("tensormap.replace.tile.rank.global.b1024.b32 [g], 1;", "is not aligned to 128 bytes"),
        ("mov.u32 r0, 7; tensormap.replace.tile.rank.global.b1024.b32 [tm], r0;", "tensor map is from 0 to 4"),
    ],
)  # fmt: skip
def test_what_is_outside_at_sight(body, message):
    assert any(message in line for line in misused(made(body)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mov.u64 rd0, p; tensormap.replace.tile.rank.b1024.b32 [rd0], 1;", "p is in param memory"),
        ("tensormap.replace.tile.rank.global.b1024.b32 [w], 1;", "128 bytes at this address are not inside w"),
        ("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [tm], [s], 128;",
         "128 bytes at this address are not inside s"),
        ("fence.proxy.tensormap::generic.acquire.gpu [p], 128;", "inside a global variable"),
    ],
)  # fmt: skip
def test_what_is_wrong_at_sight(body, message):
    more = ".param .tensormap p = { base = g, type = .u32, dims = {8}, strides = {}, box = {4} };"
    with pytest.raises(SourceError, match=re.escape(message)) as caught:
        made(body, more=more)
    assert not isinstance(caught.value, UnsupportedError)


def test_maps_for_im2col_are_not_for_tile():
    found, _ = replaced("fill_mode", "1")
    (misuse,) = found.misuses
    assert misuse.rule == "undefined-behaviour: tensormap.replace.tile of a tensor map for im2col"
    numbers = (initial(found, "tm"), initial(found, "im"))
    assert [evaluate(misuse.condition, {1: number}, {}) for number in numbers] == [0, 1]


def test_parts_of_bytes_are_not_decided():
    with pytest.raises(UnsupportedError, match="parts of bytes"):
        made("tensormap.replace.tile.elemtype.global.b1024.b32 [tm], 13;")


# --- tensormap.cp_fenceproxy

COPY = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [tm], [c], 128;"


def test_a_copy_is_a_read_a_write_and_a_release_to_the_proxy():
    found = made(f"st.b32 [w], 1; {COPY}")
    _, read, write, fence = found.events[1:]
    assert [place(found, e) for e in (read, write)] == ["c+0:128 @0", "tm+0:128"]
    assert write.value is read.value
    assert read.tags - {"R"} == write.tags - {"W"} == {"_", "M", "WEAK", "GEN"}
    assert fence.tags == {"_", "F", "PROXY_FENCE", "TMAP", "PROXY_REL", "GPU"}
    assert fence.address is None
    assert set(pairs(program_relation(found, "po"))) == {(a, b) for a in range(1, 5) for b in range(a + 1, 5)}
    assert found.data_sources[write.index] == frozenset((read.index,))
    assert found.operations == ()


def test_one_thread_stands_for_its_warp():
    with pytest.raises(UnsupportedError, match="executed by a whole warp"):
        made(COPY, "", places=("cta 0, warp 0, lane 0", "cta 0, warp 0, lane 1"))
    assert made(COPY, "", places=("cta 0, warp 0", "cta 0, warp 1")).events[1:]
