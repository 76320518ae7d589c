"""Walks over expressions: what is reachable, whether a recursive name is only used positively, what orders writes."""

from __future__ import annotations

from collections.abc import Iterable

from memcheck.relations.expression import Expr, Op, RecursiveGroup


def reachable(roots: Iterable[Expr]) -> set[Expr]:
    """All nodes below the roots, through recursive groups too."""
    seen: set[Expr] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr in seen:
            continue
        seen.add(expr)
        stack.extend(expr.args)
        if expr.op is Op.REC and expr.group is not None:
            stack.extend(expr.group.bodies)
    return seen


def check_monotone(body: Expr, group: RecursiveGroup) -> str | None:
    """The name of the group that stands in a negative place of `body`, or None."""
    seen: set[tuple[Expr, bool]] = set()
    stack = [(body, True)]
    while stack:
        expr, positive = stack.pop()
        if (expr, positive) in seen:
            continue
        seen.add((expr, positive))
        if expr.op is Op.REC and expr.group is group and not positive:
            return expr.name
        for index, arg in enumerate(expr.args):
            flips = expr.op is Op.COMPLEMENT or (expr.op is Op.DIFF and index == 1)
            stack.append((arg, positive != flips))
    return None


def orders_writes(expr: Expr) -> bool:
    """Whether the relation is made from `co` in a way that can only relate writes (or an event with itself)."""
    match expr.op:
        case Op.BASE:
            return expr.name == "co"
        case Op.PLUS | Op.STAR | Op.OPT | Op.DIFF:
            return orders_writes(expr.args[0])
        case Op.INTER:
            return any(map(orders_writes, expr.args))
        case Op.UNION | Op.SEQ:
            return all(map(orders_writes, expr.args))
        case _:
            return False
