"""Truth values: Python's where they are known, else z3's; connectives that fold what is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import z3

Truth = Any
"""bool or z3.BoolRef (z3 has no types of its own)."""


def conj(*parts: Truth) -> Truth:
    """Their conjunction."""
    return conj_all(parts)


def conj_all(parts: Iterable[Truth]) -> Truth:
    open_parts = []
    for part in parts:
        if part is False:
            return False
        if part is not True:
            open_parts.append(part)
    if len(open_parts) <= 1:
        return open_parts[0] if open_parts else True
    return z3.And(open_parts)


def disj(*parts: Truth) -> Truth:
    """Their disjunction."""
    return disj_all(parts)


def disj_all(parts: Iterable[Truth]) -> Truth:
    open_parts = []
    for part in parts:
        if part is True:
            return True
        if part is not False:
            open_parts.append(part)
    if len(open_parts) <= 1:
        return open_parts[0] if open_parts else False
    return z3.Or(open_parts)


def neg(part: Truth) -> Truth:
    """Its negation."""
    return (not part) if isinstance(part, bool) else z3.Not(part)


def implies(premise: Truth, conclusion: Truth) -> Truth:
    return disj(neg(premise), conclusion)


def exactly(count: int, parts: Iterable[Truth]) -> Truth:
    """Exactly `count` of them hold."""
    listed = list(parts)
    known = sum(part is True for part in listed)
    unknown = [part for part in listed if not isinstance(part, bool)]
    rest = count - known
    if rest < 0 or rest > len(unknown):
        return False
    return z3.PbEq([(part, 1) for part in unknown], rest) if unknown else True


def at_least(count: int, parts: Iterable[Truth]) -> Truth:
    """At least `count` of them hold."""
    listed = list(parts)
    known = sum(part is True for part in listed)
    unknown = [part for part in listed if not isinstance(part, bool)]
    rest = count - known
    if rest <= 0:
        return True
    if rest > len(unknown):
        return False
    return z3.PbGe([(part, 1) for part in unknown], rest)


def term(part: Truth) -> Any:
    """As a z3 term."""
    return z3.BoolVal(part) if isinstance(part, bool) else part
