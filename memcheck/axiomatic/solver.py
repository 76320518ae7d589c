"""Clauses in, answers under assumptions out, within a time limit.

Making a solver costs more than most tests do, so solvers are pushed, popped and used again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType

from memcheck.axiomatic.clauses import Clauses, OutOfTimeError
from memcheck.axiomatic.libz3 import Solver, limit_memory

USES = 500
"""Sessions after which a solver is dropped: it keeps the names of its variables."""

_idle: list[tuple[Solver, int]] = []


class Session:
    """One solver over a set of clauses, to be used in a `with`. `deadline` is a time.monotonic() value.

    `memory`: megabytes that z3 may use, in all.
    """

    def __init__(self, clauses: Clauses, deadline: float | None = None, memory: int | None = None) -> None:
        self._deadline = deadline
        self._contradiction = clauses.contradiction
        self.checks = 0
        self._solver, self._uses = _idle.pop() if _idle else (Solver(), 0)
        if memory is not None:
            limit_memory(memory)
        self._solver.push()
        if not clauses.contradiction:
            self._solver.read(clauses.dimacs())

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._uses < USES:
            self._solver.pop()
            if self._deadline is not None:
                self._solver.limit_time()
            _idle.append((self._solver, self._uses + 1))
        else:
            self._solver.close()

    def holds(self, assumptions: Iterable[int] = ()) -> bool:
        """Whether the clauses can be satisfied under the assumptions. OutOfTimeError where z3 cannot say."""
        if self._contradiction:
            return False
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise OutOfTimeError("the time limit was reached")
            self._solver.limit_time(max(1, int(left * 1000)))
        self.checks += 1
        answer = self._solver.check(assumptions)
        if answer is not None:
            return answer
        reason = self._solver.reason()
        if "interrupted" in reason:
            raise KeyboardInterrupt
        late = self._deadline is not None and time.monotonic() >= self._deadline - 0.01
        raise OutOfTimeError("the time limit was reached" if late or reason == "timeout" else f"z3 gave up: {reason}")

    def true_literals(self, literals: Sequence[int]) -> set[int]:
        """Those of the literals that are true in the model of the last satisfiable check."""
        return self._solver.true_literals(literals)
