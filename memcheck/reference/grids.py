"""Grids in an order (8.9.4, API synchronization; ISA 9.7.15.14): the end of one before the start of another."""

from __future__ import annotations

from memcheck.events.structure import Event, Structure
from memcheck.ptx.asynchronous import GridDependency
from memcheck.ptx.qualifiers import Scope
from memcheck.reference.pairs import Pair, Pairs, closure
from memcheck.reference.patterns import RELEASING_FENCES, restricted_fences
from memcheck.reference.strength import is_memory_fence, place, scope_includes
from memcheck.reference.traces import Trace


def _ended_before(structure: Structure) -> frozenset[Pair]:
    """Pairs of grids of which the first has ended when the second starts."""
    return closure((o.before, o.after) for o in structure.test.grid_orders if not o.programmatic)


def _ended_at_wait(structure: Structure) -> frozenset[Pair]:
    """Pairs of grids of which the first has ended when a griddepcontrol.wait of the second returns."""
    ended = _ended_before(structure)
    direct = {(o.before, o.after) for o in structure.test.grid_orders if o.programmatic}
    return frozenset(direct | {(a, c) for a, b in ended for b2, c in direct if b == b2})


def _is_dependency(event: Event, launch: bool) -> bool:
    return isinstance(event.instruction, GridDependency) and event.instruction.launch == launch


def _grid(trace: Trace, event: int) -> int:
    return place(trace.structure, trace.event(event)).grid


def grid_order(trace: Trace) -> frozenset[Pair]:
    """From what threads of a grid do to what comes after the end of all of them.

    An asynchronous operation that nobody awaited need not be over when its thread ends; it is when a
    griddepcontrol.wait for its grid returns (ISA 9.7.15.14).
    """
    structure = trace.structure
    if not structure.test.grid_orders:
        return frozenset()
    ended, at_wait = _ended_before(structure), _ended_at_wait(structure)
    found = set()
    for b in trace.executed:
        waits = _is_dependency(trace.event(b), launch=False)
        for a in trace.executed:
            grids = (_grid(trace, a), _grid(trace, b))
            in_order = trace.event(a).operation is None
            if (in_order and grids in ended) or (waits and grids in at_wait):
                found.add((a, b))
    return frozenset(found)


def started_after(trace: Trace, po: Pairs) -> frozenset[tuple[tuple[str, int], int]]:
    """Pairs of ("end", thread) or ("over", thread) and an event that happens only after that.

    A thread is over when it has ended, and what it issued is complete.
    """
    structure = trace.structure
    if not structure.test.grid_orders:
        return frozenset()
    ended, at_wait = _ended_before(structure), _ended_at_wait(structure)
    waits = [e for e in trace.executed if _is_dependency(trace.event(e), launch=False)]
    found = set()
    for b in trace.executed:
        for thread in structure.test.threads:
            if (thread.place.grid, _grid(trace, b)) in ended:
                found.add((("end", thread.index), b))
            if any((thread.place.grid, _grid(trace, w)) in at_wait and (w, b) in po for w in waits):
                found.add((("over", thread.index), b))
    return frozenset(found)


def launches(trace: Trace, po: Pairs, hop: Pairs) -> frozenset[Pair]:
    """From a release fence before griddepcontrol.launch_dependents to everything in the dependent grids.

    Only the first call of a CTA counts: one after which all other calls of its CTA come in `hop`.
    """
    structure = trace.structure
    calls = [e for e in trace.executed if _is_dependency(trace.event(e), launch=True)]
    found: set[Pair] = set()
    for call in calls:
        here = place(structure, trace.event(call))
        others = [c for c in calls if c != call and place(structure, trace.event(c)).cta == here.cta]
        if not all((call, other) in hop for other in others):
            continue
        dependents = {o.after for o in structure.test.grid_orders if o.programmatic and o.before == here.grid}
        for fence, last in po:
            event = trace.event(fence)
            if last != call or not is_memory_fence(event) or event.sem not in RELEASING_FENCES:
                continue
            if restricted_fences(trace, fence):  # no other grid has this shared memory
                continue
            if event.scope in (Scope.GPU, Scope.SYS):
                found.update(
                    (fence, e)
                    for e in trace.executed
                    if _grid(trace, e) in dependents and scope_includes(structure, event, trace.event(e))
                )
    return frozenset(found)
