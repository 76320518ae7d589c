"""Expressions of a model as matrices of truth values, exact in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memcheck.plain.truth import Truth, conj, disj_all, neg, term
from memcheck.relations.expression import Axiom, Expr, ExprKind, Op, RecursiveGroup, Test

Key = tuple[int, ...]
Table = dict[Key, Truth]
"""A set by (event,), a relation by (event, event): the condition of each that can be in it."""


class Algebra:
    """Tables by node. `base` makes those of the base names, `executed` are all events' conditions."""

    def __init__(
        self,
        executed: Mapping[int, Truth],
        base: Callable[[str], Table],
        from_read: Callable[[Table], Table],
    ) -> None:
        self.executed: Table = {(event,): truth for event, truth in executed.items() if truth is not False}
        self._base = base
        self._from_read = from_read
        self._memo: dict[Expr, Table] = {}
        self._rounds: dict[RecursiveGroup, list[Table]] = {}

    def value(self, expr: Expr) -> Table:
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._compute(expr)
        return found

    def violations(self, axiom: Axiom) -> Table:
        """Conditions under which the axiom's test is false: by pair, by event, for a cycle by an event on it."""
        table = self.value(axiom.expr)
        if axiom.expr.kind is ExprKind.SET or axiom.test is Test.EMPTY:
            return dict(table)
        if axiom.test is Test.ACYCLIC:
            table = closure(table)
        return {key[:1]: truth for key, truth in table.items() if key[0] == key[1]}

    def holds(self, axiom: Axiom) -> Truth:
        broken = disj_all(self.violations(axiom).values())
        return broken if axiom.negated else neg(broken)

    # ---- nodes

    def _compute(self, expr: Expr) -> Table:
        op, args = expr.op, expr.args
        if op is Op.BASE:
            return self._base(expr.name)
        if op is Op.EMPTY:
            return {}
        if op is Op.REC:
            assert expr.group is not None
            if expr.group not in self._rounds:
                self._solve(expr.group)
            return self._rounds[expr.group][expr.index]
        if op in (Op.UNION, Op.INTER, Op.DIFF, Op.COMPLEMENT):
            return self._boolean(expr)
        if op is Op.PRODUCT:
            left, right = self.value(args[0]), self.value(args[1])
            return _kept({i + j: conj(a, b) for i, a in left.items() for j, b in right.items()})
        if op is Op.IDENTITY:
            return {i + i: truth for i, truth in self.value(args[0]).items()}
        return self._relational(op, args)

    def _boolean(self, expr: Expr) -> Table:
        first = self.value(expr.args[0])
        if expr.op is Op.COMPLEMENT:
            return _kept({key: conj(truth, neg(first.get(key, False))) for key, truth in self._all(expr.kind).items()})
        second = self.value(expr.args[1])
        if expr.op is Op.UNION:
            return _union(first, second)
        if expr.op is Op.INTER:
            return _kept({key: conj(truth, second[key]) for key, truth in first.items() if key in second})
        return _kept({key: conj(truth, neg(second.get(key, False))) for key, truth in first.items()})

    def _all(self, kind: ExprKind) -> Table:
        if kind is ExprKind.SET:
            return self.executed
        return {i + j: conj(a, b) for i, a in self.executed.items() for j, b in self.executed.items()}

    def _relational(self, op: Op, args: tuple[Expr, ...]) -> Table:
        first = self.value(args[0])
        match op:
            case Op.DOMAIN | Op.RANGE:
                ways: dict[Key, list[Truth]] = {}
                for key, truth in first.items():
                    ways.setdefault(key[:1] if op is Op.DOMAIN else key[1:], []).append(truth)
                return {event: disj_all(truths) for event, truths in ways.items()}
            case Op.INVERSE:
                return {key[::-1]: truth for key, truth in first.items()}
            case Op.SEQ:
                return compose(first, self.value(args[1]))
            case Op.PLUS:
                return closure(first)
            case Op.OPT:
                return self._reflexive(first)
            case Op.STAR:
                return self._reflexive(closure(first))
            case Op.FROM_READ:
                return self._from_read(first)
            case _:
                raise AssertionError(op)

    def _reflexive(self, table: Table) -> Table:
        return {**table, **{i + i: truth for i, truth in self.executed.items()}}

    def _solve(self, group: RecursiveGroup) -> None:
        """The least fixed point, round by round from nothing.

        A member of it has a derivation in which no member occurs twice on a way down, so that as many rounds as there
        are possible members suffice; most models stand still after a few.
        """
        self._rounds[group] = [{} for _ in group.bodies]
        done = 0
        while True:
            known = set(self._memo)
            values = [self.value(body) for body in group.bodies]
            for expr in set(self._memo) - known:
                del self._memo[expr]
            still = all(_same(old, new) for old, new in zip(self._rounds[group], values, strict=True))
            grown = sum(map(len, values)) > sum(map(len, self._rounds[group]))
            self._rounds[group] = values
            done = 1 if grown else done + 1
            if still or done > sum(map(len, values)):
                return


def _same(old: Table, new: Table) -> bool:
    """Whether every condition is the very same term."""
    if old.keys() != new.keys():
        return False
    return all(a is new[key] or (not isinstance(a, bool) and term(new[key]).eq(a)) for key, a in old.items())


def _kept(table: Table) -> Table:
    return {key: truth for key, truth in table.items() if truth is not False}


def _union(first: Table, second: Table) -> Table:
    keys = dict.fromkeys((*first, *second))
    return {key: disj_all((first.get(key, False), second.get(key, False))) for key in keys}


def compose(first: Table, second: Table) -> Table:
    """first ; second."""
    rows: dict[int, list[tuple[int, Truth]]] = {}
    for (j, k), truth in second.items():
        rows.setdefault(j, []).append((k, truth))
    ways: dict[Key, list[Truth]] = {}
    for (i, j), truth in first.items():
        for k, other in rows.get(j, ()):
            ways.setdefault((i, k), []).append(conj(truth, other))
    return _kept({pair: disj_all(truths) for pair, truths in ways.items()})


def closure(table: Table) -> Table:
    """The transitive closure, by squaring: after k rounds it has all paths of up to 2^k steps."""
    events = {event for pair in table for event in pair}
    result, reach = table, 1
    while reach < len(events):
        longer = compose(result, result)
        if not longer:
            break
        result = _union(result, longer)
        reach *= 2
    return result
