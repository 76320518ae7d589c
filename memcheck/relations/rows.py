"""Relations over n events as tuples of n row masks: bit j of row i says that (i, j) is in. Sets are bit masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Rows = tuple[int, ...]
"""A relation over n events: n masks."""


def bits(mask: int) -> Iterator[int]:
    """The positions of the ones, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def pairs(rows: Rows) -> list[tuple[int, int]]:
    """The relation as pairs, ascending."""
    return [(i, j) for i, row in enumerate(rows) for j in bits(row)]


def from_pairs(edges: Iterable[tuple[int, int]], size: int) -> Rows:
    """Rows over `size` events."""
    rows = [0] * size
    for i, j in edges:
        rows[i] |= 1 << j
    return tuple(rows)


def compose(first: Rows, second: Rows) -> Rows:
    """first ; second."""
    result = []
    for row in first:
        reached = 0
        for j in bits(row):
            reached |= second[j]
        result.append(reached)
    return tuple(result)


def inverse(rows: Rows) -> Rows:
    columns = [0] * len(rows)
    for i, row in enumerate(rows):
        for j in bits(row):
            columns[j] |= 1 << i
    return tuple(columns)


def closure(rows: Rows) -> Rows:
    """The transitive closure."""
    reach = list(rows)
    for k in range(len(reach)):
        through = reach[k]
        if through:
            bit = 1 << k
            for i, row in enumerate(reach):
                if row & bit:
                    reach[i] = row | through
    return tuple(reach)


def cycle(rows: Rows) -> tuple[int, ...] | None:
    """A shortest cycle, from its least event on, or None."""
    best: tuple[int, ...] | None = None
    for start in range(len(rows)):
        before: dict[int, int] = {}
        frontier = [start]
        while frontier and start not in before:
            reached = []
            for event in frontier:
                for after in bits(rows[event]):
                    if after not in before:
                        before[after] = event
                        reached.append(after)
            frontier = reached
        if start in before:
            path = [start]
            while before[path[-1]] != start:
                path.append(before[path[-1]])
            path = [start, *reversed(path[1:])]
            if best is None or len(path) < len(best):
                best = tuple(path)
    return best
