"""wgmma: matrices in shared memory, read through the async proxy (ISA 9.7.17). One thread stands for its warpgroup.

What is multiplied is not computed: accumulators hold no value that a later instruction could read. The shared operands
are taken to lie in one piece each, as many bytes as shape and types say from the start address on; the strides,
the base offset and the swizzle of a matrix descriptor are not looked at. (Matrices whose rows follow each other
without gaps have exactly these bytes.)

Only what precedes the latest `wgmma.fence` of the thread precedes the reads (8.9.1.1).
"""

from __future__ import annotations

from memcheck.events import operations, pieces
from memcheck.events.access import generic_address
from memcheck.events.arithmetic import unsupported
from memcheck.events.draft import UNKNOWN, Step
from memcheck.events.plan import NOWHERE, Run
from memcheck.events.structure import Kind
from memcheck.events.tensormaps import alone
from memcheck.events.value import Value
from memcheck.ptx.asynchronous import Group, WarpgroupFence, WarpgroupMultiply
from memcheck.ptx.operands import Address, Register
from memcheck.ptx.qualifiers import Space

NO_FENCE = "wgmma without a wgmma.fence before it"
OUTSIDE = "a matrix of wgmma that is not inside a shared variable"
_FENCE = "%wgmma.fence"
"""A register of the thread's state that no program names: how many events precede its latest fence; 0 without one."""
_WIDTH = 32
ROW_BYTES = 32
"""Bytes of a row of A or a column of B, whatever the type: K times the size of an element."""
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
        step.misuse(values.true, NO_FENCE, None, NO_FENCE)
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
    region = step.draft.memory.region(address.payload, size)
    if region is None or region.cta != step.thread.place.cta:
        message = f"a matrix of {size} bytes at this address is not inside a shared variable of the CTA"
        step.misuse(values.true, OUTSIDE, None, message)
    return Run(address.payload, NOWHERE, size)
