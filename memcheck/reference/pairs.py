"""Relations as sets of pairs of event indices."""

from __future__ import annotations

from collections.abc import Iterable, Set

Pair = tuple[int, int]
Pairs = Set[Pair]


def closure(pairs: Iterable[Pair]) -> frozenset[Pair]:
    """The least transitive relation that has `pairs`."""
    successors: dict[int, set[int]] = {}
    for a, b in pairs:
        successors.setdefault(a, set()).add(b)
    result: set[Pair] = set()
    for start, direct in successors.items():
        reached: set[int] = set()
        pending = list(direct)
        while pending:
            node = pending.pop()
            if node not in reached:
                reached.add(node)
                pending.extend(successors.get(node, ()))
        result.update((start, node) for node in reached)
    return frozenset(result)


def composed(first: Pairs, second: Pairs) -> frozenset[Pair]:
    """One step of the first, then one of the second."""
    after: dict[int, list[int]] = {}
    for a, b in second:
        after.setdefault(a, []).append(b)
    return frozenset((a, c) for a, b in first for c in after.get(b, ()))


def has_cycle(pairs: Iterable[tuple[object, object]]) -> bool:
    """Whether following pairs can lead back to where one began (Kahn's algorithm leaves a rest exactly then)."""
    successors: dict[object, set[object]] = {}
    incoming: dict[object, int] = {}
    for a, b in set(pairs):
        successors.setdefault(a, set()).add(b)
        incoming.setdefault(a, 0)
        incoming[b] = incoming.get(b, 0) + 1
    free = [node for node, count in incoming.items() if count == 0]
    removed = 0
    while free:
        node = free.pop()
        removed += 1
        for after in successors.get(node, ()):
            incoming[after] -= 1
            if incoming[after] == 0:
                free.append(after)
    return removed < len(incoming)
