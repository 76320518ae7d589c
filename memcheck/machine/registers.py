"""Register instructions, branches and exits: what a thread does by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memcheck.machine import arithmetic
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Operation, Source
from memcheck.machine.state import ENDED, State
from memcheck.machine.windows import SHARED_SPACES
from memcheck.ptx.instructions import Arithmetic, Branch, Exit, Instruction, Nop
from memcheck.ptx.operands import AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.types import TypeClass

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

Function = Callable[[Sequence[int | None]], int]


class Compute(Operation):
    """Registers set from registers. `results`: (register's number, what it becomes)."""

    def __init__(self, results: Sequence[tuple[int, Function]]) -> None:
        self.results = tuple(results)

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        here = state.threads[thread]
        registers = list(here.registers)
        for number, function in self.results:
            registers[number] = function(here.registers)
        return state.with_thread(thread, here._replace(pc=here.pc + 1, registers=tuple(registers)))


class Jump(Operation):
    """Goes to `target` where `taken` says so."""

    def __init__(self, taken: Source | None) -> None:
        self.taken = taken
        self.target = 0

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        here = state.threads[thread]
        assert self.target is not None
        pc = self.target if self.taken is None or self.taken(here.registers) else here.pc + 1
        return state.with_thread(thread, here._replace(pc=pc))


class End(Operation):
    """The thread exits once its loads have returned; its stores are still performed."""

    falls_through = False

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        if any(entry.operation.returns for entry in state.threads[thread].window):
            return None
        return state.with_thread(thread, state.threads[thread]._replace(mode=ENDED))


def copied(lowering: Lowering, operand: Operand, instruction: Instruction) -> Operand:
    """An operand that later operations of the instruction can still read once its register is written."""
    if not isinstance(operand, Register):
        return operand
    kept = lowering.hidden(operand.width)
    source, number = lowering.source(operand, operand.width), lowering.target(kept)
    assert number is not None
    lowering.add(Compute([(number, source)]), instruction)
    return kept


def nop(_lowering: Lowering, instruction: Instruction) -> None:
    """Hints do nothing."""
    assert isinstance(instruction, Nop)


def leave(lowering: Lowering, instruction: Instruction) -> None:
    """`exit`, `ret`."""
    assert isinstance(instruction, Exit)
    end = End()
    end.falls_through = instruction.guard is not None
    lowering.add(end, instruction)


def branch(lowering: Lowering, instruction: Instruction) -> None:
    """`bra` and the short forms with a comparison of their own."""
    assert isinstance(instruction, Branch)
    taken: Source | None = None
    if instruction.compare is not None:
        op, *operands = instruction.compare
        width = max((o.width for o in operands if isinstance(o, Register)), default=32)
        left, right = (lowering.source(operand, width) for operand in operands)

        def taken(registers: Sequence[int | None]) -> int:
            return arithmetic.compare(op, left(registers), right(registers), width, True)

    jump = Jump(taken)
    jump.falls_through = taken is not None or instruction.guard is not None
    if lowering.machine.warps is not None:
        jump = lowering.machine.warps.branch(lowering.thread, instruction, jump)
    lowering.add(jump, instruction)
    lowering.jumps.append((jump, instruction.target))


def compute(lowering: Lowering, instruction: Instruction) -> None:
    """Any Arithmetic instruction."""
    assert isinstance(instruction, Arithmetic)
    if instruction.op == "nop":
        return
    results = []
    for register, (width, with_sign, function) in zip(
        instruction.destinations, _functions(lowering, instruction), strict=False
    ):
        number = lowering.target(register)
        if number is not None:
            results.append((number, kept(lowering.write(register, width, with_sign), function)))
    lowering.add(Compute(results), instruction)


def kept(keep: Callable[[int], int], function: Function) -> Function:
    """A value as a destination keeps it."""
    return lambda registers: keep(function(registers))


_WORDS: dict[str, Callable[[int, int], int]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}

Result = tuple[int, bool, Function]
"""Width, sign and value of a result."""


def _functions(lowering: Lowering, instruction: Arithmetic) -> list[Result]:
    op, type = instruction.op, instruction.type
    if op.startswith(("setp.", "set.")):
        return _comparison(lowering, instruction)
    if op == "cvt":
        source = instruction.source_type or type
        if TypeClass.FLOAT in (source.cls, type.cls) and source is not type:
            raise arithmetic.unsupported(instruction, f"conversion from {source.name} to {type.name}")
        value = lowering.source(instruction.sources[0], source.bits, source.signed)
        return [(type.bits, type.signed, lambda r: arithmetic.resized(value(r), source.bits, type.bits, source.signed))]
    if op in ("cvta", "cvta.to", "mapa", "isspacep"):
        return [_of_address(lowering, instruction)]
    sources = [lowering.source(s, w, type.signed) for s, w in zip(instruction.sources, _widths(instruction))]
    width = type.bits * type.lanes * (2 if op.endswith(".wide") else 1)
    width = 32 if op in ("popc", "clz") else width
    return [
        (width, type.signed, lambda r: arithmetic.compute(op, type, [source(r) for source in sources], instruction))
    ]


def _widths(instruction: Arithmetic) -> list[int]:
    op, width = instruction.op, instruction.type.bits * instruction.type.lanes
    widths = [width] * len(instruction.sources)
    for i in range(len(widths)):
        if op in ("shl", "shr", "bfe") and i > 0:
            widths[i] = 32
        elif op == "selp" and i == 2:
            widths[i] = 1
        elif op == "mad.wide" and i == 2:
            widths[i] = 2 * width
    return widths


def _comparison(lowering: Lowering, instruction: Arithmetic) -> list[Result]:
    type = instruction.type
    kind, op, *rest = instruction.op.split(".")
    if type.cls is TypeClass.FLOAT:
        raise arithmetic.unsupported(instruction, f"comparison of {type.name}")
    a, b = (lowering.source(s, type.bits, type.signed) for s in instruction.sources[:2])

    def holds(registers: Sequence[int | None]) -> bool:
        return arithmetic.compare(op, a(registers), b(registers), type.bits, type.signed)

    if kind == "set":
        return [(32, True, lambda r: 0xFFFFFFFF if holds(r) else 0)]
    if not rest:
        return [(1, False, lambda r: int(holds(r))), (1, False, lambda r: int(not holds(r)))]
    other, word = lowering.source(instruction.sources[2], 1), rest[0]
    combine = _WORDS[word]
    return [
        (1, False, lambda r: combine(int(holds(r)), other(r))),
        (1, False, lambda r: combine(int(not holds(r)), other(r))),
    ]


def _of_address(lowering: Lowering, instruction: Arithmetic) -> Result:
    op, windows, space = instruction.op, lowering.windows, instruction.space or Space.GENERIC
    operand = instruction.sources[0]
    width = 64 if op == "isspacep" else instruction.type.bits
    value = lowering.source(operand, width)
    if op == "isspacep":
        return 1, False, lambda r: int(_in_space(lowering, value(r), space))
    if op == "mapa":
        rank = lowering.source(instruction.sources[1], 32)
        if isinstance(instruction.sources[1], Immediate):
            lowering.check_rank(rank(()), instruction)
        if space is Space.SHARED_CLUSTER:
            return width, False, lambda r: windows.mapped_shared(value(r), rank(r))
        if isinstance(operand, AddressOf):
            own = windows.generic(value(()), Space.SHARED_CTA)
            return width, False, lambda r: windows.mapped(own, rank(r))
        return width, False, lambda r: windows.mapped(value(r), rank(r))
    if space not in SHARED_SPACES:
        return width, False, value
    if op == "cvta.to":
        return width, False, lambda r: windows.from_generic(value(r))
    return width, False, lambda r: windows.generic(value(r), Space.SHARED_CLUSTER)


def _in_space(lowering: Lowering, address: int, space: Space) -> bool:
    if space in SHARED_SPACES:
        return lowering.windows.is_shared(address, space)
    return any(r.space is space and r.base <= address < r.base + r.size for r in lowering.layout.regions)
