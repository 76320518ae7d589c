"""An event structure (herd's word): all events that a test can have, unrolled, before rf, co and the rest are chosen.

An event happens in an execution where its guard is true and every blocking point before it in its thread was passed.
Relations between events that the program alone decides are built from these fields by `vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from memcheck.events.memory import Memory
from memcheck.events.value import Value, Values
from memcheck.language.test import Observable, Test
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.qualifiers import Proxy, Scope, Sem

INITIAL = 0
"""Index of the one initial write W0 (ISA 8.2.6): it writes every byte, belongs to no thread (-1)."""


class Kind(Enum):
    READ = "R"
    WRITE = "W"
    FENCE = "F"
    """Memory fence (8.8) or proxy fence; the instruction says which."""
    BARRIER = "B"
    """bar, barrier.cluster, bar.warp.sync: an arrival, a wait or both."""
    POINT = "P"
    """A place in program order that something outside it refers to: a wait for a group, griddepcontrol."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One event. Events of a structure are numbered by thread, then in program order; 0 is W0.

    An asynchronous event (8.9.1.1) stands where its instruction does, and is in no program order; `operation` says
    of what it is a part.

    An atomic is a READ and, next in program order, a WRITE whose `rmw` is the read's index. A vector access is one
    event a scalar element; those events are in po in element order, but `unordered_group` (equal number: elements of
    one instruction) tells that nothing orders them. A multimem access is one event a location.
    """

    index: int
    thread: int
    kind: Kind
    instruction: Instruction | None
    guard: Value
    """Width 1. Branch conditions only; a spin's exit is in `BlockingPoint.passed`. A cas's write has its success."""
    address: Value | None = None
    """Generic virtual address, 64 bits (`Memory` maps it to bytes); also of an addressed proxy fence."""
    size: int = 0
    """Bytes accessed."""
    value: Value | None = None
    """8*size bits: what a WRITE writes; for a READ its own `read` node."""
    sem: Sem | None = None
    """Of this part: the read of an atom.acq_rel is ACQUIRE, its write RELEASE; of atom.release the read is RELAXED."""
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    rmw: int | None = None
    reduction: bool = False
    """Part of a `red` (8.11.1)."""
    unordered_group: int | None = None
    tags: frozenset[str] = frozenset()
    """The static base sets of `vocabulary` that it is in."""
    operation: int | None = None
    """Index into `Structure.operations`; None: the event is in program order."""
    cta: int | None = None
    """The thread block that it counts as executed in, where that is not the thread's (rule 2 of 8.9.5)."""
    marks: Mapping[str, Value] | None = None
    """For sets that depend on values (`Source.VALUE`): when the event, executed, is in them."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One asynchronous operation of `thread` (8.9.1.1).

    `after`: events in program order with a smaller index come before all of its own, by `issue`. `within`: pairs
    of its events in order. `complete`: an access, its own or an earlier operation's, and the write of the complete-tx
    or arrive-on that reports it.
    """

    index: int
    thread: int
    instruction: Instruction
    after: int
    events: tuple[int, ...]
    within: tuple[tuple[int, int], ...] = ()
    complete: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GridOrder:
    """All of `before` (threads) end before `after` start; `programmatic`: before their griddepcontrol.wait only."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    programmatic: bool


@dataclass(frozen=True, slots=True, eq=False)
class BlockingPoint:
    """A place where a thread can wait for ever. Events of the thread with index >= `before` come after it.

    A spin: `passed` over the reads `polled` of its last iteration, `barrier` None.
    A barrier wait: the event index in `barrier`, `passed` None (the execution's generations decide).
    A wait for the end of other threads (grids): `threads`, the other two None.
    """

    thread: int
    guard: Value
    before: int
    passed: Value | None
    polled: tuple[int, ...] = ()
    barrier: int | None = None
    threads: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LoopBound:
    """`reached` is true where the thread would go round once more than the bound allows; the execution is cut."""

    thread: int
    reached: Value
    instruction: Instruction


class RendezvousKind(Enum):
    CTA = "cta"
    """bar, barrier.cta: one id of one CTA."""
    PEER = "peer"
    """The columns layout's bar.cta dialect: one instance and id of one CTA; `needed` counts threads."""
    WARP = "warp"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """`event` takes part in this rendezvous where `member` (width 1) is true (ids in registers make it a choice).

    `counts`: it adds to the generation; `waits`: it waits for one. `needed`: units of a full generation as this
    instruction says, None: every unit that has not exited. `reduces`: a bar.red, `source` its operand (0/1).
    """

    event: int
    member: Value
    counts: bool
    waits: bool
    needed: int | None
    reduces: bool = False
    source: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rendezvous:
    """One barrier object. `units`: the groups of threads that count as one (warps of the CTA, or single threads)."""

    kind: RendezvousKind
    name: str
    arrivals: tuple[Arrival, ...]
    units: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Misuse:
    """Where `condition` can be true in a consistent execution the verdict is outside; `rule` is the JSON text."""

    condition: Value
    rule: str
    event: int | None
    """Index of the event whose execution it needs, None: none."""
    detail: str = ""
    """What is wrong with just this instruction, in words."""
    instruction: Instruction | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """All of a test that an engine needs. Index into `events` is `Event.index`.

    `ends[t]`: the condition (width 1) under which thread t runs to its end when every blocking point is passed
    (false where a loop bound cuts it). `final_registers` by observable. `choice_domains[i]`: what choice i may be.
    """

    test: Test
    values: Values
    memory: Memory
    events: tuple[Event, ...]
    blocking: tuple[BlockingPoint, ...]
    bounds: tuple[LoopBound, ...]
    rendezvous: tuple[Rendezvous, ...]
    misuses: tuple[Misuse, ...]
    ends: tuple[Value, ...]
    final_registers: Mapping[Observable, Value]
    choice_domains: tuple[tuple[int, ...], ...]
    control: Mapping[int, frozenset[int]]
    """Syntactic: for each event the reads on which its being reached depends by a branch before it (herd's ctrl)."""
    notes: tuple[str, ...] = ()
    address_sources: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Syntactic: for each event the reads that its address comes from (herd's addr)."""
    data_sources: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Syntactic: for each write the reads that its value comes from (herd's data)."""
    operations: tuple[Operation, ...] = ()
    grouped: Mapping[tuple[int, int], Value] = field(default_factory=dict)
    """(access, wait for a group): when the wait covers the access's group."""
    grids: tuple[GridOrder, ...] = ()
    bytewise: bool = False
    """Every byte is a cell of its own (option `tearing`), even where bytes are always accessed together."""
    memo: dict[str, object] = field(default_factory=dict, repr=False)
    """What was worked out from the structure, by name of the module that did."""
