"""Asynchronous instructions with operands that fit nowhere: an answer or an input error, never another exception."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

import memcheck
from memcheck.errors import MemcheckError
from memcheck.language.load import parse_test
from memcheck.source import SourceFile

MEMORY = """
  .global .align 128 .b32 x[64]; .global .align 128 .b32 y[64]; .multimem mm = {x, y}; .global .b32 w;
  .shared .align 1024 .b32 s[1024]; .shared .align 128 .b32 t[64]; .shared .b64 plain;
  .shared .mbarrier m = 1; .shared .mbarrier two[2] = {1, 2};
  .global .tensormap tm = { base = x, type = .u32, dims = {4, 16}, strides = {16}, box = {4, 2} };
  .const .tensormap ct = { base = x, type = .u32, dims = {4, 16}, strides = {16}, box = {4, 2} };
  .param .tensormap floats = { base = x, type = .f32, dims = {16}, box = {16} };
"""
REGISTERS = (
    "mapa.shared::cluster.u32 r0, s, 1; mapa.shared::cluster.u32 r1, m, 1; mov.u32 r2, m; mov.u32 r3, s;"
    " add.u32 r4, r2, 4; mov.u64 rd0, x; mov.u64 rd1, mm; mov.u64 rd2, 3; mov.u64 rd3, tm; mov.u64 rd6, floats;"
    " cvta.shared.u64 rd4, s; mapa.u64 rd5, rd4, 1; mov.u64 rd7, mm; add.u64 rd7, rd7, 8; add.u64 rd8, rd3, 32;"
    " mov.u32 r10, 0; mov.u32 r11, 3; mov.u32 r12, 17; mov.u32 r13, 24; mov.u32 r14, -1; mov.u32 r15, 1048576;"
    " mov.u32 r16, 8; mov.u64 rd10, s; shr.u64 rd10, rd10, 4;"
)
"""What no operand of a program says at sight."""
OPERANDS = {
    "shared": ("s", "s+4", "s+8", "s+4080", "t+16", "plain", "m", "r0", "r2", "r3", "rd4", "rd5"),
    "global": ("x", "x+4", "x+240", "y", "w", "mm", "mm+8", "tm", "rd0", "rd1", "rd2"),
    "multimem": ("mm", "mm", "mm+8", "mm+16", "x", "rd1", "rd7"),
    "mbarrier": ("m", "m", "two", "two+8", "two+4", "s", "plain", "r0", "r1", "r2", "r4"),
    "map": ("tm", "tm", "ct", "floats", "rd0", "rd3", "rd3", "rd4", "rd6", "rd7", "rd8"),
    "number": ("0", "1", "16", "32", "r10", "r11", "r12", "r13", "r14", "r15", "r16"),
    "size": ("0", "16", "32", "r10", "r12", "r13", "r16"),
    "mask": ("0", "1", "2", "3", "7", "r10", "r11", "r14"),
}
COUNTED = "mbarrier::complete_tx::bytes"
TENSOR = "cp.async.bulk.tensor"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {r4, r5, r6, r7}"
FAMILIES = {
    "cp.async": (
        "cp.async.ca.shared::cta.global [shared], [global], 16, number;",
        "cp.async.ca.shared::cta.global [shared], [global], 4;",
        "cp.async.cg.shared::cta.global [shared], [global], 16;",
    ),
    "cp.async.mbarrier": (
        "cp.async.mbarrier.arrive.shared::cta.b64 [mbarrier];",
        "cp.async.mbarrier.arrive.noinc.b64 [mbarrier];",
    ),
    "cp.async.bulk": (
        f"cp.async.bulk.shared::cta.global.{COUNTED} [shared], [global], size, [mbarrier];",
        f"cp.async.bulk.shared::cluster.global.{COUNTED} [shared], [global], size, [mbarrier];",
        f"cp.async.bulk.shared::cluster.global.{COUNTED}.multicast::cluster"
        " [shared], [global], size, [mbarrier], mask;",
        f"cp.async.bulk.shared::cluster.shared::cta.{COUNTED} [shared], [shared], size, [mbarrier];",
        "cp.async.bulk.global.shared::cta.bulk_group [global], [shared], size;",
        "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [global], [shared], size;",
        f"cp.async.bulk.relaxed.gpu.shared::cta.global.{COUNTED}.b128 [shared], [global], size, [mbarrier];",
        "multimem.cp.async.bulk.global.shared::cta.bulk_group [multimem], [shared], size;",
    ),
    "cp.reduce.async.bulk": (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [global], [shared], size;",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [multimem], [shared], size;",
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.{COUNTED}.inc.u32 [shared], [shared], size, [mbarrier];",
    ),
    "st.async": (
        f"st.async.shared::cluster.{COUNTED}.b32 [shared], 1, [mbarrier];",
        f"st.async.shared::cluster.{COUNTED}.v4.b32 [shared], {{1, 2, 3, 4}}, [mbarrier];",
        "st.async.release.gpu.global.b32 [global], 1;",
    ),
    "red.async": (
        f"red.async.relaxed.cluster.shared::cluster.{COUNTED}.inc.u32 [shared], 1, [mbarrier];",
        "red.async.release.gpu.global.add.u32 [global], 1;",
    ),
    "mbarrier": (
        "mbarrier.init.shared::cta.b64 [mbarrier], number;",
        "mbarrier.inval.shared::cta.b64 [mbarrier];",
        "mbarrier.arrive.shared::cta.b64 _, [mbarrier], number;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mbarrier], number;",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [mbarrier], number;",
        "mbarrier.arrive_drop.shared::cta.b64 rd9, [mbarrier], number;",
        "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 rd9, [mbarrier], number;"
        " mbarrier.pending_count.b64 r20, rd9;",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [mbarrier], number;",
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [mbarrier], number;",
        "mbarrier.test_wait.parity.shared::cta.b64 p0, [mbarrier], mask;",
        "mbarrier.test_wait.shared::cta.b64 p0, [mbarrier], rd2;",
        "L: mbarrier.try_wait.parity.shared::cta.b64 p0, [mbarrier], mask; @!p0 bra L;",
        "mbarrier.pending_count.b64 r20, rd2;",
    ),
    "cp.async.bulk.tensor": (
        f"{TENSOR}.2d.shared::cta.global.{COUNTED} [shared], [map, {{number, number}}], [mbarrier];",
        f"{TENSOR}.1d.shared::cta.global.{COUNTED} [shared], [map, {{number}}], [mbarrier];",
        f"{TENSOR}.2d.shared::cluster.global.{COUNTED}.cta_group::2 [shared], [map, {{0, number}}], [mbarrier];",
        f"{TENSOR}.2d.shared::cluster.global.{COUNTED}.multicast::cluster"
        " [shared], [map, {0, number}], [mbarrier], mask;",
        f"{TENSOR}.2d.shared::cluster.global.{COUNTED}.multicast::cluster.cta_group::2"
        " [shared], [map, {0, number}], [mbarrier], mask;",
        f"{TENSOR}.2d.shared::cta.global.tile::gather4.{COUNTED} [shared], [map, {{0, 1, 2, 3, number}}], [mbarrier];",
        f"{TENSOR}.4d.shared::cta.global.im2col.{COUNTED} [shared], [map, {{0, 0, 0, number}}], [mbarrier], {{0, 1}};",
        f"{TENSOR}.2d.global.shared::cta.bulk_group [map, {{number, number}}], [shared];",
        f"{TENSOR}.2d.global.shared::cta.tile::scatter4.bulk_group [map, {{0, 1, 2, 3, number}}], [shared];",
    ),
    "cp.reduce.async.bulk.tensor": (
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.bulk_group [map, {0, number}], [shared];",
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group [map, {number}], [shared];",
    ),
    "tensormap": (
        "tensormap.replace.tile.box_dim.global.b1024.b32 [map], 1, number;",
        "tensormap.replace.tile.rank.b1024.b32 [map], number;",
        "tensormap.replace.tile.global_stride.global.b1024.b64 [global], 4, rd2;",
        "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [shared], 2, number;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [map], [shared], 128;",
    ),
    "try_cancel": (
        f"clusterlaunchcontrol.try_cancel.async.shared::cta.{COUNTED}.b128 [shared], [mbarrier];",
        f"clusterlaunchcontrol.try_cancel.async.shared::cta.{COUNTED}.multicast::cluster::all.b128"
        " [shared], [mbarrier];",
    ),
    "wgmma": (
        f"{WGMMA}, [shared], [shared], 1, 1, 1, 0, 0;",
        f"wgmma.fence.sync.aligned; {WGMMA}, [shared], [shared], 1, 1, 1, 0, 0; mov.u32 r4, 1;",
        f"wgmma.fence.sync.aligned; {WGMMA}, {{r20, r21, r22, r23}}, [shared], 1, 1, 1, 0; add.u32 r20, r20, 1;",
        f"wgmma.fence.sync.aligned; {WGMMA}, rd10, rd10, 1, 1, 1, 0, 0; mov.u32 r4, 1;",
    ),
}
FOLLOWED = (
    "",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    "cp.async.wait_all; ld.shared.b32 r30, [s];",
    "ld.global.b32 r30, [x+4];",
    "W: mbarrier.try_wait.parity.shared::cta.b64 p5, [m], 0; @!p5 bra W;",
)
OTHERS = ("barrier.cluster.arrive; barrier.cluster.wait;", "ld.shared.b32 r0, [s];", "st.global.b32 [w], 1;")
NAME = re.compile(r"(?<![.:\w])(" + "|".join(OPERANDS) + r")(?![.:\w])")


def bodies(family: str, number: int) -> Iterator[str]:
    """As many fillings of every form of a family, half of them under a predicate from a read."""
    for form, index in product(FAMILIES[family], range(number)):
        random = Random(f"{form}{index}")
        filled = NAME.sub(lambda match, random=random: random.choice(OPERANDS[match[1]]), form)
        if index % 4 == 3 and "L:" not in filled:
            parts = [part.strip() for part in filled.split(";") if part.strip()]
            filled = "ld.global.b32 r29, [w]; setp.eq.u32 p7, r29, 0; " + " ".join(f"@p7 {part};" for part in parts)
        yield f"{filled} {random.choice(FOLLOWED)}"


def answer(body: str, other: str) -> str:
    """`outside`, `decided` or `refused`."""
    text = f"PTX made\n{{ {MEMORY} }}\nP0 @ cluster 0, cta 0 {{ {REGISTERS} {body} }}\n"
    text += f"P1 @ cluster 0, cta 1 {{ {other} }}\nexists (w = 0)\n"
    try:
        result = memcheck.check(parse_test(SourceFile("made.litmus", text)))
    except MemcheckError as error:
        return "refused" if str(error).startswith("made.litmus:") else f"refused without its place: {error}"
    assert all(remark.text and remark.text.isprintable() for remark in result.outside)
    return "outside" if result.outside else "decided"


def answers(family: str, number: int) -> set[str]:
    found = {answer(body, OTHERS[i % len(OTHERS)]) for i, body in enumerate(bodies(family, number))}
    assert found <= {"outside", "decided", "refused"}
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_malformed_ends_in_another_exception(family: str) -> None:
    assert answers(family, 10) >= {"outside"}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_malformed_ends_in_another_exception_at_length(family: str) -> None:
    assert answers(family, 150) >= {"outside", "refused"}
