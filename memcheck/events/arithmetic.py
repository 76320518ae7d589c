"""What register instructions compute (ISA 9.7.1 ff), as values.

Operands come at the width of the instruction's type. Division by zero gives what PTX leaves unspecified: all ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.errors import UnsupportedError
from memcheck.events.value import Value, Values
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.types import ScalarType, TypeClass

_SIMPLE = {"sub": "sub", "and": "and", "or": "or", "xor": "xor"}
_FLOAT_ADD = {"f16": "fadd16", "f32": "fadd32", "f64": "fadd64", "f16x2": "fadd16"}


def unsupported(instruction: Instruction, what: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported yet: {instruction.text}", instruction.span)


def by_lane(values: Values, value: Value, lanes: int) -> list[Value]:
    """The elements of a packed value, lowest first."""
    width = value.width // lanes
    return [values.extract(value, i * width, width) for i in range(lanes)]


def packed(values: Values, lanes: Sequence[Value]) -> Value:
    """The packed value of elements given lowest first."""
    result = lanes[0]
    for lane in lanes[1:]:
        result = values.concat(lane, result)
    return result


def add(values: Values, a: Value, b: Value, type: ScalarType, instruction: Instruction) -> Value:
    """Sum of two elements of `type`."""
    if type.cls is TypeClass.FLOAT:
        operation = _FLOAT_ADD.get(type.name)
        if operation is None:
            raise unsupported(instruction, f"addition of {type.name}")
        return values.binary(operation, a, b)
    return values.binary("add", a, b)


def extremum(values: Values, a: Value, b: Value, type: ScalarType, instruction: Instruction, largest: bool) -> Value:
    """min or max of integers."""
    if type.cls is TypeClass.FLOAT:
        raise unsupported(instruction, f"min and max of {type.name}")
    less = values.binary("slt" if type.signed else "ult", a, b)
    return values.ite(less, b, a) if largest else values.ite(less, a, b)


def compare(values: Values, op: str, a: Value, b: Value, signed: bool) -> Value:
    """A PTX comparison: eq ne lt le gt ge by the sign of the type, lo ls hi hs unsigned."""
    if op in ("lo", "ls", "hi", "hs"):
        op, signed = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[op], False
    if op in ("eq", "ne"):
        equal = values.binary("eq", a, b)
        return equal if op == "eq" else values.negate(equal)
    less = "slt" if signed else "ult"
    if op == "lt":
        return values.binary(less, a, b)
    if op == "gt":
        return values.binary(less, b, a)
    if op == "ge":
        return values.negate(values.binary(less, a, b))
    if op == "le":
        return values.negate(values.binary(less, b, a))
    raise ValueError(f"no comparison {op}")


def atomic(
    values: Values, op: AtomOp, old: Value, operands: Sequence[Value], type: ScalarType, instruction: Instruction
) -> tuple[Value, Value]:
    """What an atomic writes to one element, and the condition under which it writes (ISA 9.7.15.5)."""
    b = operands[0]
    zero, one = values.const(0, old.width), values.const(1, old.width)
    always = values.true
    if op is AtomOp.ADD:
        return add(values, old, b, type, instruction), always
    if op is AtomOp.SUB:
        return values.binary("sub", old, b), always
    if op is AtomOp.INC:
        below = values.binary("ult", old, b)
        return values.ite(below, values.binary("add", old, one), zero), always
    if op is AtomOp.DEC:
        wraps = values.either(values.binary("eq", old, zero), values.binary("ult", b, old))
        return values.ite(wraps, b, values.binary("sub", old, one)), always
    if op in (AtomOp.MIN, AtomOp.MAX):
        return extremum(values, old, b, type, instruction, op is AtomOp.MAX), always
    if op is AtomOp.EXCH:
        return b, always
    if op is AtomOp.CAS:
        return operands[1], values.binary("eq", old, b)
    return values.binary(op.value, old, b), always


def _multiply(values: Values, part: str, a: Value, b: Value, signed: bool) -> Value:
    width = a.width
    if part == "lo":
        return values.binary("mul", a, b)
    stretch = values.sext if signed else values.zext
    product = values.binary("mul", stretch(a, 2 * width), stretch(b, 2 * width))
    return product if part == "wide" else values.extract(product, width, width)


def shift_amount(values: Values, amount: Value, width: int) -> Value:
    """A 32-bit amount as `width` bits, with every amount of `width` or more kept past the width."""
    if width >= 32:
        return values.zext(amount, width)
    large = values.binary("ult", values.const(width - 1, 32), amount)
    return values.ite(large, values.const(width, width), values.extract(amount, 0, width))


def _population(values: Values, a: Value) -> Value:
    result = values.const(0, 32)
    for i in range(a.width):
        result = values.binary("add", result, values.zext(values.extract(a, i, 1), 32))
    return result


def _leading_zeros(values: Values, a: Value) -> Value:
    result = values.const(a.width, 32)
    for i in range(a.width):
        result = values.ite(values.extract(a, i, 1), values.const(a.width - 1 - i, 32), result)
    return result


def _field(values: Values, a: Value, position: Value, length: Value, signed: bool) -> Value:
    """bfe: `length` bits of `a` from `position`, both taken modulo 256; signed fields repeat their highest bit."""
    width = a.width
    low = values.binary("and", position, values.const(255, 32))
    count = values.binary("and", length, values.const(255, 32))
    start, size = shift_amount(values, low, width), shift_amount(values, count, width)
    one = values.const(1, width)
    mask = values.binary("sub", values.binary("shl", one, size), one)
    field = values.binary("and", values.binary("lshr", a, start), mask)
    if not signed:
        return field
    last = values.const(width - 1, 32)
    top = values.binary("sub", values.binary("add", low, count), values.const(1, 32))
    top = values.ite(values.binary("ult", last, top), last, top)
    sign = values.extract(values.binary("lshr", a, shift_amount(values, top, width)), 0, 1)
    empty = values.binary("eq", count, values.const(0, 32))
    fill = values.both(sign, values.negate(empty))
    ones = values.const((1 << width) - 1, width)
    taken = values.binary("and", mask, values.binary("lshr", ones, start))
    return values.ite(fill, values.binary("or", field, values.binary("xor", taken, ones)), field)


def compute(values: Values, op: str, type: ScalarType, sources: Sequence[Value], instruction: Instruction) -> Value:
    """The result of an integer or bit instruction but setp, set, cvt and address conversions.

    Sources at the width of the type (32 for shift amounts and bfe's positions, 1 for a predicate), in PTX order.
    """
    if type.lanes > 1:
        lane = ScalarType(type.name, type.cls, type.bits)
        parts = [by_lane(values, source, type.lanes) for source in sources]
        return packed(
            values, [compute(values, op, lane, [p[i] for p in parts], instruction) for i in range(type.lanes)]
        )
    a = sources[0]
    if op in ("mov", "nop"):
        return a
    if op == "selp":
        return values.ite(sources[2], sources[0], sources[1])
    if op == "add":
        return add(values, a, sources[1], type, instruction)
    if type.cls is TypeClass.FLOAT:
        raise unsupported(instruction, f"{op} of {type.name}")
    if op in _SIMPLE:
        return values.binary(_SIMPLE[op], a, sources[1])
    if op in ("min", "max"):
        return extremum(values, a, sources[1], type, instruction, op == "max")
    base, _, part = op.partition(".")
    if base == "mul":
        return _multiply(values, part or "lo", a, sources[1], type.signed)
    if base == "mad":
        return values.binary("add", _multiply(values, part or "lo", a, sources[1], type.signed), sources[2])
    if op in ("div", "rem"):
        return values.binary(("s" if type.signed else "u") + op, a, sources[1])
    if op == "neg":
        return values.binary("sub", values.const(0, a.width), a)
    if op == "abs":
        negative = values.binary("slt", a, values.const(0, a.width))
        return values.ite(negative, values.binary("sub", values.const(0, a.width), a), a)
    if op == "not":
        return values.binary("xor", a, values.const((1 << a.width) - 1, a.width))
    if op == "shl":
        return values.binary("shl", a, shift_amount(values, sources[1], a.width))
    if op == "shr":
        return values.binary("ashr" if type.signed else "lshr", a, shift_amount(values, sources[1], a.width))
    if op == "popc":
        return _population(values, a)
    if op == "clz":
        return _leading_zeros(values, a)
    if op == "brev":
        return packed(values, [values.extract(a, a.width - 1 - i, 1) for i in range(a.width)])
    if op == "bfe":
        return _field(values, a, sources[1], sources[2], type.signed)
    raise unsupported(instruction, op)


def combine(values: Values, word: str, a: Value, b: Value) -> Value:
    """The boolean operator of setp.OP.and|or|xor."""
    return values.binary(word, a, b)
