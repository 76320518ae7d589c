"""Whether one execution satisfies a model's axioms, and which flags it raises, by concrete evaluation."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.relations.expression import Axiom, ExprKind, Model, Test
from memcheck.relations.sets import Denotation, Evaluator, FromRead, Rows, bits, pairs


def consistent(model: Model, base: Mapping[str, Denotation], size: int, from_read: FromRead) -> Axiom | None:
    """The first axiom that does not hold, None where all do."""
    evaluator = Evaluator(base, size, from_read)
    return next((axiom for axiom in model.axioms if not holds(axiom, evaluator)), None)


def flags(
    model: Model, base: Mapping[str, Denotation], size: int, from_read: FromRead
) -> list[tuple[Axiom, tuple[tuple[int, ...], ...]]]:
    """The flags whose test holds, each with what its expression has: pairs, single events, or one cycle."""
    evaluator = Evaluator(base, size, from_read)
    return [(flag, witnesses(flag, evaluator)) for flag in model.flags if holds(flag, evaluator)]


def holds(axiom: Axiom, evaluator: Evaluator) -> bool:
    return (not violations(axiom, evaluator)) != axiom.negated


def witnesses(axiom: Axiom, evaluator: Evaluator) -> tuple[tuple[int, ...], ...]:
    """What makes `axiom.test` false, as tuples of events; for a cycle one tuple of all its events in order."""
    return violations(axiom, evaluator)


def violations(axiom: Axiom, evaluator: Evaluator) -> tuple[tuple[int, ...], ...]:
    if axiom.expr.kind is ExprKind.SET:
        return tuple((event,) for event in bits(evaluator.set(axiom.expr)))
    rows = evaluator.relation(axiom.expr)
    if axiom.test is Test.EMPTY:
        return tuple(pairs(rows))
    if axiom.test is Test.IRREFLEXIVE:
        return tuple((i,) for i, row in enumerate(rows) if row >> i & 1)
    found = cycle(rows)
    return () if found is None else (found,)


def cycle(rows: Rows) -> tuple[int, ...] | None:
    """A shortest cycle, from its least event on, or None."""
    best: tuple[int, ...] | None = None
    for start in range(len(rows)):
        before: dict[int, int] = {}
        frontier = [start]
        while frontier and start not in before:
            reached = []
            for event in frontier:
                for after in bits(rows[event]):
                    if after not in before:
                        before[after] = event
                        reached.append(after)
            frontier = reached
        if start in before:
            path = [start]
            while before[path[-1]] != start:
                path.append(before[path[-1]])
            path = [start, *reversed(path[1:])]
            if best is None or len(path) < len(best):
                best = tuple(path)
    return best
