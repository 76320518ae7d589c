"""The only door to z3 of the fast path: clauses in, answers under assumptions out.

z3 reads the clauses as DIMACS text (its string front end recognises the header) and names variable i by the integer
symbol i. Making a solver costs more than most tests do, so solvers are pushed, popped and used again; checks go
through z3's C interface with literals made once a process.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from types import TracebackType

import z3
from z3 import z3core

from memcheck.axiomatic.clauses import Clauses

USES = 500
"""Sessions after which a solver is dropped: it keeps the names of its variables."""

_positive: list[z3.BoolRef] = []
_negative: list[z3.BoolRef] = []
_idle: list[tuple[z3.Solver, int]] = []
_context = z3.main_ctx().ref()


def _literal(number: int) -> z3.BoolRef:
    while len(_positive) <= abs(number):
        atom = z3.Bool(len(_positive))
        _positive.append(atom)
        _negative.append(z3.Not(atom))
    return _positive[number] if number > 0 else _negative[-number]


class OutOfTimeError(Exception):
    """The time limit has passed, or z3 gave up; the message says which."""


class Session:
    """One solver over a set of clauses, to be used in a `with`. `deadline` is a time.monotonic() value.

    `memory`: megabytes that z3 may use, in all.
    """

    def __init__(self, clauses: Clauses, deadline: float | None = None, memory: int | None = None) -> None:
        self._deadline = deadline
        self._contradiction = clauses.contradiction
        self.checks = 0
        self._solver, self._uses = _idle.pop() if _idle else (z3.SolverFor("QF_FD"), 0)
        if memory is not None:
            z3.set_param("memory_max_size", memory)
        self._solver.push()
        if not clauses.contradiction:
            self._solver.from_string(clauses.dimacs())

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._uses < USES:
            self._solver.pop()
            _idle.append((self._solver, self._uses + 1))

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
        literals = [_literal(x).ast for x in assumptions]
        count = len(literals)
        answer = z3core.Z3_solver_check_assumptions(_context, self._solver.solver, count, (z3.Ast * count)(*literals))
        if answer == z3.unsat.r:
            return False
        if answer == z3.sat.r:
            return True
        reason = self._solver.reason_unknown()
        if "interrupted" in reason:
            raise KeyboardInterrupt
        late = self._deadline is not None and time.monotonic() >= self._deadline - 0.01
        raise OutOfTimeError("the time limit was reached" if late or reason == "timeout" else f"z3 gave up: {reason}")

    def true_literals(self, literals: Sequence[int]) -> set[int]:
        """Those of the literals that are true in the model of the last satisfiable check."""
        model = z3core.Z3_solver_get_model(_context, self._solver.solver)
        z3core.Z3_model_inc_ref(_context, model)
        try:
            found = set()
            for literal in literals:
                atom = z3core.Z3_get_app_decl(_context, _literal(abs(literal)).as_ast())
                value = z3core.Z3_model_get_const_interp(_context, model, atom)
                true = bool(value) and z3core.Z3_get_bool_value(_context, value) == z3.Z3_L_TRUE
                if true == (literal > 0):
                    found.add(literal)
            return found
        finally:
            z3core.Z3_model_dec_ref(_context, model)
