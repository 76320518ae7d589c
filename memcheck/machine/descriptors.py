"""Tensor maps in memory: what changes and publishes them (ISA 9.7.10.29, 9.7.15.17). And wgmma, without its values.

One thread stands for its warp in `tensormap.cp_fenceproxy`, whose lanes copy a part each, and for its warpgroup in
wgmma. Products are not computed and a matrix that is read leaves no trace, so wgmma does nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcheck.machine import arithmetic
from memcheck.machine.accesses import Atomic
from memcheck.machine.commands import MAP
from memcheck.machine.fences import passed
from memcheck.machine.levels import ALONE, SYSTEM
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Operation, Source
from memcheck.machine.proxies import Publish
from memcheck.machine.state import Location, State
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Immediate, Register
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.ptx.tensors import TensormapCopy, TensormapField, TensormapReplace
from memcheck.tensor.element import ElementType
from memcheck.tensor.words import IM2COL_BIT, STRIDES, Slot, slots

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

_HELD = {
    TensormapField.RANK: (0, 4, 1),
    TensormapField.BOX_DIM: (1, 256, 1),
    TensormapField.ELEMENT_STRIDE: (1, 8, 1),
    TensormapField.GLOBAL_STRIDE: (0, (1 << 40) - 16, 16),
}
"""Least and largest value that fits in the bits of a field, and of what it is a multiple."""


def sizes(instruction: Instruction) -> tuple[tuple[Address, int], ...]:
    """Maps are accessed whole."""
    assert isinstance(instruction, TensormapReplace | TensormapCopy)
    named = (
        (instruction.address,)
        if isinstance(instruction, TensormapReplace)
        else (instruction.source, instruction.destination)
    )
    return tuple((address, MAP) for address in named if isinstance(address.base, AddressOf))


def _fixed(lowering: Lowering, operand: Address, address: Source) -> Location | None:
    return None if isinstance(operand.base, Register) else lowering.layout.locate(address(()), MAP)


def replace(lowering: Lowering, instruction: Instruction) -> None:
    """`tensormap.replace`: a weak read of the whole map, and a weak write of it with the field changed."""
    assert isinstance(instruction, TensormapReplace)
    field, ordinal = instruction.field, instruction.ordinal or 0
    number = instruction.value.value if isinstance(instruction.value, Immediate) else 0
    if field is TensormapField.ELEMTYPE and number >= len(ElementType):
        raise arithmetic.unsupported(instruction, "a tensor map whose elements are parts of bytes")
    width = 64 if field.wide else 32
    value = lowering.source(instruction.value, width)
    address = lowering.address(instruction.address, instruction.space)
    fixed = _fixed(lowering, instruction.address, address)
    places = slots(field, ordinal, number)
    least, most, multiple = _HELD.get(field, (0, (1 << width) - 1, 1))

    def function(old: int, operands: tuple[int, ...]) -> int | None:
        for slot in places:
            old = filled(old, slot, operands[0])
        return old

    access = Atomic(
        address, MAP, ALONE, Proxy.GENERIC, fixed, None, lambda found: found, function, False, True
    )  # fmt: skip
    access.values = (value,)
    access.check = lambda at: at % MAP == 0 or at % 64 == 0
    lowering.add(
        _Checked(value, least, most, multiple, field is TensormapField.GLOBAL_STRIDE and ordinal == STRIDES),
        instruction,
    )
    lowering.source(instruction.value, width)
    if isinstance(instruction.address.base, Register):
        lowering.address(instruction.address, instruction.space)
    lowering.add(access, instruction)


class _Checked(Operation):
    """Traps where a field cannot hold its value."""

    def __init__(self, value: Source, least: int, most: int, multiple: int, wrong: bool) -> None:
        self.value, self.least, self.most, self.multiple, self.wrong = value, least, most, multiple, wrong

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        number = self.value(state.threads[thread].registers)
        if self.wrong or number % self.multiple or not self.least <= number <= self.most:
            return machine.trap(state, thread)
        return passed(state, thread)


def filled(whole: int, slot: Slot, operand: int) -> int:
    """A map, as a number, with one slot filled."""
    part = operand - slot.less >> slot.shift if slot.fixed is None else slot.fixed
    mask = (1 << slot.width) - 1
    return whole & ~(mask << slot.at) | (part & mask) << slot.at


def is_for_images(whole: int) -> bool:
    """Whether a map, as a number, is for im2col."""
    return bool(whole >> IM2COL_BIT & 1)


class Moved(Operation):
    """128 bytes of shared memory go to global memory, after all that the thread did."""

    def __init__(self, source: Source, destination: Source, lines: tuple[int, int]) -> None:
        self.source = source
        self.destination = destination
        self.reads, self.writes = lines

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        here = state.threads[thread]
        memory = machine.memory
        if here.window or not memory.flushed(state, memory.levels.sm[thread], SYSTEM):
            return None
        start, end = self.source(here.registers), self.destination(here.registers)
        found = machine.layout.locate(start, MAP), machine.layout.locate(end, MAP)
        if found[0] is None or found[1] is None or start % MAP or end % MAP:
            return machine.trap(state, thread)
        value = found[0].extract(state.memory[found[0].line])
        return memory.write(passed(state, thread), thread, found[1], value, False)


def copy(lowering: Lowering, instruction: Instruction) -> None:
    """`tensormap.cp_fenceproxy`: the copy, and a release to the tensormap proxy."""
    assert isinstance(instruction, TensormapCopy)
    source = lowering.address(instruction.source, Space.SHARED_CTA)
    destination = lowering.address(instruction.destination, Space.GLOBAL)
    ends = _fixed(lowering, instruction.source, source), _fixed(lowering, instruction.destination, destination)
    lines = tuple(-1 if end is None else 1 << end.line for end in ends)
    lowering.add(Moved(source, destination, (lines[0], lines[1])), instruction)
    lowering.add(Publish(instruction.scope), instruction)


def nothing(_lowering: Lowering, _instruction: Instruction) -> None:
    """wgmma and its fence: no value, no trace."""
