"""Clauses over integer literals, with constants folded and gates shared.

Gates come in two directions. An *upper* gate may be true without its definition (definition implies gate): enough
where the gate is only ever forbidden. A *lower* gate may be false although its definition holds (gate implies
definition): enough where it is only ever required. Both together make an exact one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

TRUE = 1
FALSE = -1
"""Variable 1 is the constant; `Clauses` asserts it."""


PATIENCE = 1024
"""Variables between two looks at the clock."""


class OutOfTimeError(Exception):
    """The time limit has passed, or z3 gave up; the message says which."""


class Clauses:
    """A growing CNF. Literals are non-zero integers, -x the complement of x. `deadline`: a time.monotonic() value."""

    def __init__(self, deadline: float | None = None) -> None:
        self.variables = 1
        self._deadline = deadline
        self.clauses: list[tuple[int, ...]] = [(1,)]
        self.contradiction = False
        self._gates: dict[tuple[bool, bool, tuple[int, ...]], int] = {}

    def variable(self) -> int:
        """A fresh one. OutOfTimeError past the deadline."""
        self.variables += 1
        if not self.variables % PATIENCE and self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTimeError("the time limit was reached")
        return self.variables

    def require(self, *literals: int) -> None:
        """At least one of the literals is true."""
        if TRUE in literals:
            return
        kept = tuple(x for x in literals if x != FALSE)
        if not kept:
            self.contradiction = True
        self.clauses.append(kept)

    def conjunction(self, literals: Iterable[int], upper: bool) -> int:
        """A literal for the conjunction, in one direction."""
        kept = {x for x in literals if x != TRUE}
        if FALSE in kept:
            return FALSE
        if len(kept) < 2:
            return kept.pop() if kept else TRUE
        if any(-x in kept for x in kept):
            return FALSE
        return self._gate(True, upper, tuple(sorted(kept)))

    def disjunction(self, literals: Iterable[int], upper: bool) -> int:
        """A literal for the disjunction, in one direction."""
        kept = {x for x in literals if x != FALSE}
        if TRUE in kept:
            return TRUE
        if len(kept) < 2:
            return kept.pop() if kept else FALSE
        if any(-x in kept for x in kept):
            return TRUE
        return self._gate(False, upper, tuple(sorted(kept)))

    def _gate(self, conjunction: bool, upper: bool, literals: tuple[int, ...]) -> int:
        key = (conjunction, upper, literals)
        found = self._gates.get(key)
        if found is not None:
            return found
        gate = self._gates[key] = self.variable()
        clauses = self.clauses
        if conjunction and upper:
            clauses.append((gate, *(-x for x in literals)))
        elif conjunction:
            clauses.extend((-gate, x) for x in literals)
        elif upper:
            clauses.extend((gate, -x) for x in literals)
        else:
            clauses.append((-gate, *literals))
        return gate

    def both(self, literals: Iterable[int]) -> int:
        """An exact literal for the conjunction."""
        kept = {x for x in literals if x != TRUE}
        if FALSE in kept or any(-x in kept for x in kept):
            return FALSE
        if len(kept) < 2:
            return kept.pop() if kept else TRUE
        ordered = tuple(sorted(kept))
        gate = self._gate(True, True, ordered)
        if self._gates.get((True, False, ordered)) != gate:  # a gate of its own, if any, may be false all the same
            self._gates[True, False, ordered] = gate
            self.clauses.extend((-gate, x) for x in ordered)
        return gate

    def either(self, literals: Iterable[int]) -> int:
        """An exact literal for the disjunction."""
        return -self.both([-x for x in literals])

    def at_most_one(self, literals: list[int]) -> None:
        """Pairwise up to six literals, beyond that with a chain of helpers."""
        literals = [x for x in literals if x != FALSE]
        while len(literals) > 6:
            carry = self.variable()
            head, literals = literals[:4], [carry, *literals[4:]]
            for x in head:
                self.require(-x, carry)
            self._pairwise(head)
        self._pairwise(literals)

    def _pairwise(self, literals: list[int]) -> None:
        for i, x in enumerate(literals):
            for y in literals[:i]:
                self.require(-x, -y)

    def exactly(self, count: int, literals: list[int]) -> int:
        """An exact literal for: exactly `count` of the literals are true."""
        if count > len(literals):
            return FALSE
        row = [TRUE] + [FALSE] * (count + 1)
        for x in literals:
            row = [
                self.either([self.both([-x, row[k]]), self.both([x, row[k - 1]]) if k else FALSE])
                for k in range(count + 2)
            ]
        return row[count]

    def at_least(self, count: int, literals: list[int]) -> int:
        """An exact literal for: at least `count` of the literals are true."""
        if count > len(literals):
            return FALSE
        row = [TRUE] + [FALSE] * count
        for x in literals:
            row = [TRUE] + [self.either([row[k], self.both([x, row[k - 1]])]) for k in range(1, count + 1)]
        return row[count]

    def dimacs(self) -> str:
        """The clauses in DIMACS format."""
        lines = [" ".join(map(str, clause)) + " 0" for clause in self.clauses]
        return f"p cnf {self.variables} {len(lines)}\n" + "\n".join(lines) + "\n"
