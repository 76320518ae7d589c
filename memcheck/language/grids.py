"""The order of grids: that each grid exists, and that no grid ends before it starts."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.errors import SourceError
from memcheck.language.test import GridOrder, Place


def check_orders(orders: Sequence[GridOrder], places: Sequence[Place]) -> None:
    """SourceError for an order of grids without threads, or one that goes round."""
    grids = sorted({place.grid for place in places})
    after: dict[int, list[int]] = {}
    for order in orders:
        for grid in (order.before, order.after):
            if grid not in grids:
                listed = ", ".join(map(str, grids[:20]))
                raise SourceError(f"there is no thread in grid {grid}", order.span, f"the test has: {listed}")
        if _reaches(after, order.after, order.before):
            raise SourceError(f"grid {order.before} would end before it starts", order.span)
        after.setdefault(order.before, []).append(order.after)


def _reaches(after: dict[int, list[int]], start: int, goal: int) -> bool:
    pending, seen = [start], set[int]()
    while pending:
        grid = pending.pop()
        if grid == goal:
            return True
        if grid not in seen:
            seen.add(grid)
            pending += after.get(grid, ())
    return False
