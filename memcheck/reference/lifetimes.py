"""Objects while they live: the bytes of mbarriers, and the shared memory of a CTA until its threads have exited."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.ptx.asynchronous import MbarrierInval
from memcheck.reference.asynchronous import Asynchronous
from memcheck.reference.barriers import Generations, waits_for
from memcheck.reference.chains import Chain
from memcheck.reference.grids import grid_order
from memcheck.reference.locations import Locations
from memcheck.reference.mbarriers import SIZE, is_operation, unpacked
from memcheck.reference.pairs import Pairs, closure
from memcheck.reference.patterns import ReadsFrom
from memcheck.reference.strength import is_memory, place
from memcheck.reference.traces import Trace


def mbarrier_as_data(locations: Locations, causality: Pairs) -> bool:
    """An access to the bytes of an mbarrier that no operation on it is, and that is not known to come while it is none
    (ISA 9.7.15.16.1).

    Known is what causality says: the access precedes every operation on the object, or follows it, or follows an inval
    that is behind it in the object's chain; and it follows an inval or meets memory that is no object from the start.
    """
    trace = locations.trace
    accesses = [e for e in trace.executed if is_memory(trace.event(e)) and not is_operation(trace.event(e))]
    return any(
        not _is_idle(trace, causality, access, chain)
        for chain in trace.chains
        for access in accesses
        if any(chain.place <= low < chain.place + SIZE for low, _ in locations.of(access))
    )


def _is_idle(trace: Trace, causality: Pairs, access: int, chain: Chain) -> bool:
    """Whether the bytes of a word are no object when an ordinary access comes."""
    live = unpacked(trace.structure.memory.initial_value(chain.place, SIZE)) is not None
    links = [link.write for link in chain.links]
    over = max((at for at, w in enumerate(links) if _invalidates(trace, w) and (w, access) in causality), default=-1)
    behind = {w: at for at, w in enumerate(links)}
    behind |= {read: at for at, w in enumerate(links) if (read := trace.event(w).rmw) is not None} | dict(chain.waits)
    operations = [e for e in trace.executed if is_operation(trace.event(e)) and chain.place == _place(trace, e)]
    if not all((access, e) in causality or (e, access) in causality or behind[e] <= over for e in operations):
        return False
    for write in links:
        if is_operation(trace.event(write)) and (write, access) in causality:
            live = not _invalidates(trace, write)
    return not live


def _invalidates(trace: Trace, write: int) -> bool:
    return isinstance(trace.event(write).instruction, MbarrierInval)


def _place(trace: Trace, event: int) -> int | None:
    return trace.structure.memory.physical(trace.addresses[event], SIZE)


def exited(
    locations: Locations, po: Pairs, rf: ReadsFrom, chosen: Sequence[Generations], asynchronous: Asynchronous
) -> bool:
    """An access to the shared memory of another CTA, all of whose threads end, that nothing puts before what one of
    these still does: program order, reads-from, barriers, grids, issue, completion."""
    trace = locations.trace
    structure = trace.structure
    remote = [
        (e, owner)
        for e in trace.executed
        if is_memory(trace.event(e))
        and (owner := locations.shared_cta(e)) is not None
        and owner != place(structure, trace.event(e)).cta
        and all(t.index in trace.ended for t in structure.test.threads if t.place.cta == owner)
    ]
    if not remote:
        return False
    before = closure(
        {
            *po,
            *((w, r) for (r, _), w in rf.items()),
            *(pair for generation in chosen for pair in waits_for(generation)),
            *grid_order(trace),
            *asynchronous.issue,
            *asynchronous.within,
            *asynchronous.reported,
            *asynchronous.grouped,
        }
    )
    return any(not _is_awaited(trace, before, access, owner) for access, owner in remote)


def _is_awaited(trace: Trace, before: Pairs, access: int, owner: int) -> bool:
    return any(
        trace.event(e).operation is None and place(trace.structure, trace.event(e)).cta == owner
        for a, e in before
        if a == access
    )
