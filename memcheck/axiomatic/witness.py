"""From a model of the clauses to the execution that it describes."""

from __future__ import annotations

from memcheck.axiomatic.choices import Choices
from memcheck.axiomatic.clauses import FALSE, TRUE
from memcheck.axiomatic.solver import Session
from memcheck.axiomatic.states import Finals
from memcheck.events.execution import Execution
from memcheck.events.structure import INITIAL, Kind


def read_execution(session: Session, choices: Choices, finals: Finals) -> Execution:
    """The execution of the session's last satisfiable check."""
    structure, events = choices.structure, choices.events
    tables = [choices.values.of(e.value) for e in events if e.kind is Kind.READ and e.value is not None]
    picks = [choices.values.choice(i) for i in range(len(structure.choice_domains))]
    parties = [(r, p) for r, m in enumerate(choices.generations.meetings) for p in m.parties]
    asked = {abs(choices.executed(e.index)) for e in events}
    asked.update(abs(x) for table in (*tables, *picks) for x in table.values())
    asked.update(abs(x) for table in choices.reads_from.values() for x in table.values())
    asked.update(abs(x) for x in choices.coherence.values())
    asked.update(abs(x) for x in choices.fence_order.values())
    asked.update(abs(x) for _, p in parties for x in p.generations.values())
    asked.update(abs(x) for table in finals.last.values() for x in table.values())
    true = session.true_literals([x for x in asked if x != TRUE]) | {TRUE}

    def holds(literal: int) -> bool:
        return literal in true if literal > 0 else -literal not in true

    executed = frozenset(e.index for e in events if holds(choices.executed(e.index)))
    reads = {
        e.index: next((number for number, x in choices.values.of(e.value).items() if holds(x)), 0)
        for e in events
        if e.kind is Kind.READ and e.value is not None and e.index in executed
    }
    sources: dict[tuple[int, int], int] = {}
    for (read, cell), table in choices.reads_from.items():
        if read in executed:
            physical = next((f.physical for f in choices.footprints[read] if holds(choices.there(f))), None)
            write = next((w for w, x in table.items() if holds(x)), None)
            if physical is not None and write is not None:
                base, size = choices.cells[cell]
                for byte in range(size):
                    sources[read, base - physical + byte] = write
    chosen = {(a, b) for (a, b), x in choices.coherence.items() if holds(x)}
    order = _closed(chosen) | {
        (INITIAL, e.index) for e in events if e.kind is Kind.WRITE and e.index in executed and e.index != INITIAL
    }
    fences = [e.index for e in events if "SC" in e.tags and e.index in executed]
    order_of = {f: sum(holds(choices.fence_order.get((g, f), FALSE)) for g in fences if g != f) for f in fences}
    generations = {
        (r, p.arrival.event): k
        for r, p in parties
        for k, x in p.generations.items()
        if holds(x) and p.arrival.event in executed
    }
    final: dict[int, int] = {}
    for cell, table in finals.last.items():
        write = next((w for w, x in table.items() if holds(x)), INITIAL)
        base, size = choices.cells[cell]
        final.update((base + i, write) for i in range(size))
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
