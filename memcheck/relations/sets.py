"""Concrete evaluation of a model in one execution: expressions, axioms and flags over bit masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memcheck.relations.expression import Axiom, Expr, ExprKind, Model, Op, RecursiveGroup, Test
from memcheck.relations.matrix import matrices
from memcheck.relations.rows import Rows, bits, cycle, pairs

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
    return evaluator.passes(axiom) != axiom.negated


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
    Inside, a relation is one integer (`matrix`); what goes in and out has rows. `known`: values of nodes that an
    evaluator over the same base found before (`known_over`).
    """

    def __init__(
        self, base: Mapping[str, Denotation], size: int, from_read: FromRead, known: Mapping[Expr, int] | None = None
    ) -> None:
        self.base = base
        self.size = size
        self.from_read = from_read
        universe = base["_"]
        assert isinstance(universe, int)
        self.universe: int = universe
        self._space = matrices(size)
        self._identity = self._space.diagonal(universe)
        self._everything = self._space.product(universe, universe)
        self._memo: dict[Expr, int] = dict(known or ())
        self._rounds: dict[RecursiveGroup, list[int]] = {}

    def value(self, expr: Expr) -> Denotation:
        return self.set(expr) if expr.kind is ExprKind.SET else self.relation(expr)

    def relation(self, expr: Expr) -> Rows:
        """A relation, as rows."""
        return tuple(self._space.rows(self._bits(expr)))

    def set(self, expr: Expr) -> int:
        """A set, as a mask."""
        return self._bits(expr)

    def passes(self, axiom: Axiom) -> bool:
        """Whether the axiom's test is true of its expression, before any `~`."""
        value = self._bits(axiom.expr)
        if axiom.test is Test.EMPTY or axiom.expr.kind is ExprKind.SET:
            return not value
        if axiom.test is Test.ACYCLIC:
            value = self._space.closure(value)
        return not value & self._space.identity

    def known_over(self, names: frozenset[str]) -> dict[Expr, int]:
        """The values found so far of nodes that only these base names decide."""
        rests: dict[Expr, bool] = {}

        def rests_on(expr: Expr) -> bool:
            found = rests.get(expr)
            if found is None:
                if expr.op is Op.BASE:
                    found = expr.name in names
                else:
                    found = expr.op not in (Op.REC, Op.FROM_READ) and all(map(rests_on, expr.args))
                rests[expr] = found
            return found

        return {expr: value for expr, value in self._memo.items() if rests_on(expr)}

    def _bits(self, expr: Expr) -> int:
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._compute(expr)
        return found

    def _compute(self, expr: Expr) -> int:
        op, args = expr.op, expr.args
        if op is Op.BASE:
            value = self.base[expr.name]
            return value if isinstance(value, int) else self._space.from_rows(value)
        if op is Op.REC:
            assert expr.group is not None
            if expr.group not in self._rounds:
                self._solve(expr.group)
            return self._rounds[expr.group][expr.index]
        if op is Op.EMPTY:
            return 0
        first = self._bits(args[0])
        if op is Op.UNION:
            return first | self._bits(args[1])
        if op is Op.INTER:
            return first & self._bits(args[1]) if first else 0
        if op is Op.DIFF:
            return first & ~self._bits(args[1]) if first else 0
        if op is Op.SEQ:
            return self._space.compose(first, self._bits(args[1])) if first else 0
        if op is Op.PRODUCT:
            return self._space.product(first, self._bits(args[1])) if first else 0
        return self._of_one(op, expr.kind, first)

    def _of_one(self, op: Op, kind: ExprKind, first: int) -> int:
        space = self._space
        if op is Op.IDENTITY:
            return space.diagonal(first)
        if op is Op.DOMAIN:
            return space.domain(first)
        if op is Op.RANGE:
            return space.range(first)
        if op is Op.COMPLEMENT:
            return (self.universe if kind is ExprKind.SET else self._everything) & ~first
        if op is Op.INVERSE:
            return space.inverse(first)
        if op is Op.PLUS:
            return space.closure(first)
        if op is Op.STAR:
            return space.closure(first) | self._identity
        if op is Op.OPT:
            return first | self._identity
        if op is Op.FROM_READ:
            return space.from_rows(self.from_read(tuple(space.rows(first))))
        raise AssertionError(op)

    def _solve(self, group: RecursiveGroup) -> None:
        """Least fixed point from the empty set up: the bodies are monotone, so each round only adds."""
        self._rounds[group] = [0 for _ in group.bodies]
        while True:
            known = set(self._memo)
            values = [self._bits(body) for body in group.bodies]
            if values == self._rounds[group]:
                return
            for expr in set(self._memo) - known:
                del self._memo[expr]  # may rest on the round before
            self._rounds[group] = values
