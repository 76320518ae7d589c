"""The numbers that a value can be as far as its form alone tells, whatever reads return."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.events.value import OPERATIONS, Value

LIMIT = 64
"""Numbers beyond which a value counts as anything."""
_NARROW = 4
"""Bits of which every number is listed."""


def alternatives(value: Value, choices: Sequence[tuple[int, ...]]) -> frozenset[int] | None:
    """All numbers that `value` can be and perhaps others; None where they are too many. `choices`: by index."""
    return _found(value, choices, {})


def _found(
    value: Value, choices: Sequence[tuple[int, ...]], memo: dict[Value, frozenset[int] | None]
) -> frozenset[int] | None:
    if value not in memo:
        numbers = _numbers(value, choices, memo)
        if numbers is not None and len(numbers) > LIMIT:
            numbers = None
        if numbers is None and value.width <= _NARROW:
            numbers = frozenset(range(1 << value.width))
        memo[value] = numbers
    return memo[value]


def _numbers(
    value: Value, choices: Sequence[tuple[int, ...]], memo: dict[Value, frozenset[int] | None]
) -> frozenset[int] | None:
    mask = (1 << value.width) - 1
    if value.op == "const":
        return frozenset((value.payload,))
    if value.op == "choice" and value.payload < len(choices):
        return frozenset(number & mask for number in choices[value.payload])
    if value.op in ("read", "choice"):
        return None
    parts = [_found(part, choices, memo) for part in value.args]
    if value.op == "ite":
        wanted, then, other = parts
        taken = [branch for branch, number in ((then, 1), (other, 0)) if wanted is None or number in wanted]
        return None if None in taken else frozenset().union(*(branch for branch in taken if branch is not None))
    first = parts[0]
    if value.op == "and" and (bits := _bits(value)) is not None:
        return bits
    if any(part is None for part in parts) or first is None:
        return None
    if value.op in ("zext", "sext", "extract"):
        width = value.args[0].width
        if value.op == "extract":
            return frozenset(number >> value.payload & mask for number in first)
        top = 1 << width - 1 if value.op == "sext" else 0
        return frozenset(((number ^ top) - top) & mask for number in first)
    second = parts[1]
    if second is None or len(first) * len(second) > LIMIT * LIMIT:
        return None
    if value.op == "concat":
        low = value.args[1].width
        return frozenset(a << low | b for a in first for b in second)
    operation = OPERATIONS[value.op]
    return frozenset(operation(a, b, value.args[0].width) & mask for a in first for b in second)


def _bits(value: Value) -> frozenset[int] | None:
    """What is left of anything under a constant of few bits."""
    for part in value.args:
        if part.is_const and part.payload.bit_count() <= _NARROW:
            left = [0]
            for bit in range(part.width):
                if part.payload >> bit & 1:
                    left += [number | 1 << bit for number in left]
            return frozenset(left)
    return None
