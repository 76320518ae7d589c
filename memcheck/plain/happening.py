"""Which events happen and which threads end or stop."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.events.structure import Structure
from memcheck.plain.terms import Terms
from memcheck.plain.truth import Truth, conj, conj_all, disj, implies, neg


class Happening:
    """Conditions of events happening. `waits_in_vain(event)`: the barrier operation is left over."""

    def __init__(self, structure: Structure, terms: Terms, waits_in_vain: Callable[[int], Truth]) -> None:
        self.structure = structure
        self.terms = terms
        self._waits_in_vain = waits_in_vain
        self._known: dict[int, Truth] = {}
        self.executed: dict[int, Truth] = {event.index: self._executes(event.index) for event in structure.events}

    def _over(self, index: int) -> Truth:
        """Not met, or passed."""
        if index not in self._known:
            point = self.structure.blocking[index]
            if point.passed is not None:
                passed = self.terms.truth(point.passed)
            elif point.threads:
                passed = conj_all(self.ended(thread) for thread in point.threads)
            else:
                assert point.barrier is not None
                passed = neg(self._waits_in_vain(point.barrier))
            self._known[index] = implies(self.terms.truth(point.guard), passed)
        return self._known[index]

    def _points(self, thread: int) -> list[int]:
        return [index for index, point in enumerate(self.structure.blocking) if point.thread == thread]

    def _executes(self, event: int) -> Truth:
        node = self.structure.events[event]
        over = [self._over(i) for i in self._points(node.thread) if self.structure.blocking[i].before <= event]
        return conj(self.terms.truth(node.guard), *over)

    def stopped(self, index: int) -> Truth:
        """The thread waits for ever at this blocking point: it gets there and does not pass."""
        earlier = [self._over(i) for i in self._points(self.structure.blocking[index].thread) if i < index]
        return conj(*earlier, neg(self._over(index)))

    def ended(self, thread: int) -> Truth:
        return conj(self.terms.truth(self.structure.ends[thread]), *map(self._over, self._points(thread)))

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
