"""Values as z3 bit vectors; those of width 1 as truth values."""

from __future__ import annotations

from typing import Any

import z3

from memcheck.events.value import OPERATIONS, Value
from memcheck.plain.truth import Truth, conj, disj, neg, term

_BITS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "lshr": z3.LShR,
    "ashr": lambda a, b: a >> b,
    "udiv": z3.UDiv,
    "urem": z3.URem,
    "sdiv": lambda a, b: a / b,
    "srem": z3.SRem,
}
_COMPARE = {"eq": lambda a, b: a == b, "ult": z3.ULT, "slt": lambda a, b: a < b}
_FLOATS = {"fadd16": (5, 11), "fadd32": (8, 24), "fadd64": (11, 53)}


class Terms:
    """Translates value nodes, once each. Reads and choices are the variables `r<event>` and `c<index>`."""

    def __init__(self) -> None:
        self._bits: dict[Value, Any] = {}
        self._truths: dict[Value, Truth] = {}

    def read(self, event: int, width: int) -> Any:
        return z3.BitVec(f"r{event}", width)

    def choice(self, index: int, width: int) -> Any:
        return z3.BitVec(f"c{index}", width)

    def bits(self, value: Value) -> Any:
        """The value as a bit vector of its width."""
        found = self._bits.get(value)
        if found is None:
            for part in _operands_first(value, self._bits):
                self._bits[part] = self._translate(part)
            found = self._bits[value]
        return found

    def truth(self, value: Value) -> Truth:
        """A value of width 1 as a truth value."""
        found = self._truths.get(value)
        if found is None:
            for part in _operands_first(value, self._truths):
                if part.width == 1:
                    self._truths[part] = self._condition(part)
            found = self._truths[value]
        return found

    def equals(self, value: Value, number: int) -> Truth:
        if value.is_const:
            return value.payload == number
        return self.bits(value) == number

    def _condition(self, value: Value) -> Truth:
        if value.is_const:
            return bool(value.payload)
        if value.op in _COMPARE and value.args[0].width > 1:
            return _COMPARE[value.op](self.bits(value.args[0]), self.bits(value.args[1]))
        if value.op in ("and", "or", "xor", "eq") or (value.op == "ite"):
            a, b = (self.truth(arg) for arg in value.args[:2])
            if value.op == "and":
                return conj(a, b)
            if value.op == "or":
                return disj(a, b)
            if value.op == "ite":
                return disj(conj(a, b), conj(neg(a), self.truth(value.args[2])))
            same = disj(conj(a, b), conj(neg(a), neg(b)))
            return same if value.op == "eq" else neg(same)
        return self._operation(value) == 1

    def _translate(self, value: Value) -> Any:
        if value.is_const:
            return z3.BitVecVal(value.payload, value.width)
        if value.width == 1:
            return z3.If(term(self.truth(value)), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        return self._operation(value)

    def _operation(self, value: Value) -> Any:
        op, args = value.op, value.args
        if op == "read":
            return self.read(value.payload, value.width)
        if op == "choice":
            return self.choice(value.payload, value.width)
        if op == "ite":
            return z3.If(term(self.truth(args[0])), self.bits(args[1]), self.bits(args[2]))
        operands = [self.bits(arg) for arg in args]
        if op == "zext":
            return z3.ZeroExt(value.width - args[0].width, operands[0])
        if op == "sext":
            return z3.SignExt(value.width - args[0].width, operands[0])
        if op == "extract":
            return z3.Extract(value.payload + value.width - 1, value.payload, operands[0])
        if op == "concat":
            return z3.Concat(operands[0], operands[1])
        if op in _COMPARE:
            return z3.If(_COMPARE[op](operands[0], operands[1]), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        if op in _FLOATS:
            return _float_add(op, operands[0], operands[1], value.width)
        return _BITS[op](operands[0], operands[1])


def _float_add(op: str, a: Any, b: Any, width: int) -> Any:
    """IEEE addition; a NaN comes out as the concrete evaluator makes it of two infinities."""
    sort = z3.FPSort(*_FLOATS[op])
    total = z3.fpAdd(z3.RNE(), z3.fpBVToFP(a, sort), z3.fpBVToFP(b, sort))
    exponent, significand = _FLOATS[op]
    infinity = ((1 << exponent) - 1) << (significand - 1)
    nan = OPERATIONS[op](infinity, infinity | 1 << (width - 1), width) & ((1 << width) - 1)
    return z3.If(z3.fpIsNaN(total), z3.BitVecVal(nan, width), z3.fpToIEEEBV(total))


def _operands_first(value: Value, done: dict[Value, Any]) -> list[Value]:
    """The nodes below `value` that are not translated yet, operands before what uses them."""
    order: list[Value] = []
    seen: set[Value] = set()
    stack = [(value, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif node not in seen and node not in done:
            seen.add(node)
            stack.append((node, True))
            stack.extend((arg, False) for arg in node.args)
    return order
