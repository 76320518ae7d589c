"""Scopes and moral strength (8.5, 8.6, 8.7)."""

from __future__ import annotations

from memcheck.events.structure import Event, Kind, Structure
from memcheck.language.test import Place
from memcheck.ptx.instructions import Fence
from memcheck.ptx.qualifiers import Proxy, Scope, Sem
from memcheck.reference.locations import Locations
from memcheck.reference.mbarriers import is_operation
from memcheck.reference.pairs import Pair
from memcheck.reference.traces import Trace


def place(structure: Structure, event: Event) -> Place:
    return structure.test.threads[event.thread].place


def is_memory(event: Event) -> bool:
    """8.2: a read or a write."""
    return event.kind in (Kind.READ, Kind.WRITE)


def is_memory_fence(event: Event) -> bool:
    """8.4: fence.{acquire,release,acq_rel,sc} and membar; a proxy fence is none."""
    return isinstance(event.instruction, Fence)


def is_one_directional(event: Event) -> bool:
    """A proxy fence of one direction: a release or an acquire."""
    return event.kind is Kind.FENCE and not is_memory_fence(event) and event.sem is not None


def is_strong(event: Event) -> bool:
    """8.4: memory fences, and memory operations that are not weak. Barriers take part by the rules of 8.9.4 alone."""
    return is_memory_fence(event) or (is_memory(event) and event.sem not in (None, Sem.WEAK))


def scope_includes(structure: Structure, event: Event, other: Event) -> bool:
    """8.5: whether the scope of `event` has the thread of `other` in it."""
    mine, theirs = place(structure, event), place(structure, other)
    if event.scope is Scope.SYS:
        return True
    if event.scope is Scope.GPU:
        return mine.gpu == theirs.gpu
    if event.scope is Scope.CLUSTER:
        return mine.cluster == theirs.cluster
    return event.scope is Scope.CTA and mine.cta == theirs.cta


def in_program_order(structure: Structure, a: int, b: int) -> bool:
    """8.9.1: a before b in one thread.

    Elements of one vector access are in no order (8.2.4), nor are asynchronous accesses (8.9.1.1), but the read of an
    atomic is before its write.
    """
    first, second = structure.events[a], structure.events[b]
    if first.thread != second.thread or a >= b:
        return False
    if first.operation is not None or second.operation is not None:
        return second.rmw == a
    one_access = first.unordered_group is not None and first.unordered_group == second.unordered_group
    return not one_access or second.rmw == a


def program_order(trace: Trace) -> frozenset[Pair]:
    """8.9.1, between executed events."""
    return frozenset((a, b) for a in trace.executed for b in trace.executed if in_program_order(trace.structure, a, b))


def proxy_of(event: Event) -> Proxy:
    """8.6: memory fences order generic accesses."""
    return event.proxy if is_memory(event) else Proxy.GENERIC


def morally_strong(locations: Locations, a: int, b: int) -> bool:
    """8.7: of two executed memory operations or memory fences."""
    structure = locations.trace.structure
    first, second = structure.events[a], structure.events[b]
    if a == b or first.thread < 0 or second.thread < 0:
        return False
    related = in_program_order(structure, a, b) or in_program_order(structure, b, a)
    mutual = (
        is_strong(first)
        and is_strong(second)
        and scope_includes(structure, first, second)
        and scope_includes(structure, second, first)
    )
    if not (related or mutual) or proxy_of(first) is not proxy_of(second):
        return False
    return not (is_memory(first) and is_memory(second)) or locations.same_location(a, b)


def strong_pairs(locations: Locations) -> frozenset[Pair]:
    """8.7: all morally strong pairs of executed memory operations and memory fences, both ways.

    Operations on one mbarrier are atomic and totally ordered whatever their scopes.
    """
    trace = locations.trace
    fences = [e for e in trace.executed if is_memory_fence(trace.event(e))]
    others = [e for e in trace.executed if is_memory(trace.event(e))]
    with_fences = [(a, b) for f in fences for e in (*fences, *others) for a, b in ((f, e), (e, f))]
    return frozenset(
        (a, b)
        for a, b in (*locations.overlapping, *with_fences)
        if morally_strong(locations, a, b) or on_one_mbarrier(locations, a, b)
    )


def on_one_mbarrier(locations: Locations, a: int, b: int) -> bool:
    """Both are part of operations on one mbarrier."""
    first, second = locations.trace.event(a), locations.trace.event(b)
    return a != b and is_operation(first) and is_operation(second) and locations.same_bytes(a, b)
