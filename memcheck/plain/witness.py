"""From a z3 model to the execution that it describes."""

from __future__ import annotations

from typing import Any

import z3

from memcheck.events.execution import Execution
from memcheck.events.structure import INITIAL
from memcheck.plain.accesses import Cell
from memcheck.plain.choices import Choices
from memcheck.plain.finals import Finals
from memcheck.plain.truth import Truth
from memcheck.relations.rows import closure, from_pairs, pairs


def read_execution(model: Any, choices: Choices, finals: Finals) -> Execution:
    """The execution of a model of all constraints."""

    def holds(truth: Truth) -> bool:
        return truth if isinstance(truth, bool) else z3.is_true(model.eval(truth, model_completion=True))

    def number(value: Any) -> int:
        return int(model.eval(value, model_completion=True).as_long())

    structure, accesses = choices.structure, choices.accesses
    executed = frozenset(i for i, truth in choices.executed.items() if holds(truth))
    sources: dict[tuple[int, int], int] = {}
    for (read, cell), table in choices.reads_from.items():
        for write, chosen in table.items():
            if read in executed and holds(chosen):
                physical = next(s.physical for s in accesses.spots_at(read, cell) if holds(s.when))
                for byte in range(cell.size):
                    sources[read, cell.physical - physical + byte] = write
    fences = [f for f in choices.fences if f in executed]
    return Execution(
        structure,
        executed,
        {r: number(choices.value(r)) for r in choices.reads if r in executed},
        {i: number(choices.choice(i)) for i in range(len(structure.choice_domains))},
        sources,
        _transitive([(w, v) for (w, v), truth in choices.coherence.items() if holds(truth)], len(structure.events)),
        tuple(sorted(fences, key=lambda f: number(choices.ranks[f]))),
        {
            (r, seat.event): k
            for r, meeting in enumerate(choices.meetings.meetings)
            for seat in meeting.seats
            for k, option in enumerate(seat.generation)
            if holds(option)
        },
        {
            cell.physical + byte: write
            for cell in accesses.cells
            for write in (_last(cell, choices, finals, holds),)
            for byte in range(cell.size)
        },
    )


def _transitive(order: list[tuple[int, int]], size: int) -> frozenset[tuple[int, int]]:
    """The chosen order is transitive between writes that overlap; an execution's is so throughout."""
    return frozenset(pairs(closure(from_pairs(order, size))))


def _last(cell: Cell, choices: Choices, finals: Finals, holds: Any) -> int:
    """The write behind a final cell: the one chosen, or where nothing looks a last one of the latest thread."""
    if cell in finals.last:
        return next(write for write, chosen in finals.last[cell].items() if holds(chosen))
    there = [w for w in choices.writers(cell) if holds(choices.touches(w, cell))]
    last = [w for w in there if not any(holds(finals.coherence.get((w, v), False)) for v in there)]
    return max(last, default=INITIAL)
