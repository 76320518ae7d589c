"""Register instructions on numbers, against values worked out by hand from ISA 9.7.1 ff."""

from __future__ import annotations

import pytest

from memcheck.language.load import parse_test
from memcheck.machine import simulate
from memcheck.machine.arithmetic import atomic, compare, resized
from memcheck.ptx.instructions import AtomOp, Nop
from memcheck.ptx.types import TYPES
from memcheck.source import SourceFile, Span

NOWHERE = Nop(text="", span=Span(SourceFile("none", ""), 1, 1))
ONES = 0xFFFFFFFF

RESULTS = [
    ("add.u32 r0, 4294967295, 2;", 1),
    ("sub.s32 r0, 1, 2;", ONES),
    ("mul.lo.s32 r0, -3, 5;", (-15) & ONES),
    ("mul.hi.u32 r0, 0x80000000, 4;", 2),
    ("mul.hi.s32 r0, -1, 1;", ONES),
    ("mad.lo.u32 r0, 3, 4, 5;", 17),
    ("div.s32 r0, -7, 2;", (-3) & ONES),
    ("div.u32 r0, 7, 0;", ONES),
    ("rem.s32 r0, -7, 2;", (-1) & ONES),
    ("rem.u32 r0, 7, 0;", 7),
    ("neg.s32 r0, 5;", (-5) & ONES),
    ("abs.s32 r0, -5;", 5),
    ("min.s32 r0, -1, 1;", ONES),
    ("min.u32 r0, -1, 1;", 1),
    ("max.s32 r0, -1, 1;", 1),
    ("and.b32 r0, 12, 10;", 8),
    ("or.b32 r0, 12, 10;", 14),
    ("xor.b32 r0, 12, 10;", 6),
    ("not.b32 r0, 0;", ONES),
    ("shl.b32 r0, 1, 31;", 1 << 31),
    ("shl.b32 r0, 1, 32;", 0),
    ("shr.u32 r0, 0x80000000, 31;", 1),
    ("shr.s32 r0, 0x80000000, 40;", ONES),
    ("popc.b32 r0, 0xf0f;", 8),
    ("clz.b32 r0, 0xff;", 24),
    ("brev.b32 r0, 1;", 1 << 31),
    ("bfe.u32 r0, 0xabcd, 4, 8;", 0xBC),
    ("bfe.s32 r0, 0xabcd, 4, 8;", 0xFFFFFFBC),
    ("bfe.s32 r0, 0x80000000, 28, 8;", 0xFFFFFFF8),
    ("selp.u32 r0, 3, 4, p0;", 4),
    ("cvt.s32.s8 r0, rs0;", 0xFFFFFF80),
    ("cvt.u32.u8 r0, rs0;", 0x80),
]


@pytest.mark.parametrize(("instruction", "value"), RESULTS)
def test_instruction(instruction, value):
    text = f"PTX one {{ P0:rs0 = 0x80; }} P0 @ cta 0 {{ {instruction} }} exists (P0:r0 = 0)"
    result = simulate(parse_test(SourceFile("one", text)))
    assert result.states == {(value,)}


def test_comparisons_follow_the_sign():
    assert compare("lt", ONES, 0, 32, True)
    assert not compare("lt", ONES, 0, 32, False)
    assert not compare("lo", ONES, 0, 32, True)
    assert compare("hs", ONES, 0, 32, True)


def test_resized():
    assert resized(0x80, 8, 16, True) == 0xFF80
    assert resized(0x80, 8, 16, False) == 0x80
    assert resized(0x1234, 16, 8, True) == 0x34


@pytest.mark.parametrize(
    ("op", "type", "old", "operands", "new"),
    [
        (AtomOp.ADD, "u32", ONES, (2,), 1),
        (AtomOp.INC, "u32", 2, (2,), 0),
        (AtomOp.INC, "u32", 1, (2,), 2),
        (AtomOp.DEC, "u32", 0, (2,), 2),
        (AtomOp.DEC, "u32", 3, (2,), 2),
        (AtomOp.DEC, "u32", 2, (2,), 1),
        (AtomOp.MIN, "s32", ONES, (1,), ONES),
        (AtomOp.MAX, "u32", ONES, (1,), ONES),
        (AtomOp.EXCH, "b32", 1, (7,), 7),
        (AtomOp.CAS, "b32", 1, (1, 9), 9),
        (AtomOp.CAS, "b32", 2, (1, 9), None),
        (AtomOp.ADD, "f32", 0x3F800000, (0x40000000,), 0x40400000),
    ],
)
def test_atomic(op, type, old, operands, new):
    assert atomic(op, old, operands, TYPES[type], NOWHERE) == new
