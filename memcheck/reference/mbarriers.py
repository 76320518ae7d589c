"""mbarrier objects (ISA 9.7.15.16): their counters as numbers, and what each operation makes of them.

The word of an object is its counters packed as `events.phase` says; here it is only taken apart and put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memcheck.errors import TooLargeError
from memcheck.events.structure import Event, Structure
from memcheck.events.value import evaluate
from memcheck.ptx.asynchronous import (
    AsyncReduce,
    AsyncStore,
    BulkCopy,
    BulkReduce,
    CopyArrive,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierTransaction,
    MbarrierWait,
    TryCancel,
)
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Immediate

SIZE = 8
MOST = (1 << 20) - 1
"""Largest count of arrivals, and largest size of a tx-count, of layout v0."""

_LIVE, _PHASE, _EXPECTED, _PENDING = 63, 61, 41, 21
_ANSWER = 16
"""Bytes that clusterlaunchcontrol.try_cancel writes."""


@dataclass(frozen=True, slots=True)
class Counters:
    """A live object: phases that are over, arrivals that are expected and that are pending, the tx-count."""

    phase: int
    expected: int
    pending: int
    tx: int

    @property
    def in_range(self) -> bool:
        return 1 <= self.expected <= MOST and 0 <= self.pending <= MOST and -MOST <= self.tx <= MOST


def packed(counters: Counters | None) -> int:
    """The word of an object; 0 where there is none."""
    if counters is None:
        return 0
    low = counters.tx & (1 << _PENDING) - 1
    high = counters.expected << _EXPECTED | counters.pending << _PENDING
    return 1 << _LIVE | counters.phase % 4 << _PHASE | high | low


def unpacked(word: int) -> Counters | None:
    """The object that a word holds, its phase only modulo 4; None where there is none."""
    if not word >> _LIVE:
        return None
    low = word & (1 << _PENDING) - 1
    tx = low if low <= MOST else low - (1 << _PENDING)
    return Counters(word >> _PHASE & 3, word >> _EXPECTED & MOST, word >> _PENDING & MOST, tx)


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation does: the object `after` it, whether it completes a phase, whether it is misuse."""

    after: Counters | None
    completes: bool = False
    misuse: bool = False


LOST = Step(None, misuse=True)
"""There is no object, or no more."""


def is_operation(event: Event) -> bool:
    """A read or write of an operation on an mbarrier."""
    return "MBAR" in event.tags


def is_wait(event: Event) -> bool:
    return isinstance(event.instruction, MbarrierWait)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What an operation adds up: arrivals that come, that are expected no more, and what is added to the tx-count."""

    arrivals: int = 0
    dropped: int = 0
    tx: int = 0


def _amounts(write: Event, reads: Mapping[int, int], choices: Mapping[int, int]) -> Amounts:
    """The operands of an operation; where they are in registers, by what its write makes of a harmless object."""
    written = _written_amounts(write.instruction)
    if written is not None:
        return written
    assert write.rmw is not None
    assert write.value is not None
    before = Counters(0, MOST, MOST, 0)
    after = unpacked(evaluate(write.value, {**reads, write.rmw: packed(before)}, choices))
    if after is None:
        return Amounts(MOST + 1)  # out of every range
    return Amounts(before.pending - after.pending, before.expected - after.expected, after.tx)


def _written_amounts(instruction: Instruction | None) -> Amounts | None:
    """What the text says; None where registers do, or a tensor map."""
    if isinstance(instruction, CopyArrive):
        return Amounts(1)
    if isinstance(instruction, AsyncStore):
        return Amounts(tx=-len(instruction.sources) * instruction.type.size)
    if isinstance(instruction, AsyncReduce):
        return Amounts(tx=-instruction.type.size)
    if isinstance(instruction, TryCancel):
        return Amounts(tx=-_ANSWER)
    if isinstance(instruction, BulkCopy | BulkReduce):
        size = instruction.size
        return Amounts(tx=-size.value) if isinstance(size, Immediate) else None
    if isinstance(instruction, MbarrierTransaction):
        amount = instruction.amount
        if not isinstance(amount, Immediate):
            return None
        return Amounts(tx=-amount.value if instruction.complete else amount.value)
    if isinstance(instruction, MbarrierArrive):
        count, expected = instruction.count, instruction.expect or Immediate(0)
        if not isinstance(count, Immediate) or not isinstance(expected, Immediate):
            return None
        return Amounts(count.value, count.value if instruction.drop else 0, expected.value)
    return None


def _over(counters: Counters) -> Step:
    """A phase is over when nothing is pending and the tx-count is 0, whatever brought it there."""
    if not counters.in_range:
        return LOST
    if counters.pending or counters.tx:
        return Step(counters)
    return Step(replace(counters, phase=counters.phase + 1, pending=counters.expected), True)


def perform(write: Event, before: Counters | None, reads: Mapping[int, int], choices: Mapping[int, int]) -> Step:
    """What the operation of a write does to an object, None for memory that is none."""
    instruction = write.instruction
    if isinstance(instruction, MbarrierInit):
        if isinstance(instruction.count, Immediate):
            count = instruction.count.value
        else:
            assert write.value is not None
            fresh = unpacked(evaluate(write.value, reads, choices))
            count = 0 if fresh is None else fresh.expected
        made = Counters(0, count, count, 0)
        return Step(made if made.in_range else None, misuse=before is not None or not made.in_range)
    if before is None:
        return LOST
    if isinstance(instruction, MbarrierInval):
        return Step(None)
    if isinstance(instruction, CopyArrive) and write.operation is None:
        # without .noinc the arrival that comes later is one more
        return _over(replace(before, pending=before.pending + 1))
    amounts = _amounts(write, reads, choices)
    now = replace(
        before,
        expected=before.expected - amounts.dropped,
        pending=before.pending - amounts.arrivals,
        tx=before.tx + amounts.tx,
    )
    if abs(amounts.tx) > MOST:
        return LOST
    # .expect_tx and its arrival are one step: no phase is over between them (an H200 agrees)
    done = _over(now)
    forbidden = isinstance(instruction, MbarrierArrive) and instruction.no_complete and done.completes
    return replace(done, misuse=done.misuse or forbidden)


def is_true(wait: Event, now: Counters | None) -> bool | None:
    """Whether a wait for a parity that its text gives finds that phase over; None where a register says which."""
    instruction = wait.instruction
    assert isinstance(instruction, MbarrierWait)
    if now is None:
        return False
    if isinstance(instruction.parity, Immediate):
        return now.phase % 2 != instruction.parity.value % 2
    return None


def objects(structure: Structure) -> dict[int, list[Event]]:
    """By the physical address of each word the reads and writes of operations on it, waits among them."""
    found: dict[int, list[Event]] = {}
    for event in structure.events:
        if is_operation(event):
            assert event.address is not None
            if not event.address.is_const:
                raise TooLargeError("an mbarrier at an address that depends on a read is not enumerated.")
            place = structure.memory.physical(event.address.payload, SIZE)
            if place is not None:
                found.setdefault(place, []).append(event)
    return found


def precedes(first: Event, second: Event) -> bool:
    """Of accesses to one object: whether the first comes earlier in every execution.

    They are in program order, or the second is part of an operation that the thread issues later (8.9.1.1).
    """
    return first.thread == second.thread and first.operation is None and first.index < second.index
