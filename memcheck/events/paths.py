"""Paths: the branch conditions under which a point of a thread is reached, as conjunctions of literals.

A path is a tuple of width-1 values, in the order of the branches. Paths that meet share a prefix and differ by
complementary literals, which is what lets a join drop them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.events.value import Value, Values

Path = tuple[Value, ...]


def conjunction(values: Values, path: Path) -> Value:
    """All literals of the path."""
    result = values.true
    for literal in path:
        result = values.both(result, literal)
    return result


def extend(values: Values, path: Path, literal: Value) -> Path | None:
    """The path with one more literal, None where that contradicts it."""
    if literal.is_const:
        return path if literal.payload else None
    if literal in path:
        return path
    if values.negate(literal) in path:
        return None
    return (*path, literal)


def common_prefix(a: Path, b: Path) -> int:
    """Number of leading literals that two paths share."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x is not y:
            return i
    return min(len(a), len(b))


def join(values: Values, a: Path, b: Path) -> Path:
    """The path of a point that both paths lead to."""
    shared = common_prefix(a, b)
    left, right = a[shared:], b[shared:]
    if not left or not right:
        return a[:shared]
    # c or (not c and d) is c or d
    if len(left) == 1 and values.negate(left[0]) is right[0]:
        right = right[1:]
    elif len(right) == 1 and values.negate(right[0]) is left[0]:
        left = left[1:]
    either = values.either(conjunction(values, left), conjunction(values, right))
    return a[:shared] if either is values.true else (*a[:shared], either)


def contract(values: Values, exits: Sequence[Path], backs: Sequence[Path]) -> list[Path]:
    """The exit paths of a loop, given that no back path is taken: literals that this makes certain are dropped."""
    paths = list(exits)
    left = sorted(backs, key=len, reverse=True)
    while left:
        back = left.pop(0)
        if not back:
            break
        prefix, other = back[:-1], values.negate(back[-1])
        sibling = (*prefix, other)
        n = len(sibling)
        if any(path[:n] == sibling for path in left):
            break
        if any(path[:n] == sibling for path in paths):
            paths = [prefix + path[n:] if path[:n] == sibling else path for path in paths]
        else:
            left.append(prefix)
            left.sort(key=len, reverse=True)
    return paths
