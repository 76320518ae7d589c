"""A model's expressions as a flat list, made once a model: every structure walks the list instead of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memcheck.relations.expression import Expr, ExprKind, Model, Op, RecursiveGroup

Opcode = int
(
    BASE,
    EMPTY,
    UNION,
    INTER,
    DIFF,
    COMPLEMENT_SET,
    COMPLEMENT,
    PRODUCT,
    IDENTITY,
    DOMAIN,
    RANGE,
    SEQ,
    INVERSE,
    PLUS,
    STAR,
    OPT,
    FROM_READ,
    REC,
) = range(18)

_OPCODES: dict[Op, Opcode] = {
    Op.BASE: BASE,
    Op.EMPTY: EMPTY,
    Op.UNION: UNION,
    Op.INTER: INTER,
    Op.DIFF: DIFF,
    Op.COMPLEMENT: COMPLEMENT,
    Op.PRODUCT: PRODUCT,
    Op.IDENTITY: IDENTITY,
    Op.DOMAIN: DOMAIN,
    Op.RANGE: RANGE,
    Op.SEQ: SEQ,
    Op.INVERSE: INVERSE,
    Op.PLUS: PLUS,
    Op.STAR: STAR,
    Op.OPT: OPT,
    Op.FROM_READ: FROM_READ,
    Op.REC: REC,
}


@dataclass(frozen=True, slots=True)
class Step:
    """One expression: operator, operands by position in the plan, base name, recursive group and index in it, kind."""

    opcode: Opcode
    first: int = -1
    second: int = -1
    name: str = ""
    group: RecursiveGroup | None = None
    index: int = 0
    is_set: bool = False


class Plan:
    """Positions of expressions in `steps`; operands come before what uses them, but for recursive names."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._positions: dict[Expr, int] = {}
        self.bodies: dict[RecursiveGroup, list[int]] = {}

    def position(self, expr: Expr) -> int:
        """The place of an expression, entered with all below it."""
        found = self._positions.get(expr)
        if found is None:
            first, second = [*(self.position(arg) for arg in expr.args), -1, -1][:2]
            opcode = _OPCODES[expr.op]
            if expr.op is Op.COMPLEMENT and expr.kind is ExprKind.SET:
                opcode = COMPLEMENT_SET
            is_set = expr.kind is ExprKind.SET
            step = Step(opcode, first, second, expr.name, expr.group, expr.index, is_set)
            found = self._positions[expr] = len(self.steps)
            self.steps.append(step)
            if expr.group is not None and expr.group not in self.bodies:
                self.bodies[expr.group] = []
                self.bodies[expr.group] = [self.position(body) for body in expr.group.bodies]
        return found


@lru_cache(maxsize=256)
def plan_of(model: Model) -> Plan:
    """The plan of all that a model's axioms, flags and final states need."""
    plan = Plan()
    for axiom in (*model.axioms, *model.flags):
        plan.position(axiom.expr)
    plan.position(model.coherence)
    if model.interchange is not None:
        plan.position(model.interchange)
    return plan
