"""Data races, and what puts a program outside the model (8.7.1, 8.7.2)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.events.structure import Kind
from memcheck.ptx.qualifiers import Proxy
from memcheck.reference.locations import Locations
from memcheck.reference.pairs import Pair, Pairs
from memcheck.reference.traces import Trace


@dataclass(frozen=True, slots=True)
class Races:
    """Pairs of accesses: `uniform` of exactly the same bytes, or with a weak copy; `mixed` of partly different ones."""

    uniform: frozenset[Pair]
    mixed: frozenset[Pair]


def data_races(locations: Locations, strong: Pairs, causality: Pairs) -> Races:
    """8.7.1: conflicting, in no causality order, not morally strong. W0 is before everything."""
    trace = locations.trace
    racing = [
        (a, b)
        for a, b in locations.overlapping
        if a < b
        and Kind.WRITE in (trace.event(a).kind, trace.event(b).kind)
        and (a, b) not in strong
        and (a, b) not in causality
        and (b, a) not in causality
    ]
    uniform = frozenset(p for p in racing if locations.same_bytes(*p) or _is_piece(trace, *p))
    return Races(uniform, frozenset(racing) - uniform)


def _is_piece(trace: Trace, *accesses: int) -> bool:
    """Whether one of them is part of a weak copy, which is as many accesses as anyone can tell apart."""
    return any("PIECE" in trace.event(e).tags for e in accesses)


def readonly_writes(locations: Locations) -> bool:
    """A byte read by ld.proxy::readonly or ld.global.nc is written by the program (ISA 9.7.10.8)."""
    trace = locations.trace
    readonly = [e for e in trace.executed if trace.event(e).proxy in (Proxy.READONLY, Proxy.NONCOHERENT)]
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE]
    return any(locations.overlap(r, w) for r in readonly for w in writes)


def misuses(trace: Trace) -> frozenset[str]:
    """The rules that the event structure says a trace breaks, by name."""
    return frozenset(
        m.rule
        for m in trace.structure.misuses
        if (m.event is None or m.event in trace.executed) and trace.value(m.condition)
    )
