"""A thread's instructions as operations: registers by number, operands as functions, labels as positions.

`LOWERINGS` says for every class of instruction which operations it becomes. Hidden registers hold what an instruction
of several operations has to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memcheck.errors import SourceError, UnsupportedError
from memcheck.language.test import Test, Thread
from memcheck.machine.arithmetic import resized
from memcheck.machine.layout import Layout
from memcheck.machine.levels import Levels
from memcheck.machine.operations import Operation, Source
from memcheck.machine.windows import SHARED_SPACES, Windows
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Scope, Space

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

OFFSET = (1 << 20) - 1


class Lowering:
    """One thread while it is lowered."""

    def __init__(self, machine: Machine, thread: Thread) -> None:
        self.machine = machine
        self.test: Test = machine.test
        self.layout: Layout = machine.layout
        self.levels: Levels = machine.levels
        self.thread = thread
        self.windows = Windows.of(machine.test, thread.place)
        self.numbers: dict[str, int] = {}
        self.widths: list[int] = []
        self.needs: set[int] = set()
        self.operations: list[Operation] = []
        self.jumps: list[tuple[Operation, str]] = []
        """Branches, and the labels that they go to."""

    def number(self, name: str, width: int) -> int:
        """The number of a register."""
        if name not in self.numbers:
            self.numbers[name] = len(self.widths)
            self.widths.append(self.thread.widths.get(name, width))
        return self.numbers[name]

    def hidden(self, width: int) -> Register:
        """A register that no program can name."""
        name = f"%{len(self.widths)}"
        self.number(name, width)
        return Register(name, width)

    def level(self, scope: Scope | None) -> int:
        """How far up an operation of a scope goes for this thread."""
        return self.levels.of(self.thread.index, scope)

    def target(self, register: Register | None) -> int | None:
        """The number of a destination, which must not be written by anything in flight; None for the sink."""
        if register is None:
            return None
        number = self.number(register.name, register.width)
        self.needs.add(number)
        return number

    def source(self, operand: Operand, width: int, with_sign: bool = False) -> Source:
        """An operand at `width` bits, narrower registers extended."""
        if isinstance(operand, Register):
            number = self.number(operand.name, operand.width)
            self.needs.add(number)
            own = self.widths[number]
            if own == width or (own < width and not with_sign):
                return lambda registers: registers[number] or 0
            return lambda registers: resized(registers[number] or 0, own, width, with_sign)
        value = operand.value if isinstance(operand, Immediate) else self.variable_address(operand)
        value &= (1 << width) - 1
        return lambda _registers: value

    def constant(self, operand: Operand | None) -> int | None:
        """The value of an operand that is no register."""
        if operand is None or isinstance(operand, Register):
            return None
        return operand.value if isinstance(operand, Immediate) else self.variable_address(operand)

    def variable_address(self, operand: AddressOf) -> int:
        """The address of a variable in its own state space, as `mov` gives it."""
        variable = self.test.variables[operand.variable]
        if variable.space in SHARED_SPACES:
            return (self.layout.instance(operand.variable, self.thread.place.cta).base & OFFSET) + operand.offset
        return self.layout.instance(operand.variable).base + operand.offset

    def address(self, address: Address, space: Space) -> Source:
        """The generic address of a memory operand."""
        base = address.base
        if isinstance(base, AddressOf):
            variable = self.test.variables[base.variable]
            shared = variable.space in SHARED_SPACES
            if space is Space.GENERIC or not shared:
                region = self.layout.instance(base.variable, self.thread.place.cta if shared else None)
                fixed = region.base + base.offset + address.offset
                return lambda _registers: fixed
        value, offset, windows = self.source(base, 64), address.offset, self.windows
        if not isinstance(base, Register):
            known = windows.generic(value(()) + offset, space)
            return lambda _registers: known
        if space in SHARED_SPACES:
            return lambda registers: windows.generic(value(registers) + offset & (1 << 64) - 1, space)
        return lambda registers: value(registers) + offset & (1 << 64) - 1

    def check_rank(self, rank: int, instruction: Instruction) -> None:
        """SourceError for a `mapa` of a CTA that is not in the cluster."""
        if rank >= len(self.windows.cluster):
            message = f"the cluster has {len(self.windows.cluster)} CTAs: mapa names one that is not in it"
            raise SourceError(message, instruction.span)

    def write(self, register: Register | None, width: int, with_sign: bool = False) -> Callable[[int], int]:
        """What a destination keeps of a result of `width` bits."""
        own = width if register is None else self.widths[self.number(register.name, register.width)]
        if own == width:
            mask = (1 << width) - 1
            return lambda value: value & mask
        return lambda value: resized(value & (1 << width) - 1, width, own, with_sign)

    def add(self, operation: Operation, instruction: Instruction) -> None:
        """Appends an operation with what operands have been asked for since the last one."""
        operation.text = instruction.text
        if instruction.guard is not None:
            register = instruction.guard.register
            number = self.number(register.name, register.width)
            operation.guarded(number, instruction.guard.negated)
            self.needs.add(number)
        operation.needs = tuple(sorted(self.needs))
        self.needs = set()
        self.operations.append(operation)


Lower = Callable[[Lowering, Instruction], None]


def lower(
    lowering: Lowering, table: dict[type[Instruction], Lower], body: Sequence[Instruction]
) -> tuple[dict[int, int], int]:
    """Lowers a body; gives where each instruction's operations begin, and where the last end."""
    starts: dict[int, int] = {}
    warps = lowering.machine.warps
    for index, instruction in enumerate(body):
        starts[index] = len(lowering.operations)
        if warps is not None:
            warps.before(lowering, index)
        found = table.get(type(instruction))
        if found is None:
            message = f"the machine does not execute this instruction yet: {instruction.text}"
            raise UnsupportedError(message, instruction.span)
        found(lowering, instruction)
    starts[len(body)] = len(lowering.operations)
    return starts, len(lowering.operations)
