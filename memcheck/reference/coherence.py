"""Coherence and communication order (8.9.6, 8.9.7), byte by byte where reads are concerned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from memcheck.events.structure import INITIAL, Kind
from memcheck.reference.locations import Locations
from memcheck.reference.mbarriers import is_operation
from memcheck.reference.pairs import Pair, Pairs, closure
from memcheck.reference.patterns import ReadsFrom


def coherence_orders(locations: Locations, strong: Pairs, causality: Pairs) -> Iterator[frozenset[Pair]]:
    """8.9.6 and 8.10.1: every least transitive order that has causality between overlapping writes and relates each
    morally strong overlapping pair; nothing else relates writes. W0 is before all of them (8.2.6).

    Operations on an mbarrier come as the chain of the trace says, which their reads-from forces."""
    trace = locations.trace
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE]
    initial = {(INITIAL, w) for w in writes}
    forced = {(a, b) for a in writes for b in writes if (a, b) in causality and locations.overlap(a, b)}
    for chain in trace.chains:
        operations = [link.write for link in chain.links if is_operation(trace.event(link.write))]
        forced.update(combinations(operations, 2))
    open_pairs = [p for p in combinations(writes, 2) if p in strong and locations.overlap(*p)]
    yield from _orient(open_pairs, closure(initial | forced))


def _orient(pairs: Sequence[Pair], order: frozenset[Pair]) -> Iterator[frozenset[Pair]]:
    if any(a == b for a, b in order):
        return
    undecided = [(a, b) for a, b in pairs if (a, b) not in order and (b, a) not in order]
    if not undecided:
        yield order
        return
    a, b = undecided[0]
    yield from _orient(undecided[1:], closure(order | {(a, b)}))
    yield from _orient(undecided[1:], closure(order | {(b, a)}))


def from_reads(locations: Locations, rf: ReadsFrom, coherence: Pairs) -> frozenset[Pair]:
    """8.9.7, rule 3: a read to a write of a byte for which it returns a coherence-earlier write."""
    trace = locations.trace
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE]
    return frozenset(
        (r, w)
        for (r, cell), source in rf.items()
        for w in writes
        if cell in locations.of(w) and (source, w) in coherence
    )


def communication_order(locations: Locations, rf: ReadsFrom, coherence: Pairs) -> frozenset[Pair]:
    """8.9.7."""
    reads_from = {(w, r) for (r, _), w in rf.items()}
    return frozenset(reads_from | coherence | from_reads(locations, rf, coherence))


def maximal_writes(locations: Locations, coherence: Pairs) -> dict[tuple[int, int], list[int]]:
    """For each cell the writes of it that no other write of it comes after in coherence order."""
    trace = locations.trace
    writes = [INITIAL, *(e for e in trace.executed if trace.event(e).kind is Kind.WRITE)]
    result = {}
    for cell in locations.cells:
        here = [w for w in writes if cell in locations.of(w)]
        result[cell] = [w for w in here if not any((w, other) in coherence for other in here)]
    return result
