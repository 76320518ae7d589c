"""Release and acquire patterns, observation order, and what synchronizes through them (8.8, 8.9.2, 8.9.4, 8.11.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memcheck.events.structure import INITIAL, Kind
from memcheck.ptx.qualifiers import Sem
from memcheck.reference.locations import Cell, Locations
from memcheck.reference.pairs import Pair, Pairs
from memcheck.reference.strength import is_memory_fence, is_strong
from memcheck.reference.traces import Trace

ReadsFrom = Mapping[tuple[int, Cell], int]
"""For each executed read and each cell of it the write that it returns there."""


@dataclass(frozen=True, slots=True)
class Synchronization:
    """`source` synchronizes with `target` (8.9.4). `fences`: those with a restriction in its patterns."""

    source: int
    target: int
    fences: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Pattern:
    """`access`: its write or read; `end`: its first operation (release) or last (acquire), where it takes hold."""

    end: int
    access: int


RELEASING_FENCES = (Sem.RELEASE, Sem.ACQ_REL, Sem.SC)
ACQUIRING_FENCES = (Sem.ACQUIRE, Sem.ACQ_REL, Sem.SC)


def release_patterns(locations: Locations, po: Pairs) -> frozenset[Pattern]:
    """8.8, release patterns 1 to 3 (4 and 5 are asynchronous)."""
    trace, found = locations.trace, set()
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE and is_strong(trace.event(e))]
    releases = [e for e in writes if trace.event(e).sem is Sem.RELEASE]
    for w in releases:
        found.add(Pattern(w, w))
    for first, w in po:
        if w in writes:
            event = trace.event(first)
            if first in releases and locations.same_location(first, w):
                found.add(Pattern(first, w))
            if is_memory_fence(event) and event.sem in RELEASING_FENCES:
                found.add(Pattern(first, w))
    return frozenset(found)


def acquire_patterns(locations: Locations, po: Pairs) -> frozenset[Pattern]:
    """8.8, acquire patterns 1 to 3 (4 is asynchronous). The read of a reduction is in none (8.11.1)."""
    trace, found = locations.trace, set()
    reads = [
        e
        for e in trace.executed
        if trace.event(e).kind is Kind.READ and is_strong(trace.event(e)) and not trace.event(e).reduction
    ]
    acquires = [e for e in reads if trace.event(e).sem is Sem.ACQUIRE]
    for r in acquires:
        found.add(Pattern(r, r))
    for r, last in po:
        if r in reads:
            event = trace.event(last)
            if last in acquires and locations.same_location(r, last):
                found.add(Pattern(last, r))
            if is_memory_fence(event) and event.sem in ACQUIRING_FENCES:
                found.add(Pattern(last, r))
    return frozenset(found)


def observation_order(trace: Trace, rf: ReadsFrom, strong: Pairs) -> frozenset[Pair]:
    """8.9.2: a write to the morally strong reads of its value, and on through atomics that read it."""
    direct = {(w, r) for (r, _), w in rf.items() if w != INITIAL and (w, r) in strong}
    writes_of = {trace.event(w).rmw: w for w in trace.executed if trace.event(w).rmw is not None}
    order = set(direct)
    while True:
        further = {(w, r) for w, z in order if z in writes_of for source, r in direct if source == writes_of[z]} - order
        if not further:
            return frozenset(order)
        order |= further


def restricted_fences(trace: Trace, *ends: int) -> frozenset[int]:
    """Those of `ends` that are fences with a restriction (ISA 9.7.15.4)."""
    return frozenset(
        e for e in ends if is_memory_fence(trace.event(e)) and getattr(trace.event(e).instruction, "restriction", None)
    )


def pattern_synchronization(
    locations: Locations, po: Pairs, strong: Pairs, observation: Pairs
) -> frozenset[Synchronization]:
    """8.9.4, rule 4."""
    acquires = acquire_patterns(locations, po)
    return frozenset(
        Synchronization(release.end, acquire.end, restricted_fences(locations.trace, release.end, acquire.end))
        for release in release_patterns(locations, po)
        for acquire in acquires
        if (release.access, acquire.access) in observation and (release.end, acquire.end) in strong
    )
