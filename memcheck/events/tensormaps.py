"""Tensor maps in memory: what changes and publishes them (ISA 9.7.10.29, 9.7.15.17).

Both instructions access the 128 bytes through the generic proxy. One thread of the test stands for its warp in
`tensormap.cp_fenceproxy`, whose lanes copy a part each.
"""

from __future__ import annotations

from memcheck.errors import UnsupportedError
from memcheck.events.addresses import check_address, generic_address, tell
from memcheck.events.arithmetic import unsupported
from memcheck.events.draft import Step, access_tags, fence_tags
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, Immediate
from memcheck.ptx.qualifiers import Proxy, Sem, Space
from memcheck.ptx.tensors import TensormapCopy, TensormapField, TensormapReplace
from memcheck.tensor.element import ElementType
from memcheck.tensor.words import IM2COL_BIT, SIZE, STRIDES, Slot, slots

UNFIT = "tensormap.replace with a value that the field cannot hold"
IMAGES = "tensormap.replace.tile of a tensor map for im2col"
_HELD = {
    TensormapField.RANK: (0, 4, 1),
    TensormapField.BOX_DIM: (1, 256, 1),
    TensormapField.ELEMENT_STRIDE: (1, 8, 1),
    TensormapField.GLOBAL_STRIDE: (0, (1 << 40) - 16, 16),
}
"""Least and largest value that fits in the bits of a field, and of what it is a multiple."""


def replace(step: Step) -> None:
    """`tensormap.replace`: a weak read of the whole map and a weak write of it with the field changed."""
    instruction = step.instruction
    assert isinstance(instruction, TensormapReplace)
    draft, field = step.draft, instruction.field
    number = instruction.value.value if isinstance(instruction.value, Immediate) else 0
    if field is TensormapField.ELEMTYPE and number >= len(ElementType):
        raise unsupported(instruction, "a tensor map whose elements are parts of bytes")
    operand = step.operand(instruction.value, 64 if field.wide else 32)
    address = map_address(step, instruction.address, instruction.space, writes=True)
    place = step.taint(instruction.address.base)
    read = _access(step, Kind.READ, address)
    whole = draft.events[read].value
    assert whole is not None
    _check(step, instruction, operand, whole, read)
    value = whole
    for slot in slots(field, instruction.ordinal or 0, number):
        value = _with(step, value, slot, operand)
    write = _access(step, Kind.WRITE, address, value)
    for event in (read, write) if place else ():
        draft.address_taint[event] = place
    draft.data_taint[write] = step.taint(instruction.value) | {read}


def _check(step: Step, instruction: TensormapReplace, operand: Value, whole: Value, read: int) -> None:
    values, field = step.values, instruction.field
    step.misuse(values.extract(whole, IM2COL_BIT, 1), IMAGES, read)
    if field is TensormapField.GLOBAL_STRIDE and instruction.ordinal == STRIDES:
        step.misuse(values.true, UNFIT, read, f"a tensor map has {STRIDES} strides: 0 to {STRIDES - 1}")
    if field in _HELD:
        least, most, multiple = _HELD[field]
        low = values.binary("ult", operand, values.const(least, operand.width))
        high = values.binary("ult", values.const(most, operand.width), operand)
        rest = values.binary("urem", operand, values.const(multiple, operand.width))
        crooked = values.negate(values.binary("eq", rest, values.const(0, operand.width)))
        steps = f" in steps of {multiple}" if multiple > 1 else ""
        message = f"the {field.value} of a tensor map is from {least} to {most}{steps}"
        step.misuse(values.either(crooked, values.either(low, high)), UNFIT, read, message)


def _with(step: Step, whole: Value, slot: Slot, operand: Value) -> Value:
    """The map with one slot filled."""
    values = step.values
    if slot.fixed is not None:
        part = values.const(slot.fixed, slot.width)
    else:
        number = values.binary("sub", operand, values.const(slot.less, operand.width))
        part = values.extract(number, slot.shift, slot.width)
    end = slot.at + slot.width
    if slot.at:
        part = values.concat(part, values.extract(whole, 0, slot.at))
    return values.concat(values.extract(whole, end, whole.width - end), part)


def copy(step: Step) -> None:
    """`tensormap.cp_fenceproxy`: a read, a write and a release to the tensormap proxy, in program order."""
    instruction = step.instruction
    assert isinstance(instruction, TensormapCopy)
    alone(step)
    draft = step.draft
    source = map_address(step, instruction.source, Space.SHARED_CTA, writes=False)
    target = map_address(step, instruction.destination, Space.GLOBAL, writes=True)
    read = _access(step, Kind.READ, source)
    write = _access(step, Kind.WRITE, target, draft.events[read].value)
    for event, operand in ((read, instruction.source), (write, instruction.destination)):
        if taint := step.taint(operand.base):
            draft.address_taint[event] = taint
    draft.data_taint[write] = frozenset((read,))
    tags = fence_tags(None, instruction.scope, ("F", "PROXY_FENCE", "TMAP", "PROXY_REL"))
    step.event(Kind.FENCE, tags, sem=Sem.RELEASE, scope=instruction.scope)


def map_address(step: Step, operand: Address, space: Space, writes: bool) -> Value:
    """The generic address of a map that is accessed through the generic proxy, checked."""
    address = generic_address(step, operand, space)
    tell(step, check_address(step, operand, address, SIZE, space, Proxy.GENERIC, writes), len(step.draft.events))
    return address


def _access(step: Step, kind: Kind, address: Value, value: Value | None = None) -> int:
    tags = access_tags(kind, Sem.WEAK, None, Proxy.GENERIC, ())
    return step.event(kind, tags, address=address, size=SIZE, value=value, sem=Sem.WEAK)


def alone(step: Step) -> None:
    """UnsupportedError where other threads of the test are in the executing thread's warp."""
    place = step.thread.place
    if sum(thread.place.warp == place.warp for thread in step.draft.test.threads) > 1:
        raise UnsupportedError(_several(step.instruction), step.instruction.span)


def _several(instruction: Instruction) -> str:
    opcode = instruction.text.lstrip("@! ").split()[0]
    return f"{opcode} is executed by a whole warp; here one thread stands for it, and this warp has several."
