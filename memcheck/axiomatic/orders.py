"""The orders that an execution chooses: coherence of writes, and Fence-SC order."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.axiomatic.clauses import Clauses
from memcheck.events.structure import INITIAL


class Coherence:
    """The base relation co, pair by pair as it is asked for: a strict partial order, W0 first.

    `together(i, j)`: exact literal of two writes being executed and sharing a byte; `may(i, j)`: whether they can.
    """

    def __init__(
        self,
        clauses: Clauses,
        executed: Callable[[int], int],
        together: Callable[[int, int], int],
        may: Callable[[int, int], bool],
    ) -> None:
        self.clauses = clauses
        self.pairs: dict[tuple[int, int], int] = {}
        self._executed = executed
        self._together = together
        self._may = may
        self._transitive: set[tuple[int, int, int]] = set()

    def literal(self, i: int, j: int) -> int:
        """(i, j) of two writes that may share a byte."""
        if i == INITIAL:
            return self._executed(j)
        found = self.pairs.get((i, j))
        if found is None:
            found = self.pairs[i, j] = self.clauses.variable()
            self.clauses.require(-found, self._together(i, j))
            self.clauses.require(-found, -self.literal(j, i))
        return found

    def settle(self) -> None:
        """Make it transitive and acyclic over the writes that it has been asked about."""
        triples, done = self._transitive, -1
        while done != len(self.pairs):
            done = len(self.pairs)
            follows: dict[int, list[int]] = {}
            for a, b in self.pairs:
                follows.setdefault(a, []).append(b)
            for a, b in list(self.pairs):
                for c in follows.get(b, ()):
                    if a != c and (a, b, c) not in triples:
                        triples.add((a, b, c))
                        self.clauses.require(-self.pairs[a, b], -self.pairs[b, c], self._step(a, c))

    def _step(self, a: int, c: int) -> int:
        """Overlapping writes: their literal. Others: an auxiliary order, so that no cycle closes through them."""
        if self._may(a, c):
            return self.literal(a, c)
        found = self.pairs.get((a, c))
        if found is None:
            found = self.pairs[a, c] = self.clauses.variable()
            back = self.pairs.get((c, a))
            if back is not None:
                self.clauses.require(-found, -back)
        return found


class FenceOrder:
    """A total order of all fence.sc (ISA 8.9.3 needs it between morally strong ones only; any such order extends)."""

    def __init__(self, clauses: Clauses, fences: list[int]) -> None:
        self._clauses = clauses
        self._fences = fences
        self.pairs: dict[tuple[int, int], int] = {}

    def literal(self, i: int, j: int) -> int:
        """Fence i is before fence j."""
        if not self.pairs:
            self._make()
        return self.pairs[i, j]

    def _make(self) -> None:
        pairs, fences = self.pairs, self._fences
        for position, first in enumerate(fences):
            for second in fences[position + 1 :]:
                variable = self._clauses.variable()
                pairs[first, second] = variable
                pairs[second, first] = -variable
        for a in fences:
            for b in fences:
                for c in fences:
                    if a < b and a < c and b != c:  # each cycle once, from its least fence
                        self._clauses.require(-pairs[a, b], -pairs[b, c], -pairs[c, a])
