"""All mutants of a model: each axiom, flag, operand of `|` and `&`, and filter dropped, one place at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from memcheck.relations.expression import Axiom, Expr, Expressions, ExprKind, Model, Op
from tests.mutation.spelling import spell


@dataclass(frozen=True, slots=True)
class Mutant:
    """`before` became `after` in `model`; where a whole axiom or flag is dropped it is `dropped` instead."""

    description: str
    model: Model
    before: Expr | None = None
    after: Expr | None = None
    dropped: Axiom | None = None


Path = tuple[int, ...]
"""Which operand at each level, from a definition's expression down."""


def mutants(model: Model) -> list[Mutant]:
    """In the order of the text; the description of each is its own. None is known to let operations change places."""
    model = replace(model, interchange=None)
    found = [
        Mutant(f"axiom {a.name}", replace(model, axioms=_without(model.axioms, a)), dropped=a) for a in model.axioms
    ]
    found += [Mutant(f"flag {f.name}", replace(model, flags=_without(model.flags, f)), dropped=f) for f in model.flags]
    names = {d.expr: d.name for d in reversed(model.definitions) if d.expr.args}
    used = _used(model)
    for definition in model.definitions:
        if names.get(definition.expr) == definition.name and definition.expr in used:
            for text, after in _changes(definition.expr, names):
                changed = _replaced(model, definition.expr, after)
                found.append(Mutant(f"{definition.name}: {text}", changed, definition.expr, after))
    for axiom in (*model.axioms, *model.flags):
        if axiom.expr not in names:
            for text, after in _changes(axiom.expr, names):
                changed = _with_axiom(model, axiom, replace(axiom, expr=after))
                found.append(Mutant(f"{axiom.name}: {text}", changed, axiom.expr, after))
    return _numbered(found)


def _without(axioms: tuple[Axiom, ...], one: Axiom) -> tuple[Axiom, ...]:
    return tuple(a for a in axioms if a is not one)


def _with_axiom(model: Model, old: Axiom, new: Axiom) -> Model:
    return replace(
        model,
        axioms=tuple(new if a is old else a for a in model.axioms),
        flags=tuple(new if f is old else f for f in model.flags),
    )


def _numbered(found: list[Mutant]) -> list[Mutant]:
    seen: Counter[str] = Counter()
    result = []
    for mutant in found:
        seen[mutant.description] += 1
        number = seen[mutant.description]
        result.append(mutant if number == 1 else replace(mutant, description=f"{mutant.description} ({number})"))
    return result


def _used(model: Model) -> set[Expr]:
    """All expressions that axioms, flags and final states rest on."""
    found: set[Expr] = set()
    waiting = [*(a.expr for a in (*model.axioms, *model.flags)), model.coherence]
    while waiting:
        expr = waiting.pop()
        if expr not in found:
            found.add(expr)
            waiting += expr.args
    return found


def _changes(root: Expr, names: Mapping[Expr, str]) -> Iterator[tuple[str, Expr]]:
    """What is changed in one definition, and its expression then."""
    factory = Expressions()
    inner = {expr: name for expr, name in names.items() if expr is not root}
    for path, node in _places(root, inner, ()):
        for text, after in _drops(factory, node, inner):
            yield text, _put(factory, root, path, after)


def _places(expr: Expr, inner: Mapping[Expr, str], path: Path) -> Iterator[tuple[Path, Expr]]:
    """Every place of one definition's text: the definitions that it uses are places of their own."""
    if expr not in inner:
        yield path, expr
        for index, arg in enumerate(expr.args):
            yield from _places(arg, inner, (*path, index))


def _drops(factory: Expressions, node: Expr, inner: Mapping[Expr, str]) -> Iterator[tuple[str, Expr]]:
    args = node.args
    if node.op in (Op.UNION, Op.INTER):
        for index, arg in enumerate(args):
            if arg.op is not node.op or arg in inner:  # a longer chain's operands are dropped one by one
                yield f"without {spell(arg, inner)}", args[1 - index]
    elif node.op is Op.DIFF:
        yield f"without \\ {spell(args[1], inner, 4)}", args[0]
    elif node.op is Op.SEQ:
        for index, arg in enumerate(args):
            if arg.op is Op.IDENTITY and arg not in inner:
                yield f"without {spell(arg, inner)}", args[1 - index]
    elif node.op is Op.PRODUCT:
        anything = factory.node(Op.BASE, ExprKind.SET, name="_")
        for index, arg in enumerate(args):
            if arg.name != "_":
                pair = [anything, args[1]] if index == 0 else [args[0], anything]
                side = "left" if index == 0 else "right"
                yield f"{spell(node, inner)} with anything on its {side}", factory.node(node.op, node.kind, *pair)
    elif node.op in (Op.OPT, Op.STAR):
        yield f"{spell(node, inner)} never empty", args[0]
        yield f"{spell(node, inner)} always empty", factory.node(Op.BASE, node.kind, name="id")
    elif node.op is Op.PLUS:
        yield f"{spell(node, inner)} one step only", args[0]


def _put(factory: Expressions, expr: Expr, path: Path, new: Expr) -> Expr:
    if not path:
        return new
    args = list(expr.args)
    args[path[0]] = _put(factory, args[path[0]], path[1:], new)
    return factory.node(expr.op, expr.kind, *args, name=expr.name)


def _replaced(model: Model, old: Expr, new: Expr) -> Model:
    """The model with one definition's expression replaced wherever it is used."""
    factory = Expressions()
    memo = {old: new}

    def rebuild(expr: Expr) -> Expr:
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
