"""wgmma: matrices in shared memory, read through the async proxy (ISA 9.7.17). One thread stands for its warpgroup.

What is multiplied is not computed: accumulators hold no value that a later instruction could read. The shared operands
are taken to lie in one piece each, as many bytes as shape and types say from the start address on; the strides,
the base offset and the swizzle of a matrix descriptor are not looked at. (Matrices whose rows follow each other
without gaps have exactly these bytes.)

Only what precedes the latest `wgmma.fence` of the thread precedes the reads (8.9.1.1). The rules on registers, which
are the operation's from the fence to the wait for its group, are looked at along straight code only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memcheck.events import operations, pieces
from memcheck.events.addresses import MISALIGNED, OUTSIDE, generic_address, more_alignment
from memcheck.events.arithmetic import unsupported
from memcheck.events.draft import UNKNOWN, Step
from memcheck.events.loops import registers_read, registers_written
from memcheck.events.plan import NOWHERE, Run
from memcheck.events.structure import Kind
from memcheck.events.tensormaps import alone
from memcheck.events.value import Value
from memcheck.language.test import Thread
from memcheck.ptx.asynchronous import CommitGroup, Group, WaitGroup, WarpgroupFence, WarpgroupMultiply
from memcheck.ptx.instructions import Branch, Exit, Instruction
from memcheck.ptx.operands import Address, Register
from memcheck.ptx.qualifiers import Space

NO_FENCE = "wgmma without a wgmma.fence before it"
NOT_FENCED = "a register of wgmma that is accessed after the wgmma.fence before it"
IN_FLIGHT = "a register of wgmma that is accessed before the wait for its group"
_FENCE = "%wgmma.fence"
"""A register of the thread's state that no program names: how many events precede its latest fence; 0 without one."""
_WIDTH = 32
ROW_BYTES = 32
"""Bytes of a row of A or a column of B, whatever the type: K times the size of an element."""
CHUNK = 16
"""Of what a start address is a multiple."""
_FIELD, _UNIT = 14, 4
"""Bits of a descriptor that hold the start address, and of the address that they leave out."""


def fence(step: Step) -> None:
    """`wgmma.fence`: what precedes it precedes the multiplications after it."""
    assert isinstance(step.instruction, WarpgroupFence)
    alone(step)
    values, registers = step.values, step.state.registers
    now = values.const(len(step.draft.events), _WIDTH)
    registers[_FENCE] = values.ite(step.predicate, now, _latest(step))


def _latest(step: Step) -> Value:
    return step.state.registers.get(_FENCE, step.values.const(0, _WIDTH))


def multiply(step: Step) -> None:
    """`wgmma.mma_async`: reads of B and, where it is no fragment in registers, of A."""
    instruction = step.instruction
    assert isinstance(instruction, WarpgroupMultiply)
    alone(step)
    values = step.values
    latest = _latest(step)
    if not latest.is_const:
        raise unsupported(instruction, "wgmma behind paths with different wgmma.fence")
    if not latest.payload:
        step.misuse(values.true, NO_FENCE, len(step.draft.events))
    _check_registers(step, instruction)
    operation = operations.begin(step, Group.WARPGROUP, after=latest.payload)
    m, n, _ = instruction.shape
    runs = [_matrix(step, instruction.b, n * ROW_BYTES)]
    if not isinstance(instruction.a, tuple):
        runs.append(_matrix(step, instruction.a, m * ROW_BYTES))
    for run in pieces.cut(step, runs):
        assert run.source is not None
        pieces.access(step, operation, Kind.READ, run.source, run.size)
    for register in instruction.accumulators:
        step.write(register, values.read(UNKNOWN, register.width), step.taint(register))


def _matrix(step: Step, operand: Address | Register, size: int) -> Run:
    """The bytes of a matrix, which are copied nowhere."""
    values = step.values
    if isinstance(operand, Address):
        address = generic_address(step, operand, Space.SHARED_CTA)
    else:
        start = values.extract(step.operand(operand, 64), 0, _FIELD)
        offset = values.binary("shl", values.zext(start, 64), values.const(_UNIT, 64))
        address = step.windows.generic(values, offset, Space.SHARED_CTA)
    if not address.is_const:
        raise unsupported(step.instruction, "a matrix whose address depends on a read")
    if address.payload % CHUNK:
        message = f"a matrix of wgmma is aligned to {CHUNK} bytes{more_alignment(step, address, CHUNK)}"
        step.misuse(values.true, MISALIGNED, len(step.draft.events), message)
    region = step.draft.memory.region(address.payload, size)
    if region is None or region.cta != step.thread.place.cta:
        message = f"a matrix of {size} bytes at this address is not inside a shared variable of the CTA"
        step.misuse(values.true, OUTSIDE, len(step.draft.events), message, error=True)
    return Run(address.payload, NOWHERE, size)


# --- registers


def _check_registers(step: Step, instruction: WarpgroupMultiply) -> None:
    """Accumulators and fragments of A are accessed neither between the fence and the wgmma nor before the wait.

    A wgmma of the same shape may take over accumulators.
    """
    true, body, event = step.values.true, step.thread.body, len(step.draft.events)
    here = next(i for i, one in enumerate(body) if one is instruction)
    for one in _back_to_fence(step.thread, here):
        if names := (registers_read(one) | registers_written(one)) & _own(instruction):
            chained = isinstance(one, WarpgroupMultiply) and one.shape == instruction.shape
            if not chained or not names <= _names(instruction.accumulators):
                message = f"`{one.text}` accesses {min(names)}, without a wgmma.fence after it"
                step.misuse(true, NOT_FENCED, event, message)
    for one in _in_flight(step.thread, here):
        if names := (registers_read(one) | registers_written(one)) & _own(instruction):
            message = f"`{one.text}` accesses {min(names)} of this wgmma, without a wgmma.wait_group before it"
            step.misuse(true, IN_FLIGHT, event, message)


def _back_to_fence(thread: Thread, here: int) -> Iterator[Instruction]:
    """What stands between the fence and a wgmma, where the code between is straight."""
    between: list[Instruction] = []
    for index in range(here - 1, -1, -1):
        if isinstance(thread.body[index], WarpgroupFence):
            yield from between
            return
        if not _straight(thread, index):
            return
        between.append(thread.body[index])


def _in_flight(thread: Thread, here: int) -> Iterator[Instruction]:
    """What stands between a wgmma and the wait for its group, other wgmma left out, as far as code is straight."""
    groups = 0
    for index in range(here + 1, len(thread.body)):
        one = thread.body[index]
        if not _straight(thread, index):
            return
        if isinstance(one, CommitGroup):
            groups += one.group is Group.WARPGROUP
        elif isinstance(one, WaitGroup):
            if one.group is Group.WARPGROUP and groups > one.pending:
                return
        elif not isinstance(one, WarpgroupMultiply):
            yield one


def _straight(thread: Thread, index: int) -> bool:
    return not isinstance(thread.body[index], Branch | Exit) and index not in thread.labels.values()


def _own(instruction: WarpgroupMultiply) -> frozenset[str]:
    """Accumulators and fragments of A."""
    fragments: Sequence[Register] = instruction.a if isinstance(instruction.a, tuple) else ()
    return _names((*instruction.accumulators, *fragments))


def _names(registers: Iterable[Register]) -> frozenset[str]:
    return frozenset(register.name for register in registers)
