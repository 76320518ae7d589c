"""Asynchronous operations: their accesses and what reports them complete (8.9.1.1; ISA 9.7.10.28, 9.7.15.16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memcheck.events import phase
from memcheck.events.draft import Building, Step, access_tags
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.qualifiers import Proxy, Scope, Sem

NOT_LIVE = "an operation on an mbarrier that is not initialised, or no longer"
OUT_OF_RANGE = "the counts of an mbarrier leave their range"


def begin(step: Step, kind: Group | None = None, after: int | None = None) -> Building:
    """A new operation of the step's instruction; `after` as in `Operation`, by default all events so far."""
    draft = step.draft
    building = Building(
        index=len(draft.operations),
        thread=step.thread.index,
        instruction=step.instruction,
        after=len(draft.events) if after is None else after,
        guard=step.guard,
        kind=kind,
    )
    draft.operations.append(building)
    return building


def access(
    step: Step,
    operation: Building,
    kind: Kind,
    address: Value,
    size: int,
    *,
    value: Value | None = None,
    proxy: Proxy = Proxy.ASYNC,
    sem: Sem = Sem.WEAK,
    scope: Scope | None = None,
    flags: tuple[str, ...] = (),
    guard: Value | None = None,
    rmw: int | None = None,
) -> int:
    """One asynchronous access; a READ's value is its own node. On shared memory it belongs to the CTA that owns it."""
    tags = access_tags(kind, sem, scope, proxy, flags)
    return step.event(
        kind, tags, guard=guard, address=address, size=size, value=value, sem=sem, scope=scope, proxy=proxy, rmw=rmw,
        reduction="RED" in flags, operation=operation, cta=owner(step, address, size),
    )  # fmt: skip


def owner(step: Step, address: Value, size: int) -> int | None:
    """The CTA of the shared memory at an address, None for other memory."""
    if not address.is_const:
        return None
    region = step.draft.memory.region(address.payload, size)
    return None if region is None else region.cta


def transact(
    step: Step,
    word: Value,
    *,
    sem: Sem = Sem.RELAXED,
    scope: Scope = Scope.CTA,
    flags: tuple[str, ...] = (),
    operation: Building | None = None,
    result: bool = False,
    arrivals: Value | None = None,
    more: Value | None = None,
    fewer: Value | None = None,
    transactions: Value | None = None,
) -> tuple[int, phase.Step]:
    """An operation on the mbarrier at address `word`: a read, and next its write. Gives the read, and the change.

    `sem` is the write's, `result`: the instruction returns a state, else it is like a reduction. The counts are those
    of `phase.step`.
    """
    values = step.values
    before = values.read(len(step.draft.events), phase.WORD)
    live = phase.is_live(values, before)
    change = phase.step(values, before, arrivals=arrivals, more=more, fewer=fewer, transactions=transactions)
    write = exchange(
        step, word, values.ite(live, change.word, values.const(0, phase.WORD)), sem=sem, scope=scope, flags=flags,
        operation=operation, result=result, marks={"FLIP": values.both(live, change.completes)},
    )  # fmt: skip
    step.draft.data_taint[write] = frozenset((write - 1,))
    step.misuse(values.negate(live), NOT_LIVE, write)
    step.misuse(values.both(live, change.overflows), OUT_OF_RANGE, write)
    return write - 1, change


def exchange(
    step: Step,
    word: Value,
    value: Value,
    *,
    sem: Sem = Sem.RELAXED,
    scope: Scope = Scope.CTA,
    flags: tuple[str, ...] = (),
    operation: Building | None = None,
    result: bool = False,
    marks: Mapping[str, Value] | None = None,
) -> int:
    """A read of the mbarrier at address `word`, and next the write of `value`, which it gives; else as `transact`."""
    every = ("RMW", "MBAR", *(() if result else ("RED",)))
    cta = owner(step, word, phase.SIZE) if operation is not None else None
    read = step.event(
        Kind.READ, access_tags(Kind.READ, Sem.RELAXED, scope, Proxy.GENERIC, every), address=word, size=phase.SIZE,
        sem=Sem.RELAXED, scope=scope, reduction=not result, operation=operation, cta=cta,
    )  # fmt: skip
    return step.event(
        Kind.WRITE, access_tags(Kind.WRITE, sem, scope, Proxy.GENERIC, (*every, *flags)), address=word,
        size=phase.SIZE, value=value, sem=sem, scope=scope, rmw=read, reduction=not result, operation=operation,
        cta=cta, marks=marks,
    )  # fmt: skip


def complete_tx(step: Step, operation: Building, word: Value, amount: Value, accesses: Iterable[int]) -> None:
    """The complete-tx of `amount` bytes (32 bits) that reports the accesses: a release of these, at cluster scope."""
    values = step.values
    less = values.binary("sub", values.const(0, 32), amount)
    read, _ = transact(step, word, scope=Scope.CLUSTER, flags=("CT",), operation=operation, transactions=less)
    operation.complete += [(one, read + 1) for one in accesses]
