"""Which events happen and which threads end or stop."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.events.structure import BlockingPoint, Structure
from memcheck.plain.terms import Terms
from memcheck.plain.truth import Truth, conj, conj_all, disj, implies, neg


class Happening:
    """Conditions of events happening. `waits_in_vain(event)`: the barrier operation is left over."""

    def __init__(self, structure: Structure, terms: Terms, waits_in_vain: Callable[[int], Truth]) -> None:
        self.structure = structure
        self.terms = terms
        self._waits_in_vain = waits_in_vain
        self._passed = [self._over(point) for point in structure.blocking]
        self.executed: dict[int, Truth] = {event.index: self._executes(event.index) for event in structure.events}

    def _over(self, point: BlockingPoint) -> Truth:
        """Not met, or passed."""
        if point.passed is not None:
            passed = self.terms.truth(point.passed)
        else:
            assert point.barrier is not None
            passed = neg(self._waits_in_vain(point.barrier))
        return implies(self.terms.truth(point.guard), passed)

    def _executes(self, event: int) -> Truth:
        node = self.structure.events[event]
        over = [
            passed
            for point, passed in zip(self.structure.blocking, self._passed, strict=True)
            if point.thread == node.thread and point.before <= event
        ]
        return conj(self.terms.truth(node.guard), *over)

    def stopped(self, index: int) -> Truth:
        """The thread waits for ever at this blocking point: it gets there and does not pass."""
        point = self.structure.blocking[index]
        earlier = [self._passed[i] for i in range(index) if self.structure.blocking[i].thread == point.thread]
        return conj(*earlier, neg(self._passed[index]))

    def ended(self, thread: int) -> Truth:
        over = [p for point, p in zip(self.structure.blocking, self._passed, strict=True) if point.thread == thread]
        return conj(self.terms.truth(self.structure.ends[thread]), *over)

    def all_end(self) -> Truth:
        return conj_all(self.ended(thread) for thread in range(len(self.structure.ends)))

    def cut(self, index: int) -> Truth:
        """A loop bound is reached, and nothing stopped the thread before."""
        bound = self.structure.bounds[index]
        free = [neg(self.stopped(i)) for i, point in enumerate(self.structure.blocking) if point.thread == bound.thread]
        return conj(self.terms.truth(bound.reached), *free)

    def ends_or_not(self, thread: int) -> Truth:
        """The thread ends, stops at a blocking point or is cut."""
        stops = [self.stopped(i) for i, point in enumerate(self.structure.blocking) if point.thread == thread]
        cuts = [self.cut(i) for i, bound in enumerate(self.structure.bounds) if bound.thread == thread]
        return disj(self.ended(thread), *stops, *cuts)
