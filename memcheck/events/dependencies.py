"""Dependencies: syntactic ones as herd has them, and the real ones that thin air is about (8.10.4).

A real dependency: over the values that the reads of a thread can have, changing one read alone changes whether an event
happens, where it is, or what it writes. Where the combinations are too many to look through, a read counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcheck.events.constraints import Assignments, TooManyError, conjuncts, requirements
from memcheck.events.domains import Domains, analyse
from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.value import Value, evaluate

LIMIT = 1 << 14
"""Combinations of values looked through for one read and one event."""

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
        if event.kind in (Kind.FENCE, Kind.POINT):
            continue
        if event.kind is Kind.READ:
            assert event.address is not None
            if event.address.support:
                result[event.index] = _movers(structure, event.address)
            continue
        required = requirements(structure, event)
        if required or any(value.support for value in _parts(structure, event)):
            found = _depends_on(structure, event, required)
            if event.kind is Kind.BARRIER:
                # how many it is for may hang on what other threads read; that is no dependency of this operation
                found = frozenset(r for r in found if structure.events[r].thread == event.thread)
            result[event.index] = found
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
    every = Assignments(structure, domains.reads, LIMIT)
    for other in structure.events:
        if other is event or other.guard.is_const or not _alike(event, other):
            continue
        both = conjuncts(structure.values, structure.values.both(event.guard, other.guard))
        if not every.possible(both):
            found.append(other)
    return found


def _depends_on(structure: Structure, event: Event, required: Sequence[Value]) -> frozenset[int]:
    """The reads that alone can turn what the event does into what neither it nor a twin does."""
    domains = analyse(structure)
    every = Assignments(structure, domains.reads, LIMIT)
    twins = _twins(structure, domains, event)
    table = [(_parts(structure, e), requirements(structure, e)) for e in twins]
    found = set()
    for read in _varied(domains, (*_parts(structure, event), *required)):
        inside, start = list(required), [structure.values.read(read, 8 * structure.events[read].size)]
        if len(twins) == 1:
            # what shares no read with this one is as it is, if only it can be
            inside, apart = every.component([*start, *_touching(table[0][0], read)], required)
            if not every.possible(apart):
                continue
        else:
            start += [v for parts, conditions in table for v in (*parts, *conditions)]
        if _changes(every, read, table, inside, start):
            found.add(read)
    return frozenset(found)


def _touching(parts: Sequence[Value], read: int) -> Sequence[Value]:
    """The parts, where the read is in one of them."""
    return parts if any(read in part.support for part in parts) else ()


def _varied(domains: Domains, values: Sequence[Value]) -> list[int]:
    """Reads in `values` that can have several values."""
    support = frozenset[int]().union(*(value.support for value in values))
    return sorted(r for r in support if len(domains.reads[r]) > 1)


def _changes(
    every: Assignments,
    read: int,
    table: Sequence[tuple[Sequence[Value], Sequence[Value]]],
    inside: Sequence[Value],
    start: Sequence[Value],
) -> bool:
    """Whether some other value of `read`, all else equal, makes nobody do what the first event of `table` does.

    `inside`: its requirements that are looked at; `start`: values whose reads are assigned.
    """
    looked_at = [part for part in table[0][0] if len(table) > 1 or part.support & _all(start)]
    try:
        for reads, choices in every.satisfying([*start, *looked_at], inside, fastest=read):
            first = dict(reads)
            doing = tuple(evaluate(part, first, choices) for part in looked_at)
            for number in every.options(("read", read)):
                if number == first[read]:
                    continue
                other = {**first, read: number}
                memo: dict[Value, int] = {}
                if len(table) == 1:
                    same = all(evaluate(v, other, choices, memo) for v in inside) and doing == tuple(
                        evaluate(part, other, choices, memo) for part in looked_at
                    )
                else:
                    same = any(
                        all(evaluate(v, other, choices, memo) for v in conditions)
                        and doing == tuple(evaluate(part, other, choices, memo) for part in parts)
                        for parts, conditions in table
                    )
                if not same:
                    return True
    except TooManyError:
        return True
    return False


def _all(values: Sequence[Value]) -> frozenset[int]:
    return frozenset[int]().union(*(value.support for value in values))


def _movers(structure: Structure, address: Value) -> frozenset[int]:
    """The reads that alone can change an address."""
    domains = analyse(structure)
    every = Assignments(structure, domains.reads, LIMIT)
    return frozenset(
        read for read in _varied(domains, (address,)) if _changes(every, read, [((address,), ())], (), (address,))
    )
