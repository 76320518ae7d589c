"""Grids in an order: whose threads end before whose start (8.9.4, API synchronization; ISA 9.7.15.14)."""

from __future__ import annotations

from memcheck.errors import SourceError
from memcheck.events.draft import Draft, Step, fence_tags
from memcheck.events.structure import BlockingPoint, GridOrder, Kind
from memcheck.language.test import Test, Thread
from memcheck.ptx.asynchronous import GridDependency


def _threads(test: Test, grid: int) -> tuple[int, ...]:
    return tuple(thread.index for thread in test.threads if thread.place.grid == grid)


def _earlier(test: Test, grid: int) -> frozenset[int]:
    """The grids that have ended when a grid starts."""
    found: set[int] = set()
    pending = [grid]
    while pending:
        after = pending.pop()
        for order in test.grid_orders:
            if order.after == after and not order.programmatic and order.before not in found:
                found.add(order.before)
                pending.append(order.before)
    return frozenset(found)


def orders(test: Test) -> tuple[GridOrder, ...]:
    """All orders between grids, those that follow from others too. SourceError where they go in a circle."""
    found = []
    for order in test.grid_orders:
        earlier = _earlier(test, order.before) | {order.before}
        if order.after in earlier:
            raise SourceError(
                f"grid {order.after} cannot end before it starts: these orders go in a circle", order.span
            )
        for before in sorted(earlier):
            found.append(GridOrder(_threads(test, before), _threads(test, order.after), order.programmatic))
    return tuple(found)


def start(draft: Draft, thread: Thread) -> None:
    """A thread starts when the grids before its own have ended."""
    before = tuple(t for grid in sorted(_earlier(draft.test, thread.place.grid)) for t in _threads(draft.test, grid))
    if before:
        draft.blocking.append(BlockingPoint(thread.index, draft.values.true, len(draft.events), None, threads=before))


def dependency(step: Step) -> None:
    """`griddepcontrol.wait`, which waits for the end of the grids it depends on, and `launch_dependents`."""
    instruction = step.instruction
    assert isinstance(instruction, GridDependency)
    draft, test = step.draft, step.draft.test
    step.event(Kind.POINT, fence_tags(None, None, ("LAUNCH" if instruction.launch else "GRID_WAIT",)))
    if instruction.launch:
        return
    mine = step.thread.place.grid
    needed = [order.before for order in test.grid_orders if order.programmatic and order.after == mine]
    before = tuple(t for grid in needed for t in _threads(test, grid))
    if before:
        draft.blocking.append(BlockingPoint(step.thread.index, step.guard, len(draft.events), None, threads=before))
