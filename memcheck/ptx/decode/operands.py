"""Reads operands: names to registers, variables and special registers; widths and spaces checked."""

from __future__ import annotations

from typing import Protocol

from memcheck.errors import SourceError
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Guard, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import (
    Names,
    RawAddress,
    RawInstruction,
    RawName,
    RawNumber,
    RawOperand,
    RawPair,
    RawVector,
)
from memcheck.ptx.types import TYPES, ScalarType, TypeClass
from memcheck.source import Span

SINK = "_"
ADDRESS_WIDTHS = (32, 64)
_FLOAT_PREFIXES = ("0f", "0F", "0d", "0D")

MIN_REGISTER = 16
"""There are no 8-bit registers: `.b8` and its like live in wider ones (ISA 5.2.2)."""


def register_bits(type: ScalarType) -> int:
    """Bits of a register that holds one value of this type, packed types whole."""
    return type.bits * type.lanes


class Form(Protocol):
    """Analysed words of an opcode, to be joined with operands."""

    def build(self, at: Reader) -> Instruction: ...


class Reader:
    """One raw instruction and the names around it."""

    __slots__ = ("guard", "names", "operands", "raw", "span", "text")

    def __init__(self, raw: RawInstruction, names: Names) -> None:
        self.raw = raw
        self.names = names
        self.operands = raw.operands
        self.text = raw.text
        self.span = raw.span
        self.guard = None if raw.guard is None else self._guard(raw.guard)

    @property
    def opcode(self) -> str:
        return ".".join(self.raw.words)

    def _guard(self, name: RawName) -> Guard:
        register = self.names.register(name)
        if register.width != 1:
            raise SourceError(
                f"A guard is a predicate, and {name.name} has {register.width} bits (ISA 9.3).",
                name.span,
                f"set a predicate first: setp.ne.b{register.width} p0, {name.name}, 0",
            )
        return Guard(register, name.negated)

    def count(self, shape: str, *numbers: int) -> int:
        """The number of operands, which must be one of `numbers`; `shape` shows them, as in `d, [a]`."""
        given = len(self.operands)
        if given not in numbers:
            wanted = " or ".join(map(str, numbers)) if any(numbers) else "no"
            span = self.operands[max(numbers)].span if given > max(numbers) else self.span
            plural = "" if numbers == (1,) else "s"
            raise SourceError(
                f"{self.opcode} takes {wanted} operand{plural}, not {given}.", span, f"write {self.opcode} {shape}"
            )
        return given

    # Registers -----------------------------------------------------------------------------------------------------

    def variable(self, operand: RawOperand) -> str | None:
        """The name, where the operand is a declared variable."""
        if isinstance(operand, RawName) and not operand.percent and self.names.space(operand.name) is not None:
            return operand.name
        return None

    def _register(self, operand: RawOperand, what: str) -> Register:
        if not isinstance(operand, RawName) or operand.name == SINK:
            raise SourceError(f"{what} of {self.opcode} must be a register.", operand.span)
        if self.variable(operand) is not None:
            raise SourceError(
                f"{what} of {self.opcode} must be a register, and {operand.name} is a variable.",
                operand.span,
                f"a register of that name is written %{operand.name}",
            )
        if operand.percent and self.names.special(operand.name) is not None:
            raise SourceError(
                f"{what} of {self.opcode} must be a register, and %{operand.name} is read-only.", operand.span
            )
        return self.names.register(operand)

    def _check(self, register: Register, span: Span, width: int, wider: bool, type: str) -> None:
        """`type` names what is wanted: `.u64`, or words."""
        fits = register.width >= max(width, MIN_REGISTER) if wider else register.width == width
        if not fits:
            if register.width == 1:
                fault = f"%{register.name} is a predicate"
            else:
                fault = f"%{register.name} has {register.width} bits"
            need = "a predicate" if width == 1 else f"{'at least ' if wider else ''}{max(width, MIN_REGISTER)} bits"
            raise SourceError(
                f"{self.opcode}: {fault}, and {type} needs {need} (ISA 9.4.1).", span, _width_hint(register.width, type)
            )

    def destination(self, operand: RawOperand, width: int, *, wider: bool = False, type: str = "") -> Register:
        """A register of this width, or any at least as wide."""
        if isinstance(operand, RawName) and operand.negated:
            raise SourceError(f"{self.opcode} cannot write to a negated register.", operand.span)
        register = self._register(operand, "The destination")
        self._check(register, operand.span, width, wider, type or f"the {width}-bit result")
        return register

    def destination_or_sink(self, operand: RawOperand, width: int, *, type: str = "") -> Register | None:
        if isinstance(operand, RawName) and operand.name == SINK:
            return None
        return self.destination(operand, width, type=type)

    def source(self, operand: RawOperand, type: ScalarType, *, wider: bool = False, what: str = "") -> Operand:
        """A register of the type's width (or wider) or a number; a variable is an address and none of both."""
        if isinstance(operand, RawNumber):
            if type.cls is TypeClass.FLOAT and not _written_as_float(operand.span):
                raise SourceError(
                    f"A .{type.name} operand needs a floating-point constant, and {operand.value} is an integer"
                    " (ISA 4.5.2).",
                    operand.span,
                    "write the bits: 0f3F800000 is 1.0 as .f32",
                )
            if type.bits < 128 and not -(2**63) <= operand.value < 2**64:
                raise SourceError(
                    "An integer constant has 64 bits at most (ISA 4.5.1).", operand.span, "write it in 64 bits"
                )
            return Immediate(operand.value)
        if not isinstance(operand, RawName):
            what = "an address" if isinstance(operand, RawAddress) else "more than one value"
            raise SourceError(
                f"{self.opcode}: a register or a number is wanted here, and this is {what}.", operand.span
            )
        if operand.name == SINK:
            raise SourceError(f"{self.opcode}: _ stands for a destination only (ISA 9.7.1).", operand.span)
        if operand.percent:
            value = self.names.special(operand.name)
            if value is not None:
                return Immediate(value)
        elif self.names.space(operand.name) is not None:
            raise SourceError(
                f"{self.opcode}: {operand.name} is a variable, and only mov, cvta and mapa take its address.",
                operand.span,
                f"move it first: mov.u64 rd0, {operand.name}",
            )
        if operand.negated and type.cls is not TypeClass.PREDICATE:
            raise SourceError(f"{self.opcode}: only predicates can be negated with !.", operand.span)
        register = self.names.register(operand)
        self._check(register, operand.span, register_bits(type), wider, what or f".{type.name}")
        return register

    def word(self, operand: RawOperand) -> Operand:
        """A 32-bit register or a number: shift amounts, masks, barrier numbers, counts."""
        return self.source(operand, TYPES["b32"], what="this operand")

    def predicate(self, operand: RawOperand) -> tuple[Operand, bool]:
        """A predicate or a number, and whether it is negated."""
        negated = isinstance(operand, RawName) and operand.negated
        return self.source(operand, TYPES["pred"]), negated

    def width(self, operand: RawOperand) -> int | None:
        """Bits of a register operand, None for anything else."""
        if not isinstance(operand, RawName) or operand.name == SINK or self.variable(operand) is not None:
            return None
        if operand.percent and self.names.special(operand.name) is not None:
            return None
        return self.names.register(operand).width

    def pair(self, operand: RawOperand) -> tuple[RawName, RawName | None]:
        """`d|p`, or `d` alone."""
        if isinstance(operand, RawPair):
            return operand.first, operand.second
        if isinstance(operand, RawName):
            return operand, None
        raise SourceError(f"{self.opcode}: the destination must be a register.", operand.span)

    # Memory --------------------------------------------------------------------------------------------------------

    def address(self, operand: RawOperand, space: Space, *, writes: bool = False) -> Address:
        """`[x+4]`, `[r1]`, or bare `x`, `r1`. The variable must lie in the space that the instruction names."""
        base: RawName | RawNumber
        if isinstance(operand, RawAddress):
            base, offset = operand.base, operand.offset
        elif isinstance(operand, RawName | RawNumber):
            base, offset = operand, 0
        else:
            raise SourceError(f"{self.opcode}: an address is wanted here.", operand.span, "write [x] or [rd0+4]")
        if isinstance(base, RawNumber):
            raise SourceError(
                f"{self.opcode}: a number is no address outside .local memory (ISA 6.4.1).",
                operand.span,
                "write [x] for a variable x; mov loads a number",
            )
        variable = self.variable(base)
        if variable is None:
            if base.negated or base.name == SINK:
                raise SourceError(f"{self.opcode}: an address is wanted here.", base.span, "write [x] or [rd0+4]")
            register = self._register(base, "The address")
            if register.width not in ADDRESS_WIDTHS:
                raise SourceError(
                    f"{self.opcode}: an address has 64 or 32 bits, and %{register.name} has {register.width}.",
                    base.span,
                )
            return Address(register, offset)
        home = self.names.space(variable)
        shared = (Space.SHARED_CTA, Space.SHARED_CLUSTER)
        if space is not Space.GENERIC and home is not space and not (home in shared and space in shared):
            where = home.value if home is not None else "no"
            raise SourceError(
                f"{self.opcode} names .{space.value}, and {variable} lies in .{where} (ISA 6.4).",
                operand.span,
                f"write .{where}, or leave the state space out",
            )
        if writes and home is Space.CONST:
            raise SourceError(
                f"{self.opcode}: {variable} is constant memory, which the instruction may not access (ISA 5.1.3).",
                operand.span,
            )
        return Address(AddressOf(variable), offset)

    def elements(self, operand: RawOperand, vector: int) -> tuple[RawName | RawNumber | RawOperand, ...]:
        """The elements of an operand of a `.vN` instruction, or the operand itself where N is 1."""
        if vector == 1:
            if isinstance(operand, RawVector):
                raise SourceError(
                    f"{self.opcode} is not a vector instruction.",
                    operand.span,
                    f"write .v{len(operand.elements)} before the type",
                )
            return (operand,)
        if not isinstance(operand, RawVector):
            names = ", ".join(f"r{n}" for n in range(vector))
            raise SourceError(f"{self.opcode} takes {vector} elements.", operand.span, f"write {{{names}}}")
        if len(operand.elements) != vector:
            raise SourceError(
                f"{self.opcode} takes {vector} elements, and these are {len(operand.elements)}.", operand.span
            )
        widths = {self.width(element) for element in operand.elements} - {None}
        if len(widths) > 1:
            raise SourceError(
                f"{self.opcode}: the elements of a vector must be registers of one width (ISA 6.4.3).", operand.span
            )
        return operand.elements

    def policy(self, at: int) -> None:
        """The cache policy of `.L2::cache_hint`: a 64-bit register, read and forgotten."""
        self.source(self.operands[at], TYPES["b64"], what="a cache policy")


def _width_hint(width: int, type: str) -> str | None:
    name = type.removeprefix(".")
    kind = TYPES.get(name)
    if kind is None or width not in (16, 32, 64, 128) or kind.bits == 1:
        return None
    other = TYPES.get(f"{kind.cls.value}{width}")
    return None if other is None or other is kind else f"a {width}-bit register goes with .{other.name}"


def _written_as_float(span: Span) -> bool:
    line = span.source.line(span.line)
    return line[span.column - 1 :].lstrip("-").startswith(_FLOAT_PREFIXES)


def bracketed(operand: RawAddress) -> bool:
    """Whether `[` was written, as against `x+4` where a value is wanted."""
    return operand.span.source.line(operand.span.line)[operand.span.column - 1 :].startswith("[")
