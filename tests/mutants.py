"""Mutants of ptx.cat: each axiom, each operand of `|` and `&`, each set filter dropped in turn.

`python -m tests.mutants` runs every mutant over the suite until some test's states (or flags, or what is outside the
model) change. A mutant that nothing notices must be in IMPLIED, with the argument; then it is checked to change nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from memcheck.axiomatic.outcome import Outcome
from memcheck.axiomatic.solve import solve
from memcheck.corpus import find
from memcheck.errors import MemcheckError
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.models import load
from memcheck.relations.expression import Definition, Expr, Expressions, Model, Op, RecursiveGroup

IMPLIED: dict[str, str] = {}
"""Mutants that change nothing, by description, each with the reason why it cannot."""


@dataclass(frozen=True, slots=True)
class Mutant:
    description: str
    model: Model


def mutants(model: Model) -> Iterator[Mutant]:
    """All mutants of a model, in the order of its text."""
    for axiom in model.axioms:
        yield Mutant(f"axiom {axiom.name}", replace(model, axioms=tuple(a for a in model.axioms if a is not axiom)))
    for flag in model.flags:
        yield Mutant(f"flag {flag.name}", replace(model, flags=tuple(f for f in model.flags if f is not flag)))
    seen: set[tuple[Expr, int]] = set()
    places: list[Definition] = list(model.definitions)
    places += [Definition(a.name, a.expr, a.span) for a in (*model.axioms, *model.flags)]
    bodies = {d.expr: d.name for d in reversed(model.definitions)}
    for place in places:
        for node in _nodes(place.expr, bodies):
            for index, kept in _drops(node):
                if (node, index) not in seen:
                    seen.add((node, index))
                    what = f"{place.name}: {_spell(node, bodies)} without {_spell(node.args[index], bodies)}"
                    yield Mutant(what, _replaced(model, node, kept))


def _nodes(expr: Expr, bodies: dict[Expr, str]) -> Iterator[Expr]:
    """The nodes of one definition, down to other definitions."""
    yield expr
    for arg in expr.args:
        if arg not in bodies:
            yield from _nodes(arg, bodies)


def _drops(node: Expr) -> list[tuple[int, Expr]]:
    """(operand dropped, what is left) for each operand that can be."""
    if node.op in (Op.UNION, Op.INTER):
        return [(0, node.args[1]), (1, node.args[0])]
    if node.op is Op.DIFF:
        return [(1, node.args[0])]
    if node.op is Op.SEQ:
        return [(i, node.args[1 - i]) for i in (0, 1) if node.args[i].op is Op.IDENTITY]
    return []


def _spell(expr: Expr, bodies: dict[Expr, str], top: bool = True) -> str:
    """Cat text of an expression; definitions by name below the top."""
    if not top and expr in bodies:
        return bodies[expr]
    args = [_spell(arg, bodies, False) for arg in expr.args]
    if expr.op in (Op.BASE, Op.REC):
        return expr.name
    if expr.op is Op.IDENTITY:
        return f"[{args[0]}]"
    if len(args) == 2:
        return f"({args[0]} {expr.op.value} {args[1]})" if not top else f"{args[0]} {expr.op.value} {args[1]}"
    return f"{expr.op.value}({args[0]})" if args else expr.op.value


def _replaced(model: Model, old: Expr, new: Expr) -> Model:
    """The model with one node replaced wherever it stands."""
    factory, memo = Expressions(), {}

    def rebuild(expr: Expr) -> Expr:
        if expr is old:
            return new if new is not old else expr
        found = memo.get(expr)
        if found is None:
            if expr.op is Op.REC:
                raise NotImplementedError("recursive definitions")
            args = tuple(rebuild(arg) for arg in expr.args)
            found = memo[expr] = expr if args == expr.args else factory.node(expr.op, expr.kind, *args, name=expr.name)
        return found

    return replace(
        model,
        axioms=tuple(replace(a, expr=rebuild(a.expr)) for a in model.axioms),
        flags=tuple(replace(f, expr=rebuild(f.expr)) for f in model.flags),
        coherence=rebuild(model.coherence),
    )


Answer = tuple[frozenset[tuple[int, ...]], frozenset[object], frozenset[object], bool]


def answer(structure: Structure, model: Model) -> Answer:
    """What must not change: states, flags, outside, whether something hangs."""
    outcome: Outcome = solve(structure, model, witnesses=False)
    return frozenset(outcome.states), frozenset(outcome.flags), frozenset(f.name for f in outcome.outside), bool(outcome.hangs)


def structures(paths: list[str], limit: int) -> dict[str, Structure]:
    """The tests under the paths that a mutant run can afford, by name."""
    found = {}
    for path in paths:
        for case in find(path):
            try:
                structure = unfold(case.parse())
            except MemcheckError:
                continue
            if len(structure.events) <= limit:
                found[structure.test.name] = structure
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=[str(Path(__file__).parent.parent / "litmus")])
    parser.add_argument("--limit", type=int, default=22, help="leave out tests with more events")
    parser.add_argument("--only", help="mutants whose description has this text")
    options = parser.parse_args()
    started = time.monotonic()
    tests = structures(options.paths, options.limit)
    model = load("ptx")
    expected = {name: answer(structure, model) for name, structure in tests.items()}
    order = sorted(tests, key=lambda name: len(tests[name].events))
    survivors, implied, count = [], 0, 0
    for mutant in mutants(model):
        if options.only and options.only not in mutant.description:
            continue
        count += 1
        killer = next((name for name in order if answer(tests[name], mutant.model) != expected[name]), None)
        if killer is not None:
            order.remove(killer)
            order.insert(0, killer)
            if mutant.description in IMPLIED:
                survivors.append(f"{mutant.description}: listed as implied, but {killer} changes")
        elif mutant.description in IMPLIED:
            implied += 1
        else:
            survivors.append(mutant.description)
            print(f"not noticed: {mutant.description}", flush=True)
    print(f"{count} mutants over {len(tests)} tests, {implied} implied, {len(survivors)} faults, {time.monotonic() - started:.0f} s")
    for survivor in survivors:
        print(f"  {survivor}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
