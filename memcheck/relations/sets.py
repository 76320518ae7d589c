"""Concrete evaluation of a model in one execution: expressions, axioms and flags over bit masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memcheck.relations.expression import Axiom, Expr, ExprKind, Model, Op, RecursiveGroup, Test
from memcheck.relations.rows import Rows, bits, closure, compose, cycle, inverse, pairs

Denotation = int | Rows
"""A mask for a set, rows for a relation."""

FromRead = Callable[[Rows], Rows]
"""from-read of an execution (ISA 8.9.7.3): over the writes' order, the reads before writes."""


def consistent(model: Model, base: Mapping[str, Denotation], size: int, from_read: FromRead) -> Axiom | None:
    """The first axiom that does not hold, None where all do."""
    evaluator = Evaluator(base, size, from_read)
    return next((axiom for axiom in model.axioms if not holds(axiom, evaluator)), None)


def flags(
    model: Model, base: Mapping[str, Denotation], size: int, from_read: FromRead
) -> list[tuple[Axiom, tuple[tuple[int, ...], ...]]]:
    """The flags whose test holds, each with what its expression has: pairs, single events, or one cycle."""
    evaluator = Evaluator(base, size, from_read)
    return [(flag, violations(flag, evaluator)) for flag in model.flags if holds(flag, evaluator)]


def holds(axiom: Axiom, evaluator: Evaluator) -> bool:
    return (not violations(axiom, evaluator)) != axiom.negated


def violations(axiom: Axiom, evaluator: Evaluator) -> tuple[tuple[int, ...], ...]:
    """What makes `axiom.test` false: pairs, single events, or one cycle as the tuple of its events in order."""
    if axiom.expr.kind is ExprKind.SET:
        return tuple((event,) for event in bits(evaluator.set(axiom.expr)))
    rows = evaluator.relation(axiom.expr)
    if axiom.test is Test.EMPTY:
        return tuple(pairs(rows))
    if axiom.test is Test.IRREFLEXIVE:
        return tuple((i,) for i, row in enumerate(rows) if row >> i & 1)
    found = cycle(rows)
    return () if found is None else (found,)


class Evaluator:
    """Values of a model's expressions in one execution, memoised by node.

    `base`: every base name that the expressions use, restricted to the executed events; `base["_"]` is all of them.
    """

    def __init__(self, base: Mapping[str, Denotation], size: int, from_read: FromRead) -> None:
        self.base = base
        self.size = size
        self.from_read = from_read
        universe = base["_"]
        assert isinstance(universe, int)
        self.universe: int = universe
        self.identity: Rows = tuple(universe & 1 << i for i in range(size))
        self._memo: dict[Expr, Denotation] = {}
        self._rounds: dict[RecursiveGroup, list[Denotation]] = {}

    def value(self, expr: Expr) -> Denotation:
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._compute(expr)
        return found

    def relation(self, expr: Expr) -> Rows:
        value = self.value(expr)
        assert not isinstance(value, int), expr
        return value

    def set(self, expr: Expr) -> int:
        value = self.value(expr)
        assert isinstance(value, int), expr
        return value

    def _compute(self, expr: Expr) -> Denotation:
        if expr.op is Op.BASE:
            return self.base[expr.name]
        if expr.op is Op.REC:
            assert expr.group is not None
            if expr.group not in self._rounds:
                self._solve(expr.group)
            return self._rounds[expr.group][expr.index]
        if expr.op is Op.EMPTY:
            return 0 if expr.kind is ExprKind.SET else (0,) * self.size
        if expr.op in (Op.PRODUCT, Op.IDENTITY):
            return self._of_sets(expr)
        if expr.kind is ExprKind.SET:
            return self._set(expr)
        return self._relation(expr)

    def _of_sets(self, expr: Expr) -> Rows:
        left = self.set(expr.args[0])
        if expr.op is Op.IDENTITY:
            return tuple(left & 1 << i for i in range(self.size))
        right = self.set(expr.args[1])
        return tuple(right if left >> i & 1 else 0 for i in range(self.size))

    def _set(self, expr: Expr) -> int:
        match expr.op:
            case Op.DOMAIN:
                return sum(1 << i for i, row in enumerate(self.relation(expr.args[0])) if row)
            case Op.RANGE:
                reached = 0
                for row in self.relation(expr.args[0]):
                    reached |= row
                return reached
            case Op.COMPLEMENT:
                return self.universe & ~self.set(expr.args[0])
        left, right = (self.set(arg) for arg in expr.args)
        match expr.op:
            case Op.UNION:
                return left | right
            case Op.INTER:
                return left & right
            case Op.DIFF:
                return left & ~right
        raise AssertionError(expr.op)

    def _relation(self, expr: Expr) -> Rows:
        first = self.relation(expr.args[0])
        match expr.op:
            case Op.INVERSE:
                return inverse(first)
            case Op.PLUS:
                return closure(first)
            case Op.STAR:
                return self._reflexive(closure(first))
            case Op.OPT:
                return self._reflexive(first)
            case Op.FROM_READ:
                return self.from_read(first)
            case Op.COMPLEMENT:
                return tuple(self.universe & ~row if one else 0 for row, one in zip(first, self.identity, strict=True))
        second = self.relation(expr.args[1])
        match expr.op:
            case Op.SEQ:
                return compose(first, second)
            case Op.UNION:
                return tuple(a | b for a, b in zip(first, second, strict=True))
            case Op.INTER:
                return tuple(a & b for a, b in zip(first, second, strict=True))
            case Op.DIFF:
                return tuple(a & ~b for a, b in zip(first, second, strict=True))
        raise AssertionError(expr.op)

    def _reflexive(self, rows: Rows) -> Rows:
        return tuple(row | one for row, one in zip(rows, self.identity, strict=True))

    def _solve(self, group: RecursiveGroup) -> None:
        """Least fixed point from the empty set up: the bodies are monotone, so each round only adds."""
        empty: list[Denotation] = [0 if b.kind is ExprKind.SET else (0,) * self.size for b in group.bodies]
        self._rounds[group] = empty
        while True:
            known = set(self._memo)
            values = [self.value(body) for body in group.bodies]
            if values == self._rounds[group]:
                return
            for expr in set(self._memo) - known:
                del self._memo[expr]  # may rest on the round before
            self._rounds[group] = values
