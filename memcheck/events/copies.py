"""`cp.async` and `cp.async.mbarrier.arrive` as events of the generic proxy (ISA 9.7.10.28.3, 9.7.15.16.18)."""

from __future__ import annotations

from typing import NamedTuple

from memcheck.events import operations
from memcheck.events.alternatives import alternatives
from memcheck.events.draft import Step
from memcheck.events.mbarriers import word_address
from memcheck.events.pieces import access, cut, static_range
from memcheck.events.plan import Run
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.events.windows import SHARED_BITS
from memcheck.ptx.asynchronous import CopyArrive, CopyAsync, Group
from memcheck.ptx.qualifiers import Proxy, Space

_COUNT = 32


class _Given(NamedTuple):
    """How many bytes the source has: 32 bits, and all numbers that it can be where they are few."""

    amount: Value
    numbers: frozenset[int] | None

    def reaches(self, step: Step, offset: int) -> Value:
        """Whether the source has the byte at `offset`."""
        if self.numbers is not None and len(found := {number > offset for number in self.numbers}) == 1:
            return step.values.const(found.pop(), 1)
        return step.values.binary("ult", step.values.const(offset, _COUNT), self.amount)

    def segments(self, size: int) -> list[tuple[int, int]]:
        """The copy cut where the source can end."""
        ends = [n for n in range(1, size) if self.numbers is None or n in self.numbers]
        return list(zip([0, *ends], [*ends, size], strict=True))


def copy(step: Step) -> None:
    """`cp.async`: reads of the bytes that the source has, writes of them and of zeros behind them."""
    instruction = step.instruction
    assert isinstance(instruction, CopyAsync)
    values, size, misuses = step.values, instruction.size, len(step.draft.misuses)
    given = _given(step, instruction)
    destination = static_range(step, instruction.destination, size, Space.SHARED_CTA, align=size, writes=True)
    source = 0
    for low, high in given.segments(size):
        source = static_range(
            step, instruction.source, high, Space.GLOBAL, align=1 if low else size, writes=False,
            when=given.reaches(step, low),
        )  # fmt: skip
    runs = []
    for low, high in given.segments(size):
        filled = given.reaches(step, low) is values.false
        runs.append(Run(None if filled else source + low, destination + low, high - low, 0 if filled else None))
    operation = operations.begin(step, Group.COPY)
    data = step.taint(instruction.source_size, instruction.ignore)
    for piece in cut(step, runs):
        value = values.const(0, 8 * piece.size)
        read = None
        if piece.source is not None:
            exists = given.reaches(step, piece.source - source)
            guard = values.both(step.guard, exists)
            read = access(step, operation, Kind.READ, piece.source, piece.size, proxy=Proxy.GENERIC, guard=guard)
            copied = step.draft.events[read].value
            assert copied is not None
            value = values.ite(exists, copied, value)
        write = access(step, operation, Kind.WRITE, piece.destination, piece.size, value=value, proxy=Proxy.GENERIC)
        if read is not None:
            operation.within.append((read, write))
            step.draft.data_taint[write] = data | {read}
    if operation.events:
        # a write, as no byte need be read
        step.draft.name(misuses, operation.events[-1])


def _given(step: Step, instruction: CopyAsync) -> _Given:
    values, size = step.values, instruction.size
    count = values.const(size, _COUNT)
    if instruction.ignore is not None:
        ignored = step.register(instruction.ignore)
        if instruction.ignore_negated:
            ignored = values.negate(ignored)
        count = values.ite(ignored, values.const(0, _COUNT), count)
    elif instruction.source_size is not None:
        count = step.operand(instruction.source_size, _COUNT)
    numbers = alternatives(count, step.draft.choices)
    if numbers is None or max(numbers) > size:
        too_many = values.binary("ult", values.const(size, _COUNT), count)
        message = f"cp.async reads at most the {size} bytes that it copies (ISA 9.7.10.28.3)"
        step.misuse(too_many, "cp.async that reads more than it copies", len(step.draft.events), message)
    return _Given(count, numbers)


def arrive(step: Step) -> None:
    """`cp.async.mbarrier.arrive`: an arrival that follows the thread's earlier cp.async, whatever their groups.

    Without .noinc the object expects one arrival more in this phase.
    """
    instruction = step.instruction
    assert isinstance(instruction, CopyArrive)
    values, draft = step.values, step.draft
    word = word_address(step, instruction.mbarrier, instruction.space)
    window = values.binary("and", word, values.const(-1 << SHARED_BITS, 64))
    elsewhere = values.negate(values.binary("eq", window, values.const(step.windows.own, 64)))
    message = "cp.async.mbarrier.arrive is for an mbarrier of the own CTA (ISA 9.7.15.16.18)"
    step.misuse(elsewhere, "cp.async.mbarrier.arrive on an mbarrier of another CTA", len(draft.events), message)
    one = values.const(1, _COUNT)
    if not instruction.noinc:
        operations.transact(step, word, more=one)
    operation = operations.begin(step)
    read, _ = operations.transact(step, word, flags=("AA", "ARRIVE"), operation=operation, arrivals=one)
    for earlier in draft.operations:
        if earlier.thread == step.thread.index and isinstance(earlier.instruction, CopyAsync):
            operation.complete += [(event, read + 1) for event in earlier.events]
