"""The axioms (8.10), each a function: does it hold? Coherence and Fence-SC hold by how their orders are built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memcheck.events.structure import INITIAL, Kind
from memcheck.reference.barriers import Generations, before_generation, waits_for
from memcheck.reference.grids import started_after
from memcheck.reference.locations import Locations
from memcheck.reference.pairs import Pair, Pairs, has_cycle
from memcheck.reference.patterns import ReadsFrom
from memcheck.reference.traces import Trace


def single_copy_atomicity(rf: ReadsFrom, strong: Pairs, coherence: Pairs) -> bool:
    """8.10.3: no read takes a byte of a morally strong write and another one of a write coherence-before it."""
    for (r, _), w in rf.items():
        if (r, w) in strong and any(r2 == r and (older, w) in coherence for (r2, _), older in rf.items()):
            return False
    return True


def no_tearing(locations: Locations, rf: ReadsFrom) -> list[tuple[Pair, bool]]:
    """What a read of W's own bytes asks for where it returns another write W' in some of them.

    Each entry: (W, W'), and whether that can be met at all: W' has to come after W, and to be of other bytes.
    """
    asked = []
    for (r, _), w in rf.items():
        if not locations.same_bytes(r, w):
            continue
        for (r2, _), other in rf.items():
            if r2 == r and other != w:
                asked.append(((w, other), not locations.same_bytes(r, other)))
    return asked


def rmw_atomicity(locations: Locations, rf: ReadsFrom, strong: Pairs, coherence: Pairs) -> bool:
    """8.10.3: no morally strong write comes between the write that an atomic reads and its own."""
    trace = locations.trace
    for mine in trace.executed:
        read = trace.event(mine).rmw
        if read is None:
            continue
        for w in trace.executed:
            if trace.event(w).kind is not Kind.WRITE or w == mine or (w, mine) not in strong:
                continue
            stale = any((rf[read, cell], w) in coherence for cell in locations.of(w) & locations.of(read))
            if stale and (w, mine) in coherence:
                return False
    return True


def no_thin_air(trace: Trace, rf: ReadsFrom, depends: Pairs, chosen: Sequence[Generations], po: Pairs) -> bool:
    """8.10.4: reads-from and dependencies make no cycle; nor does passing a barrier need what follows it.

    A wait is passed after the arrivals of its generation and after the end of every thread that it went without; what
    follows a wait, the end of its thread included, comes after it was passed. What needs the end of a grid comes after
    the end of its threads, and after what they issued where it is known to be complete.
    """
    edges: set[tuple[object, object]] = {(w, r) for (r, _), w in rf.items() if w != INITIAL}
    edges |= {(a, b) for a, b in depends if a in trace.executed and b in trace.executed}
    for e in trace.executed:
        thread = trace.event(e).thread
        if trace.event(e).operation is None:
            edges.add((e, ("end", thread)))
        edges |= {(e, ("over", thread)), (("end", thread), ("over", thread))}
    edges |= started_after(trace, po)
    for generation in chosen:
        kinds = {a.event: a for a in generation.rendezvous.arrivals}
        waits = [(e, g) for e, g in generation.of.items() if kinds[e].waits]
        edges |= {(a, ("passed", b)) for a, b in waits_for(generation)}
        edges |= {(("end", t), ("passed", w)) for t, number in generation.excused for w, g in waits if g == number}
        for wait in [*(w for w, _ in waits), *generation.passing]:
            edges |= {(("passed", wait), after) for first, after in po if first == wait}
            edges.add((("passed", wait), ("end", trace.event(wait).thread)))
    return not has_cycle(edges)


def barrier_order(trace: Trace, chosen: Iterable[Generations], base: Pairs) -> bool:
    """Generations of one barrier never run against base causality."""
    return not any((b, a) in base for generation in chosen for a, b in before_generation(trace, generation))


def sc_per_location(locations: Locations, po: Pairs, strong: Pairs, communication: Pairs) -> bool:
    """8.10.5: among pairwise morally strong overlapping operations, program order and communication make no cycle."""
    steps: dict[int, list[int]] = {}
    for a, b in strong:
        memory = all(locations.trace.event(e).kind in (Kind.READ, Kind.WRITE) for e in (a, b))
        if memory and ((a, b) in po or (a, b) in communication):
            steps.setdefault(a, []).append(b)

    def returns(path: tuple[int, ...]) -> bool:
        for after in steps.get(path[-1], ()):
            if after == path[0]:
                return True
            if after < path[0] or after in path or not all((after, e) in strong for e in path):
                continue
            if returns((*path, after)):
                return True
        return False

    return not any(returns((start,)) for start in steps)


def causality_of_reads(rf: ReadsFrom, causality: Pairs) -> bool:
    """8.10.6, rule 1: no read returns a write that it precedes in causality order."""
    return not any((r, w) in causality for (r, _), w in rf.items())


def causality_of_writes(locations: Locations, rf: ReadsFrom, causality: Pairs, coherence: Pairs) -> bool:
    """8.10.6, rule 2: a read returns nothing that is coherence-before a write preceding it in causality order."""
    return not any(
        (w, r) in causality and (source, w) in coherence
        for (r, cell), source in rf.items()
        for w in locations.trace.executed
        if locations.trace.event(w).kind is Kind.WRITE and cell in locations.of(w)
    )
