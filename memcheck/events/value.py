"""Values that registers, addresses and guards can have: hash-consed bit-vector expressions over reads.

Operations have the meaning of SMT-LIB's bit vectors (shifts past the width give 0 or sign bits,
unsigned division by zero gives all ones), so that every engine can take them as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

Children = tuple["Value", ...]


class Value:
    """One node; equal nodes of one `Values` are the same object. `width` in bits, 1 for truth values.

    op is `const` (payload: the number), `read` (payload: index of the read event), `choice` (payload: index of a
    free choice of the execution), `extract` (payload: lowest bit taken), or a key of OPERATIONS.
    """

    __slots__ = ("args", "op", "payload", "support", "width")

    def __init__(self, op: str, args: Children, width: int, payload: int) -> None:
        self.op = op
        self.args = args
        self.width = width
        self.payload = payload
        support: frozenset[int] = frozenset((payload,)) if op == "read" else frozenset()
        for arg in args:
            if not arg.support <= support:
                support |= arg.support
        self.support: frozenset[int] = support
        """The read events below this node."""

    @property
    def is_const(self) -> bool:
        return self.op == "const"

    def __repr__(self) -> str:
        if self.op in ("const", "read", "choice"):
            return f"{self.payload}" if self.op == "const" else f"{self.op}{self.payload}"
        return f"{self.op}({', '.join(map(repr, self.args))})"


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _float(code: str) -> Callable[[Callable[[float, float], float]], Callable[[int, int, int], int]]:
    size = struct.calcsize(code)

    def lift(function: Callable[[float, float], float]) -> Callable[[int, int, int], int]:
        def apply(a: int, b: int, _width: int) -> int:
            x = struct.unpack(code, a.to_bytes(size, "little"))[0]
            y = struct.unpack(code, b.to_bytes(size, "little"))[0]
            try:
                return int.from_bytes(struct.pack(code, function(x, y)), "little")
            except OverflowError:
                return int.from_bytes(struct.pack(code, float("inf")), "little")

        return apply

    return lift


def _sdiv(a: int, b: int, w: int) -> int:
    x, y = _signed(a, w), _signed(b, w)
    if y == 0:
        return 1 if x < 0 else (1 << w) - 1
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _srem(a: int, b: int, w: int) -> int:
    x, y = _signed(a, w), _signed(b, w)
    if y == 0:
        return a
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, _w: a + b,
    "sub": lambda a, b, _w: a - b,
    "mul": lambda a, b, _w: a * b,
    "and": lambda a, b, _w: a & b,
    "or": lambda a, b, _w: a | b,
    "xor": lambda a, b, _w: a ^ b,
    "shl": lambda a, b, w: a << b if b < w else 0,
    "lshr": lambda a, b, w: a >> b if b < w else 0,
    "ashr": lambda a, b, w: _signed(a, w) >> min(b, w - 1),
    "udiv": lambda a, b, w: a // b if b else (1 << w) - 1,
    "urem": lambda a, b, _w: a % b if b else a,
    "sdiv": _sdiv,
    "srem": _srem,
    "eq": lambda a, b, _w: int(a == b),
    "ult": lambda a, b, _w: int(a < b),
    "slt": lambda a, b, w: int(_signed(a, w) < _signed(b, w)),
    "fadd16": _float("<e")(lambda x, y: x + y),
    "fadd32": _float("<f")(lambda x, y: x + y),
    "fadd64": _float("<d")(lambda x, y: x + y),
}
"""Binary operations: (a, b, width of the operands) -> result, taken modulo the node's width.

Besides these: `ite` (condition, then, else), `zext`, `sext`, `extract`, `concat` (high, low).
Comparisons give width 1. `fadd*` is IEEE addition, round to nearest even.
"""

_COMPARISONS = frozenset(("eq", "ult", "slt"))


class Values:
    """Makes nodes of one structure: hash-consed, constants folded, trivial identities simplified."""

    def __init__(self) -> None:
        self._table: dict[tuple[str, Children, int, int], Value] = {}
        self.true = self.const(1, 1)
        self.false = self.const(0, 1)

    def _node(self, op: str, args: Children, width: int, payload: int = 0) -> Value:
        key = (op, args, width, payload)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Value(op, args, width, payload)
        return found

    def const(self, number: int, width: int) -> Value:
        return self._node("const", (), width, number & ((1 << width) - 1))

    def read(self, event: int, width: int) -> Value:
        return self._node("read", (), width, event)

    def choice(self, index: int, width: int) -> Value:
        return self._node("choice", (), width, index)

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """`op` of OPERATIONS over two values of one width."""
        if a.width != b.width:
            raise ValueError(f"{op} of widths {a.width} and {b.width}")
        width = 1 if op in _COMPARISONS else a.width
        if a.is_const and b.is_const:
            return self.const(OPERATIONS[op](a.payload, b.payload, a.width), width)
        simple = self._simplify(op, a, b, width)
        return simple if simple is not None else self._node(op, (a, b), width)

    def _simplify(self, op: str, a: Value, b: Value, width: int) -> Value | None:
        if a is b:
            if op in ("sub", "xor", "ult", "slt"):
                return self.const(0, width)
            if op in ("and", "or"):
                return a
            if op == "eq":
                return self.true
        if op in ("and", "or", "xor", "add", "mul", "eq") and a.is_const:
            a, b = b, a
        if not b.is_const:
            return None
        number, ones = b.payload, (1 << a.width) - 1
        if number == 0:
            if op in ("add", "sub", "or", "xor", "shl", "lshr", "ashr"):
                return a
            if op in ("and", "mul"):
                return b
            if op == "ult":
                return self.false
        if number == ones and op in ("and", "or"):
            return a if op == "and" else b
        if number == 1 and op == "mul":
            return a
        if a.width == 1 and op == "eq":
            return a if number else self.negate(a)
        if op == "xor" and a.op == "xor" and a.args[1].is_const:
            return self.binary("xor", a.args[0], self.const(a.args[1].payload ^ number, width))
        if op == "eq" and a.op == "ite" and a.args[1].is_const and a.args[2].is_const:
            yes, no = a.args[1].payload == number, a.args[2].payload == number
            if yes == no:
                return self.true if yes else self.false
            return a.args[0] if yes else self.negate(a.args[0])
        return None

    def negate(self, a: Value) -> Value:
        """Truth value's complement."""
        return self.binary("xor", a, self.true)

    def both(self, a: Value, b: Value) -> Value:
        if self.negate(a) is b:
            return self.false
        return self.binary("and", a, b)

    def either(self, a: Value, b: Value) -> Value:
        if self.negate(a) is b:
            return self.true
        return self.binary("or", a, b)

    def ite(self, condition: Value, then: Value, other: Value) -> Value:
        if condition.is_const:
            return then if condition.payload else other
        if then is other:
            return then
        if then.width == 1 and then.is_const and other.is_const:
            return condition if then.payload else self.negate(condition)
        return self._node("ite", (condition, then, other), then.width)

    def zext(self, a: Value, width: int) -> Value:
        """`a` to `width` bits: cut or filled with zeros."""
        if width == a.width:
            return a
        if a.is_const:
            return self.const(a.payload, width)
        return self._node("zext", (a,), width) if width > a.width else self.extract(a, 0, width)

    def sext(self, a: Value, width: int) -> Value:
        """`a` to `width` bits: cut or filled with its sign."""
        if width == a.width:
            return a
        if a.is_const:
            return self.const(_signed(a.payload, a.width), width)
        return self._node("sext", (a,), width) if width > a.width else self.extract(a, 0, width)

    def extract(self, a: Value, low: int, width: int) -> Value:
        """Bits low … low+width-1."""
        if low == 0 and width == a.width:
            return a
        if a.is_const:
            return self.const(a.payload >> low, width)
        if a.op == "zext" and low + width <= a.args[0].width:
            return self.extract(a.args[0], low, width)
        if a.op == "concat":
            cut = a.args[1].width
            if low + width <= cut:
                return self.extract(a.args[1], low, width)
            if low >= cut:
                return self.extract(a.args[0], low - cut, width)
        return self._node("extract", (a,), width, low)

    def concat(self, high: Value, low: Value) -> Value:
        width = high.width + low.width
        if high.is_const and low.is_const:
            return self.const(high.payload << low.width | low.payload, width)
        return self._node("concat", (high, low), width)


def evaluate(
    value: Value, reads: Mapping[int, int], choices: Mapping[int, int], memo: dict[Value, int] | None = None
) -> int:
    """The number that `value` is when reads return `reads` (by event index) and choices are `choices`.

    KeyError when a read that it needs is missing. `memo` may be shared by calls with the same reads.
    """
    if memo is None:
        memo = {}
    found = memo.get(value)
    if found is not None:
        return found
    mask = (1 << value.width) - 1
    op = value.op
    if op == "const":
        return value.payload
    if op == "read":
        return reads[value.payload] & mask
    if op == "choice":
        return choices[value.payload] & mask
    if op == "ite":
        taken = value.args[1] if evaluate(value.args[0], reads, choices, memo) else value.args[2]
        result = evaluate(taken, reads, choices, memo)
    else:
        numbers = [evaluate(arg, reads, choices, memo) for arg in value.args]
        if op == "zext":
            result = numbers[0]
        elif op == "sext":
            result = _signed(numbers[0], value.args[0].width) & mask
        elif op == "extract":
            result = numbers[0] >> value.payload & mask
        elif op == "concat":
            result = numbers[0] << value.args[1].width | numbers[1]
        else:
            result = OPERATIONS[op](numbers[0], numbers[1], value.args[0].width) & mask
    memo[value] = result
    return result
