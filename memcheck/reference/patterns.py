"""Release and acquire patterns, observation order, and what synchronizes through them (8.8, 8.9.2, 8.9.4, 8.11.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memcheck.events.structure import INITIAL, Kind
from memcheck.ptx.qualifiers import Sem
from memcheck.reference.asynchronous import Asynchronous
from memcheck.reference.locations import Cell, Locations
from memcheck.reference.mbarriers import is_wait
from memcheck.reference.pairs import Pair, Pairs
from memcheck.reference.strength import (
    is_memory_fence,
    is_one_directional,
    is_strong,
    morally_strong,
    scope_includes,
)
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


def release_patterns(locations: Locations, po: Pairs, asynchronous: Asynchronous) -> frozenset[Pattern]:
    """8.8, release patterns: 1 to 3, a fence before an operation that writes strongly (4), a release operation (5).

    A complete-tx or arrive-on releases what it reports, whatever its own qualifiers; it is no strong write of 4.
    """
    trace, found = locations.trace, set()
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE and is_strong(trace.event(e))]
    releases = [e for e in writes if trace.event(e).sem is Sem.RELEASE]
    for w in (*releases, *asynchronous.releasing):
        found.add(Pattern(w, w))
    own = [(f, w) for f, w in asynchronous.issue if w not in asynchronous.releasing]
    for first, w in (*po, *own):
        if w in writes:
            event = trace.event(first)
            if first in releases and (first, w) in po and locations.same_location(first, w):
                found.add(Pattern(first, w))
            if is_memory_fence(event) and event.sem in RELEASING_FENCES:
                found.add(Pattern(first, w))
    return frozenset(found)


def acquire_patterns(locations: Locations, po: Pairs, observed: Pairs) -> frozenset[Pattern]:
    """8.8, acquire patterns: 1 to 3, and a fence after the completion of a strong read was observed (4).

    The read of a reduction is in none (8.11.1), nor is a wait for an mbarrier that returns false. `observed`: from an
    asynchronous access to what observes its completion.
    """
    trace, found = locations.trace, set()
    reads = [e for e in trace.executed if _may_acquire(trace, e)]
    acquires = [e for e in reads if trace.event(e).sem is Sem.ACQUIRE]
    fences = [e for e in trace.executed if is_memory_fence(trace.event(e)) and trace.event(e).sem in ACQUIRING_FENCES]
    for r in acquires:
        found.add(Pattern(r, r))
    for r, last in po:
        if r in reads:
            if last in acquires and locations.same_location(r, last):
                found.add(Pattern(last, r))
            if last in fences:
                found.add(Pattern(last, r))
    for r, observer in observed:
        if r in reads:
            found.update(Pattern(fence, r) for fence in fences if (observer, fence) in po)
    return frozenset(found)


def _may_acquire(trace: Trace, read: int) -> bool:
    event = trace.event(read)
    if event.kind is not Kind.READ or not is_strong(event) or event.reduction:
        return False
    return not is_wait(event) or read in trace.mbarriers.true


def observed_completions(trace: Trace, asynchronous: Asynchronous, observation: Pairs) -> frozenset[Pair]:
    """From an asynchronous access to the waits that observe that it is complete: for its group, or for an mbarrier
    that returns true after the complete-tx or arrive-on, at whatever scope."""
    return asynchronous.grouped | frozenset(
        (access, wait)
        for access, report in asynchronous.reported
        for source, wait in observation
        if source == report and wait in trace.mbarriers.true
    )


def proxy_synchronization(
    locations: Locations, po: Pairs, observation: Pairs, asynchronous: Asynchronous
) -> frozenset[Synchronization]:
    """Patterns that a one-directional proxy fence heads or ends (ISA 9.7.15.4).

    They order nothing but what that fence's partner, or it as a partner, lets through to another proxy.
    """
    trace = locations.trace
    one_way = {e for e in trace.executed if is_one_directional(trace.event(e))}
    releases = set(release_patterns(locations, po, asynchronous))
    acquires = set(acquire_patterns(locations, po, observed_completions(trace, asynchronous, observation)))
    for first, last in po:
        event = trace.event(last)
        if first in one_way and trace.event(first).sem is Sem.RELEASE and event.kind is Kind.WRITE and is_strong(event):
            releases.add(Pattern(first, last))
        if last in one_way and trace.event(last).sem is Sem.ACQUIRE and _may_acquire(trace, first):
            acquires.add(Pattern(last, first))
    return frozenset(
        Synchronization(release.end, acquire.end)
        for release in releases
        for acquire in acquires
        if one_way & {release.end, acquire.end}
        and (release.access, acquire.access) in observation
        and scope_includes(trace.structure, trace.event(release.end), trace.event(acquire.end))
        and scope_includes(trace.structure, trace.event(acquire.end), trace.event(release.end))
    )


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
    locations: Locations, po: Pairs, observation: Pairs, asynchronous: Asynchronous
) -> frozenset[Synchronization]:
    """8.9.4, rule 4. Between operations on mbarriers observation needs no scopes, but the two ends do."""
    observed = observed_completions(locations.trace, asynchronous, observation)
    acquires = acquire_patterns(locations, po, observed)
    return frozenset(
        Synchronization(release.end, acquire.end, restricted_fences(locations.trace, release.end, acquire.end))
        for release in release_patterns(locations, po, asynchronous)
        for acquire in acquires
        if (release.access, acquire.access) in observation and morally_strong(locations, release.end, acquire.end)
    )
