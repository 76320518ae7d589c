"""Register instructions against Python's integers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.errors import UnsupportedError
from memcheck.events import arithmetic
from memcheck.events.value import Values, evaluate
from memcheck.ptx.instructions import AtomOp
from memcheck.ptx.types import TYPES
from tests.events.building import op as instruction

SHOWN = instruction("add", "r0", 1, 2)
WIDTHS = st.sampled_from((16, 32, 64))


def signed(n: int, width: int) -> int:
    n %= 1 << width
    return n - (1 << width) if n >> (width - 1) else n


def numbers(width: int) -> st.SearchStrategy[int]:
    edges = st.sampled_from((0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1))
    return edges | st.integers(0, (1 << width) - 1)


def run(name: str, type: str, *operands: tuple[int, int]) -> int:
    """The result with constants, checked to be what the same expression gives with reads."""
    values = Values()
    constants = [values.const(n, w) for n, w in operands]
    folded = arithmetic.compute(values, name, TYPES[type], constants, SHOWN)
    assert folded.is_const
    reads = [values.read(i, w) for i, (_, w) in enumerate(operands)]
    symbolic = arithmetic.compute(values, name, TYPES[type], reads, SHOWN)
    assert evaluate(symbolic, {i: n for i, (n, _) in enumerate(operands)}, {}) == folded.payload
    return folded.payload


def divide(a: int, b: int) -> int:
    """Division that rounds towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


@settings(max_examples=40, deadline=None)
@given(WIDTHS.flatmap(lambda w: st.tuples(st.just(w), numbers(w), numbers(w))), st.booleans())
def test_two_operands(case, is_signed):
    width, a, b = case
    type = f"{'s' if is_signed else 'u'}{width}"
    x, y = (signed(a, width), signed(b, width)) if is_signed else (a, b)
    expected = {
        "add": x + y,
        "sub": x - y,
        "mul.lo": x * y,
        "mul.hi": x * y >> width,
        "and": a & b,
        "or": a | b,
        "xor": a ^ b,
        "min": min(x, y),
        "max": max(x, y),
    }
    if y:
        expected["div"] = divide(x, y)
        expected["rem"] = x - y * divide(x, y)
    for name, number in expected.items():
        assert run(name, type, (a, width), (b, width)) == number % (1 << width), name
    assert run("mul.wide", type, (a, width), (b, width)) == x * y % (1 << 2 * width)


@settings(max_examples=40, deadline=None)
@given(WIDTHS.flatmap(lambda w: st.tuples(st.just(w), numbers(w), numbers(w), numbers(w))))
def test_three_operands(case):
    width, a, b, c = case
    x, y, z = signed(a, width), signed(b, width), signed(c, width)
    type = f"s{width}"
    assert run("mad.lo", type, (a, width), (b, width), (c, width)) == (x * y + z) % (1 << width)
    assert run("mad.hi", type, (a, width), (b, width), (c, width)) == ((x * y >> width) + z) % (1 << width)
    assert run("mad.wide", type, (a, width), (b, width), (c, 2 * width)) == (x * y + c) % (1 << 2 * width)
    assert run("selp", type, (a, width), (b, width), (c & 1, 1)) == (a if c & 1 else b)


@settings(max_examples=40, deadline=None)
@given(WIDTHS.flatmap(lambda w: st.tuples(st.just(w), numbers(w))))
def test_one_operand(case):
    width, a = case
    type = f"s{width}"
    assert run("neg", type, (a, width)) == -a % (1 << width)
    assert run("abs", type, (a, width)) == abs(signed(a, width)) % (1 << width)
    assert run("not", type, (a, width)) == ~a % (1 << width)
    assert run("popc", type, (a, width)) == a.bit_count()
    assert run("clz", type, (a, width)) == width - a.bit_length()
    assert run("brev", type, (a, width)) == int(f"{a:0{width}b}"[::-1], 2)


@settings(max_examples=40, deadline=None)
@given(WIDTHS.flatmap(lambda w: st.tuples(st.just(w), numbers(w))), st.integers(0, 70) | numbers(32))
def test_shifts_past_the_width_give_nothing_or_the_sign(case, amount):
    width, a = case
    assert run("shl", f"b{width}", (a, width), (amount, 32)) == (a << min(amount, width)) % (1 << width)
    assert run("shr", f"u{width}", (a, width), (amount, 32)) == a >> min(amount, width)
    assert run("shr", f"s{width}", (a, width), (amount, 32)) == (signed(a, width) >> min(amount, width)) % (1 << width)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from((32, 64)).flatmap(lambda w: st.tuples(st.just(w), numbers(w))), numbers(32), numbers(32))
def test_bit_fields(case, position, length):
    width, a = case
    start, size = position & 255, length & 255
    field = a >> start & ((1 << size) - 1)
    assert run("bfe", f"u{width}", (a, width), (position, 32), (length, 32)) == field
    # the page's own words: bits past the end repeat the sign, which is the bit at min(pos + len - 1, msb)
    sign = 0 if size == 0 else a >> min(start + size - 1, width - 1) & 1
    expected = 0
    for i in range(width):
        bit = a >> (start + i) & 1 if i < size and start + i < width else sign
        expected |= bit << i
    assert run("bfe", f"s{width}", (a, width), (position, 32), (length, 32)) == expected


@settings(max_examples=40, deadline=None)
@given(WIDTHS.flatmap(lambda w: st.tuples(st.just(w), numbers(w), numbers(w))))
def test_comparisons(case):
    width, a, b = case
    values = Values()
    x, y = values.const(a, width), values.const(b, width)
    s, t = signed(a, width), signed(b, width)
    for is_signed, (m, n) in ((False, (a, b)), (True, (s, t))):
        for name, truth in {"eq": m == n, "ne": m != n, "lt": m < n, "le": m <= n, "gt": m > n, "ge": m >= n}.items():
            assert arithmetic.compare(values, name, x, y, is_signed).payload == truth
    for name, truth in {"lo": a < b, "ls": a <= b, "hi": a > b, "hs": a >= b}.items():
        assert arithmetic.compare(values, name, x, y, True).payload == truth


@settings(max_examples=40, deadline=None)
@given(numbers(32), numbers(32), numbers(32))
def test_atomics(old, b, c):
    values = Values()
    expected = {
        AtomOp.ADD: old + b,
        AtomOp.SUB: old - b,
        AtomOp.INC: 0 if old >= b else old + 1,
        AtomOp.DEC: b if old == 0 or old > b else old - 1,
        AtomOp.MIN: min(old, b),
        AtomOp.MAX: max(old, b),
        AtomOp.AND: old & b,
        AtomOp.OR: old | b,
        AtomOp.XOR: old ^ b,
        AtomOp.EXCH: b,
        AtomOp.CAS: c,
    }
    operands = [values.const(b, 32), values.const(c, 32)]
    for operation, number in expected.items():
        value, writes = arithmetic.atomic(values, operation, values.const(old, 32), operands, TYPES["u32"], SHOWN)
        assert value.payload == number % (1 << 32), operation
        assert writes.payload == (operation is not AtomOp.CAS or old == b)


@settings(max_examples=40, deadline=None)
@given(st.floats(width=16, allow_nan=False), st.floats(width=16, allow_nan=False))
def test_packed_float_addition_is_by_lane(x, y):
    values = Values()
    a = int.from_bytes(struct.pack("<ee", x, y), "little")
    zero_one = int.from_bytes(struct.pack("<ee", 0.0, 1.0), "little")
    total = arithmetic.compute(
        values, "add", TYPES["f16x2"], [values.const(a, 32), values.const(zero_one, 32)], SHOWN
    ).payload
    low, high = struct.unpack("<ee", total.to_bytes(4, "little"))
    try:
        expected = struct.unpack("<e", struct.pack("<e", y + 1.0))[0]
    except OverflowError:
        expected = float("inf")
    assert (low, high) == (x, expected)


def test_what_floats_cannot_do_yet_is_named():
    values = Values()
    one = values.const(1, 32)
    with pytest.raises(UnsupportedError, match=r"mul\.lo of f32"):
        arithmetic.compute(values, "mul.lo", TYPES["f32"], [one, one], SHOWN)
