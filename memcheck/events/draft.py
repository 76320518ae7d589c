"""An event structure while it is built: the events so far, and a thread's registers at one point of its code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events.memory import Memory
from memcheck.events.paths import Path
from memcheck.events.plan import Plan, Run
from memcheck.events.structure import BlockingPoint, Event, Kind, LoopBound, Misuse
from memcheck.events.value import Value, Values
from memcheck.events.windows import SHARED_SPACES, Windows
from memcheck.language.test import Place, Test, Thread, VariableKind
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Proxy, Scope, Sem

if TYPE_CHECKING:
    from memcheck.ptx.asynchronous import Group

Taint = frozenset[int]
"""Read events from which a register's value comes, as the text says."""

NO_TAINT: Taint = frozenset()
PLACEHOLDER = 1 << 32
"""Choices from here on stand for results that other threads decide, until all threads are unfolded."""

UNKNOWN = -1
"""Index of a read that is none: values made from it are not modelled (accumulators of wgmma)."""

_ASYNCHRONOUS = frozenset(("ASYNCHRONOUS",))
_PROXY_TAGS = {
    Proxy.GENERIC: "GEN",
    Proxy.TEXTURE: "TEX",
    Proxy.SURFACE: "SUR",
    Proxy.CONSTANT: "CON",
    Proxy.READONLY: "RO",
    Proxy.NONCOHERENT: "RO",
    Proxy.ASYNC: "ASYNC",
    Proxy.TENSORMAP: "TMAP",
}
_SEM_TAGS = {
    Sem.WEAK: "WEAK",
    Sem.RELAXED: "RLX",
    Sem.ACQUIRE: "ACQ",
    Sem.RELEASE: "REL",
    Sem.ACQ_REL: "ACQ_REL",
    Sem.SC: "SC",
}


@lru_cache(maxsize=512)
def access_tags(kind: Kind, sem: Sem, scope: Scope | None, proxy: Proxy, flags: tuple[str, ...]) -> frozenset[str]:
    """The static base sets of a memory operation; `flags` are RMW, RED, VOLATILE, MMIO."""
    tags = {"_", "M", kind.value, _SEM_TAGS[sem], *flags}
    if scope is not None:
        tags.add(scope.name)
    if proxy in _PROXY_TAGS:
        tags.add(_PROXY_TAGS[proxy])
    return frozenset(tags)


@lru_cache(maxsize=256)
def fence_tags(sem: Sem | None, scope: Scope | None, flags: tuple[str, ...]) -> frozenset[str]:
    """The static base sets of a fence or barrier."""
    tags = {"_", *flags}
    if sem is not None:
        tags.add(_SEM_TAGS[sem])
    if scope is not None:
        tags.add(scope.name)
    return frozenset(tags)


@dataclass(slots=True)
class BarrierUse:
    """A barrier instruction as met: which barrier it names and what it says, still values."""

    event: int
    thread: Thread
    instruction: Instruction
    id: Value
    count: Value | None
    source: Value | None = None
    result: Value | None = None
    """The placeholder of a bar.red's result."""


@dataclass(slots=True)
class CollectiveUse:
    """A collective as met; `results` are placeholders by destination, None for a sink."""

    thread: Thread
    instruction: Instruction
    guard: Value
    mask: Value
    sources: tuple[Value, ...]
    results: tuple[Value | None, ...]
    position: int
    """Number of events before it."""


@dataclass(slots=True)
class Building:
    """An asynchronous operation while its events are added (`structure.Operation` when all are there).

    `kind`: the groups that it can belong to, None where it completes otherwise.
    """

    index: int
    thread: int
    instruction: Instruction
    after: int
    guard: Value
    kind: Group | None = None
    events: list[int] = field(default_factory=list)
    within: list[tuple[int, int]] = field(default_factory=list)
    complete: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Commit:
    """A commit of a group, after the events so far: `position` of them."""

    thread: int
    kind: Group
    guard: Value
    position: int


@dataclass(slots=True)
class GroupWait:
    """A wait for all but the `pending` latest groups; `event` is its POINT."""

    thread: int
    kind: Group
    event: int
    pending: int
    reads_only: bool


class State:
    """A thread's registers at one point, under one path."""

    __slots__ = ("control", "guard", "path", "registers", "taints")

    def __init__(
        self, path: Path, guard: Value, registers: dict[str, Value], taints: dict[str, Taint], control: Taint
    ) -> None:
        self.path = path
        self.guard = guard
        self.registers = registers
        self.taints = taints
        self.control = control

    def copy(self) -> State:
        return State(self.path, self.guard, dict(self.registers), dict(self.taints), self.control)


@dataclass(slots=True)
class Draft:
    """What all threads add to. Lists grow in event order; `placeholders` counts results still open."""

    test: Test
    memory: Memory
    values: Values = field(default_factory=Values)
    events: list[Event] = field(default_factory=list)
    blocking: list[BlockingPoint] = field(default_factory=list)
    bounds: list[LoopBound] = field(default_factory=list)
    misuses: list[Misuse] = field(default_factory=list)
    control: dict[int, Taint] = field(default_factory=dict)
    address_taint: dict[int, Taint] = field(default_factory=dict)
    data_taint: dict[int, Taint] = field(default_factory=dict)
    barriers: list[BarrierUse] = field(default_factory=list)
    collectives: list[CollectiveUse] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    operations: list[Building] = field(default_factory=list)
    """Asynchronous operations so far; see `operations`."""
    choices: list[tuple[int, ...]] = field(default_factory=list)
    """What each free choice of the execution may be."""
    commits: list[Commit] = field(default_factory=list)
    waits: list[GroupWait] = field(default_factory=list)
    plan: Plan | None = None
    """What the pass before found out; None in the first."""
    runs: list[Run] = field(default_factory=list)
    """What copies move, for the next pass."""
    spinning: bool = False
    """The instruction is in the one round of a spin."""
    groups: int = 0
    placeholders: int = 0
    _windows: dict[Place, Windows] = field(default_factory=dict)
    _mates: dict[int, frozenset[int]] = field(default_factory=dict)

    def windows(self, place: Place) -> Windows:
        """The shared windows as a thread at `place` sees them."""
        found = self._windows.get(place)
        if found is None:
            found = self._windows[place] = Windows.of(self.test, place)
        return found

    def mates(self, cluster: int) -> frozenset[int]:
        """The CTAs of a cluster."""
        found = self._mates.get(cluster)
        if found is None:
            ctas = (t.place.cta for t in self.test.threads if t.place.cluster == cluster)
            found = self._mates[cluster] = frozenset(ctas)
        return found

    def choice(self, options: tuple[int, ...], width: int) -> Value:
        """A free choice of the execution between numbers."""
        self.choices.append(options)
        return self.values.choice(len(self.choices) - 1, width)

    def placeholder(self, width: int) -> Value:
        self.placeholders += 1
        return self.values.choice(PLACEHOLDER + self.placeholders, width)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def name(self, first: int, event: int) -> None:
        """Misuses from number `first` on need the execution of `event`."""
        self.misuses[first:] = [replace(misuse, event=event) for misuse in self.misuses[first:]]

    def unname(self, first: int) -> None:
        """Misuses from number `first` on name no event that their instruction turned out not to have."""
        for index in range(first, len(self.misuses)):
            event = self.misuses[index].event
            if event is not None and event >= len(self.events):
                self.misuses[index] = replace(self.misuses[index], event=None)

    def mark(self) -> tuple[int, ...]:
        """The lengths of all lists, to come back to with `reset`."""
        return tuple(map(len, self._lists()))

    def reset(self, mark: tuple[int, ...]) -> None:
        for entries, length in zip(self._lists(), mark, strict=True):
            del entries[length:]
        for table in (self.control, self.address_taint, self.data_taint):
            for event in [index for index in table if index >= len(self.events)]:
                del table[event]

    def _lists(self) -> list[list[Any]]:
        return [
            self.events, self.blocking, self.bounds, self.misuses, self.barriers, self.collectives, self.notes,
            self.operations, self.choices, self.commits, self.waits, self.runs,
        ]  # fmt: skip


class Step:
    """One instruction at one point of a thread: reads operands, writes registers, adds events."""

    __slots__ = (
        "draft",
        "guard",
        "instruction",
        "predicate",
        "predicate_taint",
        "state",
        "thread",
        "values",
    )

    def __init__(
        self,
        draft: Draft,
        thread: Thread,
        state: State,
        instruction: Instruction,
    ) -> None:
        self.draft = draft
        self.values = draft.values
        self.thread = thread
        self.state = state
        self.instruction = instruction
        self.guard = state.guard
        self.predicate = draft.values.true
        self.predicate_taint = NO_TAINT
        guard = instruction.guard
        if guard is not None:
            value = self.register(guard.register)
            self.predicate = self.values.negate(value) if guard.negated else value
            self.predicate_taint = state.taints.get(guard.register.name, NO_TAINT)
            if self.predicate not in state.path:
                self.guard = self.values.both(state.guard, self.predicate)
                if self.values.negate(self.predicate) in state.path:
                    self.guard = self.values.false

    @property
    def windows(self) -> Windows:
        return self.draft.windows(self.thread.place)

    def register(self, register: Register) -> Value:
        """The value of a register, at its own width."""
        found = self.state.registers.get(register.name)
        if found is None:
            name = f"{self.thread.name}:{register.name}"
            self.draft.note(f"{name} is read before anything is written to it; it starts as 0")
            found = self.state.registers[register.name] = self.values.const(0, register.width)
        if UNKNOWN in found.support:
            message = f"{register.name} may hold a result of wgmma, whose value is not modelled."
            raise UnsupportedError(message, self.instruction.span)
        return found

    def operand(self, operand: Operand, width: int, signed: bool = False) -> Value:
        """An operand at `width` bits, narrower registers extended."""
        if isinstance(operand, Immediate):
            return self.values.const(operand.value, width)
        if isinstance(operand, AddressOf):
            return self.values.const(variable_address(self.draft, self.thread, operand), width)
        value = self.register(operand)
        return self.values.sext(value, width) if signed else self.values.zext(value, width)

    def taint(self, *operands: Operand | None) -> Taint:
        """The reads that the operands come from."""
        result = NO_TAINT
        for operand in operands:
            if isinstance(operand, Register):
                result |= self.state.taints.get(operand.name, NO_TAINT)
        return result

    def write(self, register: Register | None, value: Value, taint: Taint, signed: bool = False) -> None:
        """Sets a register where the predicate says so, extended or cut to its width."""
        if register is None:
            return
        values, state = self.values, self.state
        value = values.sext(value, register.width) if signed else values.zext(value, register.width)
        if self.predicate is not values.true:
            old = state.registers.get(register.name) or values.const(0, register.width)
            value = values.ite(self.predicate, value, old)
            taint = taint | state.taints.get(register.name, NO_TAINT) | self.predicate_taint
        state.registers[register.name] = value
        state.taints[register.name] = taint

    def event(
        self,
        kind: Kind,
        tags: frozenset[str],
        *,
        guard: Value | None = None,
        address: Value | None = None,
        size: int = 0,
        value: Value | None = None,
        sem: Sem | None = None,
        scope: Scope | None = None,
        proxy: Proxy = Proxy.GENERIC,
        rmw: int | None = None,
        reduction: bool = False,
        group: int | None = None,
        operation: Building | None = None,
        cta: int | None = None,
        marks: Mapping[str, Value] | None = None,
    ) -> int:
        """Adds an event and gives its index; a READ gets its `read` node as value."""
        draft = self.draft
        index = len(draft.events)
        if kind is Kind.READ:
            value = self.values.read(index, 8 * size)
        draft.events.append(
            Event(
                index,
                self.thread.index,
                kind,
                self.instruction,
                self.guard if guard is None else guard,
                address,
                size,
                value,
                sem,
                scope,
                proxy,
                rmw,
                reduction,
                group,
                tags if operation is None else tags | _ASYNCHRONOUS,
                None if operation is None else operation.index,
                cta,
                marks,
            )
        )
        if operation is not None:
            operation.events.append(index)
        control = self.state.control | self.predicate_taint
        if control:
            draft.control[index] = control
        else:
            draft.control.pop(index, None)
        draft.address_taint.pop(index, None)
        draft.data_taint.pop(index, None)
        return index

    def group(self) -> int:
        """A new unordered group."""
        self.draft.groups += 1
        return self.draft.groups

    def misuse(self, condition: Value, rule: str, event: int | None, detail: str = "", *, error: bool = False) -> None:
        """Undefined behaviour where `condition` holds, by a rule, in detail; with `error`, an input error if static."""
        condition = self.values.both(self.guard, condition)
        if condition is self.values.false:
            return
        if condition is self.values.true and error:
            raise SourceError(detail, self.instruction.span)
        self.draft.misuses.append(Misuse(condition, f"undefined-behaviour: {rule}", event, detail, self.instruction))


def variable_address(draft: Draft, thread: Thread, operand: AddressOf) -> int:
    """The address of a variable in its own state space, as `mov` gives it."""
    variable = draft.test.variables[operand.variable]
    if variable.space in SHARED_SPACES:
        region = draft.memory.instance(operand.variable, thread.place.cta)
        return (region.base & 0xFFFFF) + operand.offset
    return draft.memory.instance(operand.variable).base + operand.offset


def is_multimem(draft: Draft, name: str) -> bool:
    """A region that only multimem instructions may touch."""
    variable = draft.test.variables.get(name)
    return variable is None or variable.kind is VariableKind.MULTIMEM


Handler = Callable[[Step], None]
