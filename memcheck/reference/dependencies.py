"""Dependencies that are real (8.10.4): "the implementation may perform any chain of reasoning" about the others."""

from __future__ import annotations

from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.reference.assignments import assignments, control_values, reached
from memcheck.reference.domains import Domains
from memcheck.reference.mbarriers import is_operation
from memcheck.reference.pairs import Pair

Done = tuple[int, ...]
"""What an event does: its address and value, or how it takes part in its barriers."""


def _made_of(structure: Structure, event: Event) -> list[Value]:
    if event.kind is Kind.BARRIER:
        return [a.member for r in structure.rendezvous for a in r.arrivals if a.event == event.index]
    assert event.address is not None
    if event.kind is Kind.READ or is_operation(event):
        return [event.address]
    assert event.value is not None
    return [event.address, event.value]


def _like(a: Event, b: Event) -> bool:
    """Writes that differ in nothing but where, when and what they write."""
    qualifiers_a = (a.thread, a.kind, a.sem, a.scope, a.proxy, a.size, a.rmw is None)
    qualifiers_b = (b.thread, b.kind, b.sem, b.scope, b.proxy, b.size, b.rmw is None)
    return qualifiers_a == qualifiers_b and a.kind is Kind.WRITE and a.rmw is None


def _twins(structure: Structure, domains: Domains, event: Event) -> list[Event]:
    """`event`, and the writes like it that happen only where it does not (stores of two branches)."""
    found = [event]
    for other in structure.events:
        if other is event or not _like(event, other) or (event.guard.is_const and other.guard.is_const):
            continue
        both = [event.guard, other.guard]
        if not any(
            all(evaluate(g, reads, choices) for g in both)
            for reads, choices in assignments(structure, both, domains.values)
        ):
            found.append(other)
    return found


def _depends_on(structure: Structure, domains: Domains, event: Event) -> frozenset[int]:
    """The reads r for which some value of r alone makes the thread not do what it does with another value of r."""
    candidates = _twins(structure, domains, event)
    looked_at = [v for e in candidates for v in (*control_values(structure, e), *_made_of(structure, e))]
    support = frozenset().union(*(v.support for v in looked_at))
    if not support:
        return frozenset()
    outcomes: list[tuple[dict[int, int], dict[int, int], Done | None, frozenset[Done]]] = []
    for reads, choices in assignments(structure, looked_at, domains.values):
        done = [
            tuple(evaluate(v, reads, choices) for v in _made_of(structure, e))
            if reached(structure, e, reads, choices)
            else None
            for e in candidates
        ]
        outcomes.append((reads, choices, done[0], frozenset(d for d in done if d is not None)))
    result = set()
    for r in support:
        rows: dict[tuple[object, ...], list[tuple[Done | None, frozenset[Done]]]] = {}
        for reads, choices, own, all_done in outcomes:
            others = tuple(sorted((k, v) for k, v in reads.items() if k != r))
            rows.setdefault((others, tuple(sorted(choices.items()))), []).append((own, all_done))
        if any(own is not None and any(own not in d for _, d in row) for row in rows.values() for own, _ in row):
            result.add(r)
    return frozenset(result)


def dependencies(structure: Structure, domains: Domains) -> frozenset[Pair]:
    """From a read to each write, barrier, or read at an address that really depends on its value."""
    result: set[Pair] = set()
    for event in structure.events[1:]:
        if event.kind in (Kind.FENCE, Kind.POINT) or (event.kind is Kind.READ and not _address_changes(event)):
            continue
        if event.kind is Kind.READ:
            result.update((r, event.index) for r in _address_reads(structure, domains, event))
        else:
            found = _depends_on(structure, domains, event)
            # How many a barrier is for may hang on other threads' ids: that is no dependency of the event.
            own = {r for r in found if event.kind is Kind.WRITE or structure.events[r].thread == event.thread}
            if is_operation(event) and event.value is not None:
                own |= event.value.support  # what an operation leaves changes with what it finds, and with its amounts
            result.update((r, event.index) for r in own)
    return frozenset(result)


def _address_changes(event: Event) -> bool:
    return event.address is not None and bool(event.address.support)


def _address_reads(structure: Structure, domains: Domains, event: Event) -> frozenset[int]:
    """The reads that alone can change where `event` reads: the value then hangs on them too."""
    assert event.address is not None
    result = set()
    for r in event.address.support:
        rows: dict[tuple[object, ...], set[int]] = {}
        for reads, choices in assignments(structure, [event.address], domains.values):
            others = tuple(sorted((k, v) for k, v in reads.items() if k != r))
            rows.setdefault((others, tuple(sorted(choices.items()))), set()).add(
                evaluate(event.address, reads, choices)
            )
        if any(len(addresses) > 1 for addresses in rows.values()):
            result.add(r)
    return frozenset(result)
