"""Which events happen: guards, and in hanging executions the places where threads stop."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.literals import ValueLiterals
from memcheck.events.structure import Structure


class Progress:
    """Literals of events being executed and threads ending.

    `ending`: all blocking points met are passed, all threads end. Otherwise each thread ends, stops at one blocking
    point, or is cut by a loop bound; what passes a barrier is fixed by `settle`.
    """

    def __init__(self, structure: Structure, values: ValueLiterals, clauses: Clauses, ending: bool) -> None:
        self.structure = structure
        self._values = values
        self._clauses = clauses
        self._ending = ending
        self._passed: dict[int, int] = {}
        self._executed: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._blocking: dict[int, list[int]] = {}
        for index, point in enumerate(structure.blocking):
            self._blocking.setdefault(point.thread, []).append(index)

    def is_certain(self, event: int) -> bool:
        """Whether the event happens in every execution, told without looking at any value."""
        node = self.structure.events[event]
        if not node.guard.is_const or not node.guard.payload:
            return False
        return self._ending or all(
            self.structure.blocking[p].before > event for p in self._blocking.get(node.thread, ())
        )

    def executed(self, event: int) -> int:
        """The event happens."""
        found = self._executed.get(event)
        if found is None:
            node = self.structure.events[event]
            parts = [self._values.is_true(node.guard)]
            if not self._ending:
                parts += [
                    self._over(p)
                    for p in self._blocking.get(node.thread, ())
                    if self.structure.blocking[p].before <= event
                ]
            found = self._executed[event] = self._clauses.both(parts)
        return found

    def _over(self, point: int) -> int:
        """The blocking point is not met, or passed."""
        block = self.structure.blocking[point]
        return self._clauses.either((-self._values.is_true(block.guard), self.passed(point)))

    def passed(self, point: int) -> int:
        found = self._passed.get(point)
        if found is None:
            block = self.structure.blocking[point]
            if self._ending:
                found = TRUE
            elif block.passed is not None:
                found = self._values.is_true(block.passed)
            elif block.threads:
                found = self._clauses.both([self.ended(thread) for thread in block.threads])
            else:
                found = self._clauses.variable()
            self._passed[point] = found
        return found

    def stopped(self, point: int) -> int:
        """The thread stops here: met, every earlier point passed, this one not."""
        block = self.structure.blocking[point]
        earlier = [self._over(p) for p in self._blocking[block.thread] if p < point]
        return self._clauses.both((self._values.is_true(block.guard), -self.passed(point), *earlier))

    def ended(self, thread: int) -> int:
        """The thread runs to its end."""
        found = self._ended.get(thread)
        if found is None:
            parts = [self._values.is_true(self.structure.ends[thread])]
            if self._ending:
                parts = [TRUE]
            else:
                parts += [self._over(p) for p in self._blocking.get(thread, ())]
            found = self._ended[thread] = self._clauses.both(parts)
        return found

    def settle(self, left_over: Callable[[int], int]) -> None:
        """Tie the passing of barriers to their generations; in ending executions require that every thread ends."""
        clauses, values = self._clauses, self._values
        for index, point in enumerate(self.structure.blocking):
            if self._ending:
                if point.passed is not None:
                    clauses.require(-values.is_true(point.guard), values.is_true(point.passed))
            elif point.barrier is not None:
                left = left_over(point.barrier)
                happens = self.executed(point.barrier)
                clauses.require(-happens, -self.passed(index), -left)
                clauses.require(-happens, self.passed(index), left)
        if self._ending:
            for end in self.structure.ends:
                clauses.require(values.is_true(end))

    def stops(self) -> list[int]:
        """The literals of stopping, by blocking point."""
        return [self.stopped(p) for p in range(len(self.structure.blocking))]

    def cut(self, bound: int) -> int:
        """The loop bound is reached by a thread that has not stopped before."""
        one = self.structure.bounds[bound]
        reached = self._values.is_true(one.reached)
        if reached == FALSE or self._ending:
            return reached
        return self._clauses.both([reached, *(-self.stopped(p) for p in self._blocking.get(one.thread, ()))])
