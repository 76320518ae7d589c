"""Questions to the plain encoding: final states, flags, what voids the verdict, hangs."""

from __future__ import annotations

import time
from typing import Any

import z3

from memcheck.axiomatic.outcome import VOIDING, Finding, Hang, Outcome, State
from memcheck.events.execution import Execution
from memcheck.events.structure import Structure
from memcheck.plain.algebra import Algebra
from memcheck.plain.choices import Choices
from memcheck.plain.finals import Finals
from memcheck.plain.truth import Truth, conj, conj_all, disj_all, implies, neg, term
from memcheck.plain.witness import read_execution
from memcheck.relations.expression import Model

_SYNTACTIC = frozenset(("addr", "data", "ctrl"))


def solve(
    structure: Structure,
    model: Model,
    *,
    witnesses: bool = False,
    tearing: bool = False,
    timeout: float | None = None,
) -> Outcome:
    """Everything there is to say about the structure under the model. `timeout` in seconds."""
    return _Questions(structure, model, tearing, timeout).run(witnesses)


class _UndecidedError(Exception):
    """z3 gave up, or the time is over."""


class _Questions:
    def __init__(self, structure: Structure, model: Model, tearing: bool, timeout: float | None) -> None:
        self.structure = structure
        self.model = model
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.choices = Choices(structure, bounded=not model.names >= _SYNTACTIC)
        self.algebra = Algebra(self.choices.executed, self.choices.base, self.choices.from_read)
        self.coherence = coherence = self.algebra.value(model.coherence)
        if not tearing:
            self.choices.forbid_torn_reads(coherence)
        self.finals = Finals(self.choices, coherence)
        test = structure.test
        self.observed = [self.finals.value(observable) for observable in test.observed]
        self.filter = True if test.filter is None else self.finals.truth(test.filter)
        self.axioms = [self.algebra.holds(axiom) for axiom in model.axioms]
        self.solver = z3.Solver()
        for constraint in (*self.choices.constraints, *self.axioms):
            self._add(constraint)

    def _add(self, constraint: Truth) -> None:
        if constraint is not True:
            self.solver.add(term(constraint))

    def _possible(self) -> bool:
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise _UndecidedError("the time is over")
            self.solver.set("timeout", max(1, int(1000 * left)))
        answer = self.solver.check()
        if answer == z3.unknown:
            raise _UndecidedError(str(self.solver.reason_unknown()))
        return bool(answer == z3.sat)

    def run(self, witnesses: bool) -> Outcome:
        states: dict[State, Execution | None] = {}
        flags: list[Finding] = []
        hanging_flags: list[Finding] = []
        outside: list[Finding] = []
        hangs: list[Hang] = []
        bound_reached = False
        undecided = None
        happening = self.choices.happening
        stops = [happening.stopped(i) for i in range(len(self.structure.blocking))]
        cuts = [happening.cut(i) for i in range(len(self.structure.bounds))]
        ending = happening.all_end()
        beyond = conj(self._each_ends_or_not(), disj_all((*stops, *cuts)))
        try:
            for scope in (ending, beyond):
                outside += [f for f in self._misuses(scope) + self._flags(scope, voiding=True) if f not in outside]
            if not outside:
                states = self._states(ending, witnesses)
            flags = self._flags(conj(ending, self.filter), voiding=False)
            bound_reached = self._holds(conj(beyond, disj_all(cuts)))
            hanging = conj(beyond, neg(disj_all(cuts)))
            hangs = self._hangs(hanging, stops)
            hanging_flags = self._flags(hanging, voiding=False) if hangs else []
        except _UndecidedError as reason:
            undecided = str(reason)
        return Outcome(
            states, tuple(flags), tuple(hanging_flags), tuple(outside), tuple(hangs), bound_reached, undecided
        )

    # ---- which executions

    def _each_ends_or_not(self) -> Truth:
        """Every thread ends, stops or is cut; what a stopped spin polls is what stays there."""
        happening = self.choices.happening
        parts = [happening.ends_or_not(thread) for thread in range(len(self.structure.ends))]
        for index, point in enumerate(self.structure.blocking):
            last = conj_all(self.choices.polled_last(read, self.coherence) for read in point.polled)
            parts.append(implies(happening.stopped(index), last))
        return conj_all(parts)

    def _holds(self, scope: Truth) -> bool:
        if scope is False:
            return False
        self.solver.push()
        self._add(scope)
        answer = self._possible()
        self.solver.pop()
        return answer

    # ---- answers

    def _states(self, scope: Truth, witnesses: bool) -> dict[State, Execution | None]:
        found: dict[State, Execution | None] = {}
        if scope is False:
            return found
        self.solver.push()
        self._add(scope)
        self._add(self.filter)
        while self._possible():
            model = self.solver.model()
            numbers = [model.eval(value, model_completion=True) for value in self.observed]
            state = tuple(number.as_long() for number in numbers)
            found[state] = read_execution(model, self.choices, self.finals) if witnesses else None
            if not self.observed:
                break
            self.solver.add(z3.Or([value != number for value, number in zip(self.observed, numbers, strict=True)]))
        self.solver.pop()
        return found

    def _flags(self, scope: Truth, voiding: bool) -> list[Finding]:
        """The flags that some execution of the scope raises, with all events that they can be about."""
        found: list[Finding] = []
        for flag in self.model.flags:
            if (flag.name in VOIDING) != voiding:
                continue
            broken = self.algebra.violations(flag)
            if flag.negated:
                found += [Finding(flag.name, events) for events in self._which(scope, broken)]
            elif self._holds(conj(scope, neg(disj_all(broken.values())))):
                found.append(Finding(flag.name, ()))
        return found

    def _misuses(self, scope: Truth) -> list[Finding]:
        found = []
        for misuse in self.structure.misuses:
            happens = True if misuse.event is None else self.choices.executed[misuse.event]
            if self._holds(conj(scope, happens, self.choices.terms.truth(misuse.condition))):
                found.append(Finding(misuse.rule, () if misuse.event is None else (misuse.event,)))
        return found

    def _which(self, scope: Truth, conditions: dict[tuple[int, ...], Truth]) -> list[tuple[int, ...]]:
        """The keys whose condition some execution of the scope meets."""
        left = {key: truth for key, truth in conditions.items() if truth is not False}
        found: list[tuple[int, ...]] = []
        if scope is False:
            return found
        self.solver.push()
        self._add(scope)
        while left:
            self.solver.push()
            self._add(disj_all(left.values()))
            possible = self._possible()
            model: Any = self.solver.model() if possible else None
            self.solver.pop()
            if not possible:
                break
            here = [k for k, truth in left.items() if z3.is_true(model.eval(term(truth), model_completion=True))]
            found += here
            for key in here:
                del left[key]
        self.solver.pop()
        return sorted(found)

    def _hangs(self, scope: Truth, stops: list[Truth]) -> list[Hang]:
        """One execution for each set of places where threads can wait for ever at once."""
        found: list[Hang] = []
        if scope is False:
            return found
        self.solver.push()
        self._add(scope)
        while self._possible():
            model = self.solver.model()
            here = [z3.is_true(model.eval(term(stop), model_completion=True)) for stop in stops]
            found.append(Hang(tuple(i for i, stopped in enumerate(here) if stopped)))
            self._add(neg(conj_all(stop if stopped else neg(stop) for stop, stopped in zip(stops, here, strict=True))))
        self.solver.pop()
        return found
