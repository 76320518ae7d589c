"""The model's answer and the machine's side by side: what both know, what only one does, and why.

A state that the machine reaches and the model forbids is a fault of one of the two. One that the model allows and the
machine does not reach has one of REASONS, which is computed: a machine reaches it whose lanes do not wait for one
another, or elect another leader; or else the model is made as strong as the machine by one axiom after the other
(models/machine.cat), and the first with which the state is no longer allowed is the reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from memcheck.axiomatic.clauses import OutOfTimeError
from memcheck.axiomatic.outcome import State
from memcheck.axiomatic.solve import Limits, are_reachable
from memcheck.events.unfold import unfold
from memcheck.language.test import And, Compare, NumberTerm, Prop, Test
from memcheck.machine.collectives import Collectives
from memcheck.machine.explore import STATES, Reached, explore, shortest
from memcheck.machine.machine import Machine
from memcheck.machine.staleness import Early
from memcheck.machine.stamps import StampedMemory
from memcheck.machine.trace import TraceStep, told
from memcheck.models import load, machine_model
from memcheck.ptx.instructions import Collective
from memcheck.relations import expression
from memcheck.result import Result

if TYPE_CHECKING:
    from memcheck.events.structure import Structure

BUDGET = "budget"
CONVERGED = "converged"
ELECTED = "elected"
UNEXPLAINED = "unexplained"
REASONS: dict[str, str] = {
    BUDGET: "the time was not enough to explore everything, or to find a reason",
    CONVERGED: "it takes a lane that goes on while a convergence barrier holds it",
    ELECTED: "it takes another leader of elect.sync than the lowest lane",
    "racing-writes": "it takes racing writes that come in no order, and the machine's memory has them in one",
    "own-write": "it takes a load that finds less than its own thread, or its CTA's barrier, has seen written",
    "thread-order": "it takes an access that does not wait for what the machine's threads and copies wait for",
    "write-order": "it takes writes that reach memory in another order than the machine lets them go and finds them",
    "handed-on": "it takes a release that does not hand on all that its thread has acquired",
    "whole-acquire": "it takes an acquire, or the start of a grid, after which a cache is still old",
    "proxy-fence": "it takes a proxy fence that does not order what comes before and after it in its thread",
    "far-fence": "it takes a proxy fence that does nothing for other CTAs, and the machine's are for all engines",
    UNEXPLAINED: "for no known reason",
}
"""Why the machine does not reach a state that the model allows, in the order in which they are tried."""

SECONDS = 0.3
"""What `run` gives to the exploration, and again to the reasons."""

PATIENCE = 5.0
"""Seconds for the story of a contradiction."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """A state that the machine reaches and the model forbids.

    `axioms`: without any one of them it would be allowed; empty where several forbid it by themselves, None where the
    time did not suffice to say. `trace`: a shortest run to it, empty where the time did not suffice.
    """

    state: State
    axioms: tuple[str, ...] | None
    trace: tuple[TraceStep, ...]


@dataclass(frozen=True, slots=True)
class Crossrun:
    """`reached`: the machine's final states, sorted; `complete`: there are no others.

    `missing`: states that the model allows and the machine does not reach, each with its reason. `hangs` and `traps`:
    some run of the machine never ends, or ends in undefined behaviour. `interrupted`: it was ended from outside.
    """

    reached: tuple[State, ...]
    complete: bool
    missing: Mapping[State, str]
    refuted: tuple[Refutation, ...] = ()
    hangs: bool = False
    traps: bool = False
    interrupted: bool = False


def crossrun(
    result: Result, *, options: Iterable[str] = (), bound: int = 4, seconds: float = SECONDS, states: int = STATES
) -> Crossrun:
    """Runs the test of a result on the machine. UnsupportedError where the machine has no such instruction."""
    machine = Machine(result.test)
    found = explore(machine, states, seconds)
    return _Comparison(machine, result, frozenset(options), bound).of(found, seconds)


class _Comparison:
    def __init__(self, machine: Machine, result: Result, options: frozenset[str], bound: int) -> None:
        self.machine = machine
        self.result = result
        self.options = options
        self.bound = bound
        self.limits = Limits()
        self._structure: Structure | None = None

    def of(self, found: Reached, seconds: float) -> Crossrun:
        allowed = set(self.result.states)
        missing = dict.fromkeys(sorted(allowed - found.states), BUDGET)
        refuted: tuple[Refutation, ...] = ()
        interrupted = found.interrupted
        try:
            if self.result.complete:
                refuted = tuple(self._refuted(state, seconds) for state in sorted(found.states - allowed))
            if found.complete and missing and self.result.complete:
                self._explain(missing, seconds)
        except KeyboardInterrupt:
            interrupted = True
        return Crossrun(
            tuple(sorted(found.states)), found.complete, missing, refuted, found.hangs, found.traps, interrupted
        )

    @property
    def structure(self) -> Structure:
        if self._structure is None:
            self._structure = unfold(self.result.test, self.bound, bytewise="tearing" in self.options)
        return self._structure

    def _allows(self, model: expression.Model, states: Sequence[State]) -> Iterator[bool]:
        """Of each state, whether the model does."""
        if self.limits.deadline is not None and time.monotonic() > self.limits.deadline:
            raise OutOfTimeError
        props = [is_state(self.result.test, state) for state in states]
        return are_reachable(self.structure, model, props, self.limits)

    def _explain(self, missing: dict[State, str], seconds: float) -> None:
        """Sets the reason of each state: convergence, or the first axiom that forbids it, with those before it."""
        for reason, other in self._freer():
            found = explore(other, seconds=seconds)
            missing.update((state, reason) for state in missing if missing[state] == BUDGET and state in found.states)
            if not found.complete:
                return
        model = machine_model(**definitions(self.machine))
        own = len(load("ptx").axioms)
        names = [*(axiom.name for axiom in model.axioms[own:]), UNEXPLAINED]
        self.limits = Limits(time.monotonic() + seconds)
        pending = [([state for state, reason in missing.items() if reason == BUDGET], 0, len(names) - 1)]
        try:
            while pending:
                states, first, last = pending.pop()
                if not states:
                    continue
                if first == last:
                    missing.update(dict.fromkeys(states, names[first]))
                    continue
                middle = (first + last) // 2
                added = model.axioms[own : own + middle + 1]
                orders = [axiom for axiom in added if axiom.test is expression.Test.ACYCLIC]
                added = tuple(axiom for axiom in added if axiom not in orders[:-1])  # each implies those before it
                stronger = replace(model, axioms=model.axioms[:own] + added)
                allowed = dict(zip(states, self._allows(stronger, states)))
                for is_allowed, rest in ((False, (first, middle)), (True, (middle + 1, last))):
                    pending.append(([state for state in states if allowed[state] is is_allowed], *rest))
        except OutOfTimeError:
            return

    def _freer(self) -> Iterator[tuple[str, Machine]]:
        """Machines that do what this one chooses not to, with the reason that a state is reached there alone."""
        test = self.result.test
        if self.machine.warps is not None:
            yield CONVERGED, Machine(test, None)
        if any(isinstance(i, Collective) and i.op.startswith("elect") for t in test.threads for i in t.body):
            for lane in sorted({thread.place.lane for thread in test.threads} - {0}):
                other = Machine(test, None)
                other.unit(Collectives).first = lane
                yield ELECTED, other

    def _refuted(self, state: State, seconds: float) -> Refutation:
        self.limits = Limits(time.monotonic() + PATIENCE)
        steps = shortest(self.machine, state, seconds=max(seconds, PATIENCE))
        trace = told(self.machine, steps) if steps is not None else ()
        return Refutation(state, self._forbidding(state), trace)

    def _forbidding(self, state: State) -> tuple[str, ...] | None:
        """The axioms of the result's model of which each forbids the state that the others allow."""
        model = load(self.result.model, self.options)
        found = []
        try:
            for axiom in model.axioms:
                others = replace(model, axioms=tuple(one for one in model.axioms if one is not axiom), interchange=None)
                if next(self._allows(others, [state])):
                    found.append(axiom.name)
        except OutOfTimeError:
            return None
        return tuple(found)


def is_state(test: Test, state: State) -> Prop:
    """That a final state is this one."""
    parts = [Compare("==", term, NumberTerm(value)) for term, value in zip(test.observed, state, strict=True)]
    return And(tuple(parts))


def definitions(machine: Machine) -> dict[str, str]:
    """What models/machine.cat leaves open, for the machine of a test."""
    test, levels = machine.test, machine.levels
    places = [thread.place for thread in test.threads]

    def one(values: Iterable[int]) -> bool:
        return len(set(values)) == 1

    aliased = any(variable.aliases is not None or variable.targets for variable in test.variables.values())
    one_gpu = one(place.gpu for place in places)
    exact = isinstance(machine.memory, StampedMemory)
    return _placed(
        len(places) > 1,
        levels.single,
        one(place.cluster for place in places),
        one_gpu,
        aliased,
        any(isinstance(unit, Early) for unit in machine.units),
        exact,
        not exact and not machine.several,
    )


@lru_cache(maxsize=64)
def _placed(
    several: bool, one_cta: bool, one_cluster: bool, one_gpu: bool, aliased: bool, early: bool, exact: bool, fresh: bool
) -> dict[str, str]:
    """`early`: loads of shared memory may find what is old; `exact`: acquires empty no caches.

    `fresh`: strong loads find nothing old.
    """
    scopes = ["SYS"] if several and not (one_cta and aliased) else []  # what is at one address can be stale at another
    if scopes and one_gpu:
        scopes += ["GPU"] + ["CLUSTER"] * one_cluster + ["CTA"] * one_cta
    whole = " | ".join(scopes) or "0 & M"
    direct = "MBAR" if aliased else "M" if one_cta else "SHARED"
    return {
        "whole": f"({whole}) \\ SHARED" if aliased and scopes else whole,
        "direct": f"{direct} \\ (R & WEAK & SHARED)" if early else direct,
        "apart": "ext \\ scta" if one_gpu and scopes else "0 & ext",
        "emptying": "0 & M" if exact else "_",
        "uncached": "_" if fresh else "0 & M",
    }
