"""Dependencies: syntactic ones as herd has them, and the real ones that thin air is about (8.10.4).

A real dependency: over the values that the reads of a thread can have, changing one read alone changes whether an event
happens, where it is, or what it writes. Where the combinations are too many, every read that it mentions counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcheck.events.domains import Domains, analyse, assignments, conditions, happens
from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.value import Value, evaluate

Doing = tuple[int, ...]
"""What an event does: its address and value, or which barriers it takes part in."""


def rows_of(structure: Structure, sources: Mapping[int, frozenset[int]]) -> tuple[int, ...]:
    """Row masks of a relation given by the sources of each target."""
    rows = [0] * len(structure.events)
    for target, reads in sources.items():
        for read in reads:
            rows[read] |= 1 << target
    return tuple(rows)


def semantic(structure: Structure) -> dict[int, frozenset[int]]:
    """For each write, barrier, and read at a changing address: the reads of its thread on which it really depends."""
    result: dict[int, frozenset[int]] = {}
    for event in structure.events[1:]:
        if event.kind is Kind.FENCE:
            continue
        if event.kind is Kind.READ:
            assert event.address is not None
            if event.address.support:
                result[event.index] = _movers(structure, event.address)
            continue
        parts = _parts(structure, event)
        pairs = conditions(structure, event)
        if any(v.support for v in parts) or any(a.support or b.support for a, b in pairs):
            result[event.index] = _depends_on(structure, event)
    return {event: reads for event, reads in result.items() if reads}


def _parts(structure: Structure, event: Event) -> list[Value]:
    """What an event does, as values."""
    if event.kind is Kind.BARRIER:
        return [a.member for r in structure.rendezvous for a in r.arrivals if a.event == event.index]
    assert event.address is not None
    assert event.value is not None
    return [event.address, event.value]


def _alike(a: Event, b: Event) -> bool:
    """Stores of one thread that differ only in when, where and what."""
    return (
        a.kind is b.kind is Kind.WRITE
        and a.rmw is None
        and b.rmw is None
        and (a.thread, a.sem, a.scope, a.proxy, a.size) == (b.thread, b.sem, b.scope, b.proxy, b.size)
    )


def _twins(structure: Structure, domains: Domains, event: Event) -> list[Event]:
    """The event, and the stores like it whose guards exclude its own: those of other branches."""
    found = [event]
    if event.guard.is_const:
        return found
    for other in structure.events:
        if other is event or other.guard.is_const or not _alike(event, other):
            continue
        every = assignments(structure, (event.guard, other.guard), domains.reads)
        if every is None:
            continue
        if not any(evaluate(event.guard, *a) and evaluate(other.guard, *a) for a in every):
            found.append(other)
    return found


def _depends_on(structure: Structure, event: Event) -> frozenset[int]:
    domains = analyse(structure)
    found = _vary(structure, domains, _twins(structure, domains, event))
    if found is None:
        # alone it has fewer combinations, and depends on no less
        found = _vary(structure, domains, [event])
    if found is None:
        mentioned = [*_parts(structure, event), *(v for pair in conditions(structure, event) for v in pair)]
        found = frozenset[int]().union(*(value.support for value in mentioned))
    return found


def _vary(structure: Structure, domains: Domains, twins: Sequence[Event]) -> frozenset[int] | None:
    """The reads that alone can turn what the first event does into what no twin does; None: too many combinations."""
    table = [(_parts(structure, e), conditions(structure, e)) for e in twins]
    looked_at = [v for parts, pairs in table for v in (*parts, *(x for pair in pairs for x in pair))]
    support = sorted(r for r in frozenset[int]().union(*(v.support for v in looked_at)) if len(domains.reads[r]) > 1)
    if not support:
        return frozenset()
    every = assignments(structure, looked_at, domains.reads)
    if every is None:
        return None
    groups: dict[int, dict[tuple[object, ...], list[tuple[Doing | None, frozenset[Doing]]]]] = {r: {} for r in support}
    for assignment in every:
        reads, choices = assignment
        memo: dict[Value, int] = {}
        own: Doing | None = None
        done: list[Doing] = []
        for i, (parts, pairs) in enumerate(table):
            if happens(pairs, assignment, memo):
                doing = tuple(evaluate(v, reads, choices, memo) for v in parts)
                done.append(doing)
                if i == 0:
                    own = doing
        outcome = (own, frozenset(done))
        for r, rows in groups.items():
            others = (*(value for read, value in reads.items() if read != r), *choices.values())
            rows.setdefault(others, []).append(outcome)
    return frozenset(
        r
        for r, rows in groups.items()
        if any(own is not None and any(own not in done for _, done in row) for row in rows.values() for own, _ in row)
    )


def _movers(structure: Structure, address: Value) -> frozenset[int]:
    """The reads that alone can change an address."""
    domains = analyse(structure)
    every = assignments(structure, (address,), domains.reads)
    if every is None:
        return address.support
    groups: dict[tuple[object, ...], set[int]] = {}
    for reads, choices in every:
        place = evaluate(address, reads, choices)
        for r in address.support:
            others = (r, *(v for read, v in reads.items() if read != r), *choices.values())
            groups.setdefault(others, set()).add(place)
    return frozenset(key[0] for key, places in groups.items() if len(places) > 1 and isinstance(key[0], int))
