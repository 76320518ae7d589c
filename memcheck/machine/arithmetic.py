"""What register instructions and atomics compute, on numbers (ISA 9.7.1 ff, 9.7.15.5).

Operands are unsigned numbers of the width of the instruction's type. PTX leaves division by zero open: all ones here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from memcheck.errors import UnsupportedError
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.types import ScalarType, TypeClass

_FLOATS = {"f16": "<e", "f16x2": "<e", "f32": "<f", "f64": "<d"}


def unsupported(instruction: Instruction, what: str) -> UnsupportedError:
    """What PTX has and the machine does not."""
    return UnsupportedError(f"{what} is not supported yet by the machine: {instruction.text}", instruction.span)


def signed(value: int, width: int) -> int:
    """A two's complement number of `width` bits."""
    return value - (1 << width) if value >> (width - 1) else value


def resized(value: int, width: int, new: int, with_sign: bool) -> int:
    """A number of `width` bits cut or extended to `new` bits."""
    if new > width and with_sign:
        return signed(value, width) & (1 << new) - 1
    return value & (1 << new) - 1


def by_lane(value: int, bits: int, lanes: int) -> list[int]:
    """The elements of a packed value, lowest first."""
    return [value >> i * bits & (1 << bits) - 1 for i in range(lanes)]


def packed(lanes: Sequence[int], bits: int) -> int:
    """The packed value of elements given lowest first."""
    return sum(lane << i * bits for i, lane in enumerate(lanes))


def _float_sum(code: str, a: int, b: int) -> int:
    size = struct.calcsize(code)
    x, y = (struct.unpack(code, n.to_bytes(size, "little"))[0] for n in (a, b))
    try:
        return int.from_bytes(struct.pack(code, x + y), "little")
    except OverflowError:
        return int.from_bytes(struct.pack(code, float("inf") if x + y > 0 else float("-inf")), "little")


def add(a: int, b: int, type: ScalarType, instruction: Instruction) -> int:
    """Sum of two elements of `type`."""
    if type.cls is not TypeClass.FLOAT:
        return a + b & (1 << type.bits) - 1
    code = _FLOATS.get(type.name)
    if code is None:
        raise unsupported(instruction, f"addition of {type.name}")
    return _float_sum(code, a, b)


def extremum(a: int, b: int, type: ScalarType, instruction: Instruction, largest: bool) -> int:
    """min or max of integers."""
    if type.cls is TypeClass.FLOAT:
        raise unsupported(instruction, f"min and max of {type.name}")
    x, y = (signed(a, type.bits), signed(b, type.bits)) if type.signed else (a, b)
    return (b if largest else a) if x < y else (a if largest else b)


def compare(op: str, a: int, b: int, width: int, with_sign: bool) -> bool:
    """A PTX comparison: eq ne lt le gt ge by the sign of the type, lo ls hi hs unsigned."""
    if with_sign and op not in ("lo", "ls", "hi", "hs"):
        a, b = signed(a, width), signed(b, width)
    match op:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "lt" | "lo":
            return a < b
        case "le" | "ls":
            return a <= b
        case "gt" | "hi":
            return a > b
        case _:
            return a >= b


def atomic(op: AtomOp, old: int, operands: Sequence[int], type: ScalarType, instruction: Instruction) -> int | None:
    """What an atomic writes to one element; None where a cas fails."""
    b, ones = operands[0], (1 << type.bits) - 1
    match op:
        case AtomOp.ADD:
            return add(old, b, type, instruction)
        case AtomOp.SUB:
            return old - b & ones
        case AtomOp.INC:
            return old + 1 if old < b else 0
        case AtomOp.DEC:
            return b if old == 0 or old > b else old - 1
        case AtomOp.MIN | AtomOp.MAX:
            return extremum(old, b, type, instruction, op is AtomOp.MAX)
        case AtomOp.AND:
            return old & b
        case AtomOp.OR:
            return old | b
        case AtomOp.XOR:
            return old ^ b
        case AtomOp.EXCH:
            return b
        case AtomOp.CAS:
            return operands[1] if old == b else None


def _product(part: str, a: int, b: int, width: int, with_sign: bool) -> int:
    if with_sign:
        a, b = signed(a, width), signed(b, width)
    product = a * b
    if part == "hi":
        product >>= width
    return product & (1 << (2 * width if part == "wide" else width)) - 1


def _quotient(a: int, b: int, width: int, with_sign: bool, rest: bool) -> int:
    ones = (1 << width) - 1
    if b == 0:
        if rest:
            return a
        return 1 if with_sign and signed(a, width) < 0 else ones
    x, y = (signed(a, width), signed(b, width)) if with_sign else (a, b)
    quotient = abs(x) // abs(y)
    remainder = abs(x) - quotient * abs(y)
    if rest:
        return (-remainder if x < 0 else remainder) & ones
    return (quotient if (x < 0) == (y < 0) else -quotient) & ones


def _field(a: int, position: int, length: int, width: int, with_sign: bool) -> int:
    low, size = position & 255, length & 255
    field = (a >> low if low < width else 0) & (1 << size) - 1
    if not with_sign or size == 0:
        return field
    top = min(low + size - 1, width - 1)
    if not a >> top & 1:
        return field
    taken = max(0, min(size, width - low))
    return (field | ~((1 << taken) - 1)) & (1 << width) - 1


_BITWISE: dict[str, Callable[[int, int], int]] = {
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def compute(op: str, type: ScalarType, sources: Sequence[int], instruction: Instruction) -> int:
    """The result of an integer or bit instruction, of the width of its type (of twice that for .wide)."""
    if type.lanes > 1:
        lane = ScalarType(type.name, type.cls, type.bits)
        parts = [by_lane(source, type.bits, type.lanes) for source in sources]
        return packed([compute(op, lane, [p[i] for p in parts], instruction) for i in range(type.lanes)], type.bits)
    a, width, ones = sources[0], type.bits, (1 << type.bits) - 1
    if op in ("mov", "nop"):
        return a
    if op == "selp":
        return sources[0] if sources[2] else sources[1]
    if op == "add":
        return add(a, sources[1], type, instruction)
    if type.cls is TypeClass.FLOAT:
        raise unsupported(instruction, f"{op} of {type.name}")
    if op in _BITWISE:
        return _BITWISE[op](a, sources[1]) & ones
    if op in ("min", "max"):
        return extremum(a, sources[1], type, instruction, op == "max")
    base, _, part = op.partition(".")
    if base == "mul":
        return _product(part or "lo", a, sources[1], width, type.signed)
    if base == "mad":
        wide = (1 << 2 * width) - 1 if part == "wide" else ones
        return _product(part or "lo", a, sources[1], width, type.signed) + sources[2] & wide
    if op in ("div", "rem"):
        return _quotient(a, sources[1], width, type.signed, op == "rem")
    if op == "bfe":
        return _field(a, sources[1], sources[2], width, type.signed)
    return _unary(op, sources, width, type.signed, instruction)


def _unary(op: str, sources: Sequence[int], width: int, with_sign: bool, instruction: Instruction) -> int:
    a, ones = sources[0], (1 << width) - 1
    match op:
        case "neg":
            return -a & ones
        case "abs":
            return abs(signed(a, width)) & ones
        case "not":
            return ~a & ones
        case "shl":
            return a << sources[1] & ones if sources[1] < width else 0
        case "shr" if with_sign:
            return signed(a, width) >> min(sources[1], width - 1) & ones
        case "shr":
            return a >> sources[1] if sources[1] < width else 0
        case "popc":
            return a.bit_count()
        case "clz":
            return width - a.bit_length()
        case "brev":
            return int(format(a, f"0{width}b")[::-1], 2)
        case _:
            raise unsupported(instruction, op)
