"""What a thread commits to groups and waits for (ISA 9.7.10.28.3, .28.6, 9.7.17), by following it through its code.

Commits have no events. The code is walked along the executed events of the thread; registers that only other threads
decide stay unknown, and a path is right if it passes exactly these events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memcheck.errors import TooLargeError
from memcheck.events.arithmetic import compare
from memcheck.events.draft import NO_TAINT, Draft, State, Step
from memcheck.events.registers import arithmetic_instruction
from memcheck.events.structure import Event, Kind
from memcheck.events.value import Value
from memcheck.events.walk import Walk
from memcheck.language.test import Thread
from memcheck.ptx.asynchronous import (
    BulkCopy,
    BulkReduce,
    CommitGroup,
    CopyAsync,
    Group,
    MbarrierArrive,
    MbarrierWait,
    WaitAll,
    WaitGroup,
    WarpgroupFence,
    WarpgroupMultiply,
)
from memcheck.ptx.instructions import Arithmetic, Atom, Branch, Exit, Instruction, Load
from memcheck.ptx.operands import Register
from memcheck.ptx.tensors import TensorReduce, TensorStore
from memcheck.reference.pairs import Pair
from memcheck.reference.traces import Trace

MAX_STEPS = 20_000
_UNKNOWN = 1 << 40
"""Choices from here on stand for what a register may be."""


@dataclass(frozen=True, slots=True)
class Done:
    """An instruction that was executed, with its events; without any for those that have none."""

    instruction: Instruction
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _At:
    pc: int
    position: int
    """How many events of the thread are behind it."""
    state: State
    facts: Mapping[Value, bool]
    """Unknown predicates of which the events tell what they are."""
    done: tuple[Done, ...]
    idle: frozenset[int]
    """Places passed since the last event."""


class _Following:
    """One thread of a trace on its way through its code."""

    def __init__(self, trace: Trace, thread: Thread) -> None:
        self.trace = trace
        self.thread = thread
        self.draft = Draft(trace.structure.test, trace.structure.memory)
        self.events = [trace.event(e) for e in trace.executed if trace.event(e).thread == thread.index]
        own = [e for e in trace.structure.events if e.thread == thread.index]
        self.with_events = {id(e.instruction) for e in own}
        self.in_order = {id(e.instruction) for e in own if e.operation is None}
        self.unknowns = 0

    def paths(self) -> Iterator[tuple[Done, ...]]:
        """What was executed up to the last event, for every path that fits."""
        start = Walk(self.draft, self.thread, 0).initial()
        pending = [_At(0, 0, start, {}, (), frozenset())]
        steps = 0
        while pending:
            at = pending.pop()
            steps += 1
            if steps > MAX_STEPS:
                raise TooLargeError("the paths of a thread through its code are too many.")
            if at.position == len(self.events):
                yield at.done
            elif at.pc < len(self.thread.body) and at.pc not in at.idle:
                pending.extend(self._after(at))

    def _after(self, at: _At) -> Iterator[_At]:
        instruction = self.thread.body[at.pc]
        state = at.state.copy()
        step = Step(self.draft, self.thread, state, instruction)
        if isinstance(instruction, Branch | Exit):
            yield from self._branch(at, step, instruction)
        elif isinstance(instruction, Arithmetic):
            arithmetic_instruction(step)
            yield self._onward(at, state, at.facts)
        elif id(instruction) in self.with_events:
            for count in self._counts(at, instruction):
                truth = self._truth(step.predicate, at.facts)
                copies_nothing = truth is True and id(instruction) not in self.in_order
                if truth is None or truth == (count > 0) or copies_nothing:
                    yield self._execute(at, instruction, step.predicate, count)
        else:
            for truth in self._truths(step.predicate, at.facts):
                facts = {**at.facts, step.predicate: truth}
                if truth:
                    yield self._execute(at, instruction, step.predicate, 0)
                else:
                    yield self._onward(at, at.state, facts)

    def _branch(self, at: _At, step: Step, instruction: Branch | Exit) -> Iterator[_At]:
        target = len(self.thread.body)
        condition = step.predicate
        if isinstance(instruction, Branch):
            target = self.thread.labels[instruction.target]
            if instruction.compare is not None:
                op, left, right = instruction.compare
                width = max((o.width for o in (left, right) if isinstance(o, Register)), default=32)
                a, b = step.operand(left, width), step.operand(right, width)
                condition = self.draft.values.both(condition, compare(self.draft.values, op, a, b, signed=True))
        for truth in self._truths(condition, at.facts):
            facts = {**at.facts, condition: truth}
            yield self._onward(at, at.state, facts, target if truth else at.pc + 1)

    def _onward(self, at: _At, state: State, facts: Mapping[Value, bool], target: int | None = None) -> _At:
        return _At(at.pc + 1 if target is None else target, at.position, state, facts, at.done, at.idle | {at.pc})

    def _counts(self, at: _At, instruction: Instruction) -> Iterator[int]:
        """How many of the next events may be this instruction's."""
        count = 0
        operations: set[int] = set()
        following = self.events[at.position :]
        while count < len(following) and following[count].instruction is instruction:
            operation = following[count].operation
            if operation is not None and operation not in operations:
                if operations:
                    break
                operations.add(operation)
            elif operation is None and operations:
                break
            count += 1
        if operations:
            yield count
        else:
            yield from range(count, -1, -1)

    def _execute(self, at: _At, instruction: Instruction, predicate: Value, count: int) -> _At:
        """The instruction with the next `count` events; it is not executed if it has events but none of these."""
        facts = {**at.facts, predicate: True}
        if id(instruction) in self.with_events and not count and self._truth(predicate, at.facts) is not True:
            return self._onward(at, at.state, {**at.facts, predicate: False})
        state = at.state.copy()
        step = Step(self.draft, self.thread, state, instruction)
        step.predicate = self.draft.values.true
        events = self.events[at.position : at.position + count]
        for register, value in self._results(instruction, events):
            step.write(register, value, NO_TAINT)
        done = (*at.done, Done(instruction, tuple(e.index for e in events)))
        idle = frozenset() if count else at.idle | {at.pc}
        return _At(at.pc + 1, at.position + count, state, facts, done, idle)

    def _results(self, instruction: Instruction, events: Sequence[Event]) -> Iterator[tuple[Register, Value]]:
        values = self.draft.values
        destinations = [*_registers(instruction)]
        if isinstance(instruction, MbarrierWait):
            true = events[0].index in self.trace.mbarriers.true
            yield instruction.destination, values.true if true else values.false
            return
        reads = [e.index for e in events if e.kind is Kind.READ]
        plain = isinstance(instruction, Load | Atom) and instruction.type.lanes == 1
        for i, register in enumerate(destinations):
            if register is None:
                continue
            if plain and len(reads) == len(destinations):
                yield register, values.const(self.trace.reads[reads[i]], register.width)
            else:
                yield register, self._unknown(register.width)

    def _unknown(self, width: int) -> Value:
        self.unknowns += 1
        return self.draft.values.choice(_UNKNOWN + self.unknowns, width)

    def _truths(self, condition: Value, facts: Mapping[Value, bool]) -> tuple[bool, ...]:
        truth = self._truth(condition, facts)
        return (False, True) if truth is None else (truth,)

    def _truth(self, condition: Value, facts: Mapping[Value, bool]) -> bool | None:
        if condition.is_const:
            return bool(condition.payload)
        known = facts.get(condition)
        if known is not None:
            return known
        opposite = facts.get(self.draft.values.negate(condition))
        return None if opposite is None else not opposite


def _registers(instruction: Instruction) -> Iterator[Register | None]:
    """The registers that an instruction writes."""
    for name in ("destination", "destinations", "accumulators"):
        found = getattr(instruction, name, None)
        if isinstance(found, tuple):
            yield from found
        elif isinstance(found, Register):
            yield found
    if isinstance(instruction, MbarrierArrive):
        yield instruction.state


def _kind(instruction: Instruction) -> Group | None:
    """The groups that an operation can belong to; none if an mbarrier, or nothing, tells that it is complete."""
    if isinstance(instruction, CopyAsync):
        return Group.COPY
    if isinstance(instruction, WarpgroupMultiply):
        return Group.WARPGROUP
    if isinstance(instruction, TensorStore | TensorReduce):
        return Group.BULK
    bulk = isinstance(instruction, BulkCopy | BulkReduce) and instruction.mbarrier is None
    return Group.BULK if bulk else None


@dataclass(frozen=True, slots=True)
class Groups:
    """`covered`: accesses and the waits that cover their groups.

    `fenced`: accesses of wgmma, each with the last event of its thread before the wgmma.fence that it follows; 0: none.
    """

    covered: frozenset[Pair]
    fenced: frozenset[Pair]


def _gathered(trace: Trace, path: Sequence[Done]) -> Groups:
    """Counts commits and waits along a path."""
    covered: set[Pair] = set()
    fenced: set[Pair] = set()
    uncommitted: dict[Group, list[int]] = {kind: [] for kind in Group}
    groups: dict[Group, list[list[int]]] = {kind: [] for kind in Group}
    last = fence = 0
    for done in path:
        instruction = done.instruction
        asynchronous = [e for e in done.events if trace.event(e).operation is not None]
        if isinstance(instruction, WarpgroupFence):
            fence = last
        if isinstance(instruction, WarpgroupMultiply):
            fenced.update((e, fence) for e in asynchronous)
        kind = _kind(instruction)
        if kind is not None:
            uncommitted[kind] += asynchronous
        committed = instruction.group if isinstance(instruction, CommitGroup) else None
        if committed is None and isinstance(instruction, WaitAll):
            committed = Group.COPY
        if committed is not None:
            groups[committed].append(uncommitted[committed])
            uncommitted[committed] = []
        if isinstance(instruction, WaitAll):
            covered.update((e, done.events[0]) for group in groups[Group.COPY] for e in group)
        if isinstance(instruction, WaitGroup):
            over = groups[instruction.group]
            over = over[: max(0, len(over) - instruction.pending)]
            covered.update(
                (e, done.events[0])
                for group in over
                for e in group
                if not instruction.read or _is_source(trace, trace.event(e))
            )
        last = max([last, *done.events])
    return Groups(frozenset(covered), frozenset(fenced))


def _is_source(trace: Trace, event: Event) -> bool:
    """A read of the source or of the tensor map, not that of a reduction at its destination."""
    return event.kind is Kind.READ and not any(trace.event(e).rmw == event.index for e in trace.executed)


def find_groups(trace: Trace) -> Groups:
    """All threads. TooLargeError where the code leaves open what a wait covers."""
    covered: frozenset[Pair] = frozenset()
    fenced: frozenset[Pair] = frozenset()
    for thread in trace.structure.test.threads:
        mine = [trace.event(e) for e in trace.executed if trace.event(e).thread == thread.index]
        if not any(isinstance(e.instruction, WaitGroup | WaitAll | WarpgroupMultiply) for e in mine):
            continue
        found = {_gathered(trace, path) for path in _Following(trace, thread).paths()}
        if len(found) != 1:
            raise TooLargeError(f"it is not plain what {thread.name} commits.")
        (groups,) = found
        covered, fenced = covered | groups.covered, fenced | groups.fenced
    return Groups(covered, fenced)
