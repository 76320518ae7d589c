"""`cp.async` and `cp.async.mbarrier.arrive` as events of the generic proxy (ISA 9.7.10.28.3, 9.7.15.16.18)."""

from __future__ import annotations

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


def copy(step: Step) -> None:
    """`cp.async`: reads of the bytes that the source has, writes of them and of zeros behind them."""
    instruction = step.instruction
    assert isinstance(instruction, CopyAsync)
    values, size = step.values, instruction.size
    given = _given(step, instruction)
    destination = static_range(step, instruction.destination, size, Space.SHARED_CTA, align=size, writes=True)
    source = _source(step, instruction, given)
    bounds = [0, *_bounds(step, given, size), size]
    runs = []
    for low, high in zip(bounds, bounds[1:], strict=False):
        filled = values.binary("ult", values.const(low, _COUNT), given) is values.false
        runs.append(Run(None if filled else source + low, destination + low, high - low, 0 if filled else None))
    operation = operations.begin(step, Group.COPY)
    for piece in cut(step, runs):
        value = values.const(0, 8 * piece.size)
        read = None
        if piece.source is not None:
            has_source = values.binary("ult", values.const(piece.source - source, _COUNT), given)
            guard = values.both(step.guard, has_source)
            read = access(step, operation, Kind.READ, piece.source, piece.size, proxy=Proxy.GENERIC, guard=guard)
            copied = step.draft.events[read].value
            assert copied is not None
            value = values.ite(has_source, copied, value)
        write = access(step, operation, Kind.WRITE, piece.destination, piece.size, value=value, proxy=Proxy.GENERIC)
        if read is not None:
            operation.within.append((read, write))
            step.draft.data_taint[write] = frozenset((read,))


def _given(step: Step, instruction: CopyAsync) -> Value:
    """How many bytes are read, 32 bits."""
    values = step.values
    size = values.const(instruction.size, _COUNT)
    if instruction.ignore is not None:
        ignored = step.register(instruction.ignore)
        if instruction.ignore_negated:
            ignored = values.negate(ignored)
        return values.ite(ignored, values.const(0, _COUNT), size)
    if instruction.source_size is None:
        return size
    given = step.operand(instruction.source_size, _COUNT)
    too_many = values.binary("ult", size, given)
    message = f"cp.async reads at most the {instruction.size} bytes that it copies (ISA 9.7.10.28.3)"
    step.misuse(too_many, "cp.async that reads more than it copies", len(step.draft.events), message)
    return values.ite(too_many, size, given)


def _bounds(step: Step, given: Value, size: int) -> list[int]:
    """Where the bytes that are read can end, inside the copy."""
    numbers = alternatives(given, step.draft.choices)
    return [n for n in range(1, size) if numbers is None or n in numbers]


def _source(step: Step, instruction: CopyAsync, given: Value) -> int:
    """The address of the source, checked as far as bytes are read."""
    values, size = step.values, instruction.size
    source = 0
    for low, high in zip(ends := [0, *_bounds(step, given, size), size], ends[1:], strict=False):
        reaches = values.binary("ult", values.const(low, _COUNT), given)
        source = static_range(step, instruction.source, high, Space.GLOBAL, align=size, writes=False, when=reaches)
    return source


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
