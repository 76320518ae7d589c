"""From a model of the clauses to the execution that it describes."""

from __future__ import annotations

from memcheck.axiomatic.base import Base
from memcheck.axiomatic.clauses import FALSE, TRUE
from memcheck.axiomatic.solver import Session
from memcheck.axiomatic.states import Finals
from memcheck.events.execution import Execution
from memcheck.events.structure import INITIAL, Kind


def read_execution(session: Session, base: Base, finals: Finals) -> Execution:
    """The execution of the session's last satisfiable check."""
    facts, accesses, structure, events = base.reads, base.accesses, base.structure, base.events
    tables = [facts.values.of(e.value) for e in events if e.kind is Kind.READ and e.value is not None]
    picks = [facts.values.choice(i) for i in range(len(structure.choice_domains))]
    parties = [(r, p) for r, m in enumerate(base.generations.meetings) for p in m.parties]
    asked = {abs(base.executed(e.index)) for e in events}
    asked.update(abs(x) for table in (*tables, *picks) for x in table.values())
    asked.update(abs(x) for table in facts.sources.values() for x in table.values())
    asked.update(abs(facts.there(f)) for read, _ in facts.sources for f in accesses.footprints[read])
    asked.update(abs(x) for x in base.coherence.pairs.values())
    asked.update(abs(x) for x in base.fences.pairs.values())
    asked.update(abs(x) for _, p in parties for x in p.generations.values())
    asked.update(abs(x) for table in finals.last.values() for x in table.values())
    true = session.true_literals([x for x in asked if x != TRUE]) | {TRUE}

    def holds(literal: int) -> bool:
        assert abs(literal) in asked or abs(literal) == TRUE
        return literal in true if literal > 0 else -literal not in true

    executed = frozenset(e.index for e in events if holds(base.executed(e.index)))
    reads = {
        e.index: next((number for number, x in facts.values.of(e.value).items() if holds(x)), 0)
        for e in events
        if e.kind is Kind.READ and e.value is not None and e.index in executed
    }
    sources: dict[tuple[int, int], int] = {}
    for (read, cell), table in facts.sources.items():
        if read in executed:
            physical = next((f.physical for f in accesses.footprints[read] if holds(facts.there(f))), None)
            write = next((w for w, x in table.items() if holds(x)), None)
            if physical is not None and write is not None:
                start, size = accesses.cells[cell]
                for byte in range(size):
                    sources[read, start - physical + byte] = write
    chosen = {(a, b) for (a, b), x in base.coherence.pairs.items() if holds(x)}
    order = _closed(chosen) | {
        (INITIAL, e.index) for e in events if e.kind is Kind.WRITE and e.index in executed and e.index != INITIAL
    }
    fences = [e.index for e in events if "SC" in e.tags and e.index in executed]
    order_of = {f: sum(holds(base.fences.pairs.get((g, f), FALSE)) for g in fences if g != f) for f in fences}
    generations = {
        (r, p.arrival.event): k
        for r, p in parties
        for k, x in p.generations.items()
        if holds(x) and p.arrival.event in executed
    }
    final: dict[int, int] = {}
    for cell, table in finals.last.items():
        write = next((w for w, x in table.items() if holds(x)), INITIAL)
        start, size = accesses.cells[cell]
        final.update((start + i, write) for i in range(size))
    return Execution(
        structure,
        executed,
        reads,
        {i: next((n for n, x in pick.items() if holds(x)), 0) for i, pick in enumerate(picks)},
        sources,
        frozenset(order),
        tuple(sorted(fences, key=order_of.__getitem__)),
        generations,
        final,
    )


def _closed(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Transitive closure."""
    closed = set(pairs)
    while True:
        more = {(a, d) for a, b in closed for c, d in closed if b == c} - closed
        if not more:
            return closed
        closed |= more
