"""The only door to z3 of the fast path: clauses in, answers under assumptions out.

z3 reads the clauses as DIMACS text (its string front end recognises the header) and names variable i by the integer
symbol i; all sessions share one context, so the literals are made once a process.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import z3

from memcheck.axiomatic.clauses import Clauses

_positive: list[z3.BoolRef] = []
_negative: list[z3.BoolRef] = []


def _literal(number: int) -> z3.BoolRef:
    while len(_positive) <= abs(number):
        atom = z3.Bool(len(_positive))
        _positive.append(atom)
        _negative.append(z3.Not(atom))
    return _positive[number] if number > 0 else _negative[-number]


class OutOfTimeError(Exception):
    """The time limit has passed, or z3 gave up; the message says which."""


class Session:
    """One solver over a set of clauses. `deadline` is a time.monotonic() value."""

    def __init__(self, clauses: Clauses, deadline: float | None = None, memory: int | None = None) -> None:
        self._solver = z3.SolverFor("QF_FD")
        self._deadline = deadline
        self._contradiction = clauses.contradiction
        if memory is not None:
            self._solver.set("max_memory", memory)
        if not clauses.contradiction:
            self._solver.from_string(clauses.dimacs())
        self.checks = 0

    def holds(self, assumptions: Iterable[int] = ()) -> bool:
        """Whether the clauses can be satisfied under the assumptions. OutOfTimeError where z3 cannot say."""
        if self._contradiction:
            return False
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise OutOfTimeError("the time limit was reached")
            self._solver.set("timeout", max(1, int(left * 1000)))
        self.checks += 1
        answer = self._solver.check([_literal(x) for x in assumptions])
        if answer == z3.unknown:
            raise OutOfTimeError(f"z3 gave up: {self._solver.reason_unknown()}")
        return bool(answer == z3.sat)

    def true_literals(self, literals: Sequence[int]) -> set[int]:
        """Those of the literals that are true in the model of the last satisfiable check."""
        model = self._solver.model()
        return {x for x in literals if z3.is_true(model.eval(_literal(x), model_completion=True))}

    def add(self, *literals: int) -> None:
        """One more clause over existing variables."""
        self._solver.add(z3.Or([_literal(x) for x in literals]))
