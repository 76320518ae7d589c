"""What a model says of a test, as far as a reader of the result can see it, and which mutants can change it at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memcheck.axiomatic.encoding import Encoding
from memcheck.axiomatic.plan import Plan
from memcheck.axiomatic.relations import Relations
from memcheck.axiomatic.solve import solve
from memcheck.corpus import find
from memcheck.errors import MemcheckError
from memcheck.events.domains import analyse
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.relations.expression import Model, Test
from memcheck.relations.matrix import matrices
from tests.mutation.mutants import Mutant


@dataclass(frozen=True, slots=True)
class Answer:
    """`outside` voids the rest: where it is not empty the rest is. `hangs`: some thread can wait for ever."""

    outside: frozenset[str]
    states: frozenset[tuple[int, ...]] = frozenset()
    flags: frozenset[str] = frozenset()
    hangs: bool = False


def answer(structure: Structure, model: Model, tearing: bool = False) -> Answer:
    outcome = solve(structure, model, witnesses=False, tearing=tearing)
    if outcome.outside:
        return Answer(frozenset(finding.name for finding in outcome.outside))
    flags = frozenset(finding.name for finding in (*outcome.flags, *outcome.hanging_flags))
    return Answer(frozenset(), frozenset(outcome.states), flags, bool(outcome.hangs))


def structures(paths: Iterable[str], limit: int) -> dict[str, Structure]:
    """The tests under the paths that have at most `limit` events, by name, the small ones first."""
    found = {}
    for path in paths:
        for case in find(path):
            try:
                structure = unfold(case.parse())
            except MemcheckError:
                continue
            if len(structure.events) <= limit:
                found[structure.test.name] = structure
    return dict(sorted(found.items(), key=lambda item: len(item[1].events)))


def sensitive(structure: Structure, model: Model, changed: Sequence[Mutant]) -> set[str]:
    """Descriptions of the mutants whose changed relation has other bounds in this structure than the model's.

    Where the encoder simplifies both to one node, all that it asks of the solver is the same.
    """
    plan = Plan()
    for mutant in changed:
        for expr in (mutant.before, mutant.after):
            if expr is not None:
                plan.position(expr)
        if mutant.dropped is not None:
            plan.position(mutant.dropped.expr)
    found: set[str] = set()
    for ending in (True, False) if structure.blocking or structure.bounds else (True,):
        base = Encoding(structure, analyse(structure), model, ending=ending)
        relations = Relations(base.base, base.clauses, matrices(len(structure.events)), plan)
        found |= {mutant.description for mutant in changed if _matters(relations, mutant)}
    return found


def _matters(relations: Relations, mutant: Mutant) -> bool:
    if mutant.before is not None and mutant.after is not None:
        return relations.node(mutant.before) is not relations.node(mutant.after)
    assert mutant.dropped is not None
    node, space = relations.node(mutant.dropped.expr), relations.space
    if mutant.dropped.test is Test.EMPTY:
        return bool(node.may)
    return bool((space.closure(node.may) if mutant.dropped.test is Test.ACYCLIC else node.may) & space.identity)
