"""A model without the names that are empty: what it says of executions that have nothing of their kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from memcheck.relations.expression import Axiom, Expr, Expressions, ExprKind, Model, Op, RecursiveGroup

_ALL_OF = (Op.INTER, Op.SEQ, Op.PRODUCT)
"""Empty where one operand is."""

_FROM_NOTHING = (Op.COMPLEMENT, Op.STAR, Op.OPT)
"""Not empty where their operand is."""


def without(model: Model, empty: frozenset[str]) -> Model:
    """The model for executions in which the base names `empty` are: the same on axioms, flags and coherence.

    Axioms that then always hold and flags that are never raised are left out, and so are definitions and shows, which
    are for readers.
    """
    return _without(model, empty & model.names)


@lru_cache(maxsize=256)
def _without(model: Model, empty: frozenset[str]) -> Model:
    folding = _Folding(empty)
    axioms = folding.all_of(a for a in model.axioms if a.negated or not folding.is_void(a.expr))
    flags = folding.all_of(f for f in model.flags if not f.negated or not folding.is_void(f.expr))
    coherence = folding.fold(model.coherence)
    interchange = None if model.interchange is None else folding.fold(model.interchange)
    return replace(
        model, definitions=(), axioms=axioms, flags=flags, shows=(), coherence=coherence,
        names=frozenset(folding.names), interchange=interchange,
    )  # fmt: skip


class _Folding:
    """Expressions over fewer names; `names`: those that the folded ones still use."""

    def __init__(self, empty: frozenset[str]) -> None:
        self.names: set[str] = set()
        self._empty = empty
        self._made = Expressions()
        self._folded: dict[Expr, Expr] = {}
        self._groups: dict[RecursiveGroup, RecursiveGroup] = {}
        self._void: dict[Expr, bool] = {}
        self._void_names: dict[RecursiveGroup, list[bool]] = {}

    def all_of(self, assertions: Iterable[Axiom]) -> tuple[Axiom, ...]:
        return tuple(replace(one, expr=self.fold(one.expr)) for one in assertions)

    # ---- what is empty

    def is_void(self, expr: Expr) -> bool:
        """Whether it is empty whatever the other names are."""
        found = self._void.get(expr)
        if found is None:
            found = self._void[expr] = self._find_void(expr)
        return found

    def _find_void(self, expr: Expr) -> bool:
        op, args = expr.op, expr.args
        if op is Op.BASE:
            return expr.name in self._empty
        if op is Op.EMPTY:
            return True
        if op is Op.REC:
            assert expr.group is not None
            if expr.group not in self._void_names:
                self._solve(expr.group)
            return self._void_names[expr.group][expr.index]
        if op in _ALL_OF:
            return self.is_void(args[0]) or self.is_void(args[1])
        if op is Op.UNION:
            return self.is_void(args[0]) and self.is_void(args[1])
        return op not in _FROM_NOTHING and self.is_void(args[0])

    def _solve(self, group: RecursiveGroup) -> None:
        """The names whose bodies are empty as long as these names are: they are in the least solution."""
        self._void_names[group] = [True for _ in group.bodies]
        while True:
            known = set(self._void)
            found = [self.is_void(body) for body in group.bodies]
            if found == self._void_names[group]:
                return
            for expr in set(self._void) - known:
                del self._void[expr]  # may rest on a name that is not empty
            self._void_names[group] = found

    # ---- what is left

    def fold(self, expr: Expr) -> Expr:
        """The expression over the other names."""
        found = self._folded.get(expr)
        if found is None:
            nothing = self.is_void(expr)
            found = self._folded[expr] = self._made.node(Op.EMPTY, expr.kind) if nothing else self._fold(expr)
        return found

    def _fold(self, expr: Expr) -> Expr:
        op, kind, args = expr.op, expr.kind, expr.args
        if op is Op.BASE:
            return self._name(expr.name, kind)
        if op is Op.REC:
            assert expr.group is not None
            return self._made.recursive(self._group(expr.group), expr.index, kind)
        if self.is_void(args[0]):
            if op in (Op.STAR, Op.OPT):
                return self._name("id", kind)
            if op is Op.UNION:
                return self.fold(args[1])
        first = self.fold(args[0])
        if len(args) == 1:
            return self._made.node(op, kind, first)
        second = self.fold(args[1])
        if op in (Op.UNION, Op.DIFF) and self.is_void(args[1]):
            return first
        if first is second and op in (Op.UNION, Op.INTER):
            return first
        if op is Op.SEQ and _is_identity(first):
            return second
        if op is Op.SEQ and _is_identity(second):
            return first
        return self._made.node(op, kind, first, second)

    def _name(self, name: str, kind: ExprKind) -> Expr:
        self.names.add(name)
        return self._made.node(Op.BASE, kind, name=name)

    def _group(self, group: RecursiveGroup) -> RecursiveGroup:
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = RecursiveGroup(group.names)
            found.bodies = tuple(self.fold(body) for body in group.bodies)
        return found


def _is_identity(expr: Expr) -> bool:
    return expr.op is Op.BASE and expr.name == "id"
