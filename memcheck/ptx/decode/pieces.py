"""The pieces of a spelled instruction: opcodes, operands, addresses, vectors, numbers."""

from __future__ import annotations

from collections.abc import Iterable

from memcheck.ptx.operands import Address, AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.types import ScalarType, TypeClass


def operand(value: Operand | None) -> str:
    """`%r0`, `-1`, `x+4`, or `_`."""
    if value is None:
        return "_"
    if isinstance(value, Register):
        return f"%{value.name}"
    if isinstance(value, Immediate):
        return str(value.value)
    return value.variable + _offset(value.offset)


def address(value: Address) -> str:
    """`[x+4]`."""
    base = value.base
    return f"[{operand(AddressOf(base.variable) if isinstance(base, AddressOf) else base)}{_offset(_total(value))}]"


def _total(value: Address) -> int:
    return value.offset + (value.base.offset if isinstance(value.base, AddressOf) else 0)


def _offset(offset: int) -> str:
    return "" if offset == 0 else f"+{offset}"


def braced(values: Iterable[Operand | None]) -> str:
    texts = [operand(v) for v in values]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def joined(*words: str | None) -> str:
    return ".".join(w for w in words if w)


def line(opcode: str, *operands: str) -> str:
    return f"{opcode} {', '.join(operands)}" if operands else opcode


def literal(value: Operand | None, type: ScalarType) -> str:
    """A number where a floating-point constant must stand: its bits, `0f` or `0d`."""
    if isinstance(value, Immediate) and type.cls is TypeClass.FLOAT:
        prefix, digits = ("0d", 16) if type.bits == 64 else ("0f", 8)
        return f"{prefix}{value.value & ((1 << 4 * digits) - 1):0{digits}X}"
    return operand(value)


def literals(values: Iterable[Operand | None], type: ScalarType) -> str:
    texts = [literal(v, type) for v in values]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def space_word(space: Space | None) -> str | None:
    return None if space is None or space is Space.GENERIC else space.value


def word(qualifier: Scope | Sem | None) -> str | None:
    return None if qualifier is None else qualifier.value


def negated(value: Operand | None, negated: bool) -> str:
    return ("!" if negated else "") + operand(value)
