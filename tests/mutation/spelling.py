"""Cat text of one definition's expression: what it builds on is named, not written out."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.relations.expression import Expr, Op

_BINDING = {Op.UNION: 1, Op.SEQ: 2, Op.DIFF: 3, Op.INTER: 4, Op.PRODUCT: 5}
_POSTFIX = (Op.INVERSE, Op.PLUS, Op.STAR, Op.OPT)


def spell(expr: Expr, names: Mapping[Expr, str], binding: int = 0) -> str:
    """`names`: definitions by their expressions. Parentheses where an operator that binds like `binding` needs them."""
    if expr in names:
        return names[expr]
    if expr.op in (Op.BASE, Op.REC):
        return expr.name
    if expr.op is Op.IDENTITY:
        return f"[{spell(expr.args[0], names)}]"
    if expr.op in _POSTFIX:
        return f"{spell(expr.args[0], names, 6)}{expr.op.value}"
    if expr.op in _BINDING:
        own = _BINDING[expr.op]
        left, right = expr.args
        sign = {Op.SEQ: "; "}.get(expr.op, f" {expr.op.value} ")
        text = spell(left, names, own) + sign + spell(right, names, own + 1)
        return f"({text})" if own < binding else text
    if not expr.args:
        return f"{expr.op.value}"
    return f"{expr.op.value}({', '.join(spell(arg, names) for arg in expr.args)})"
