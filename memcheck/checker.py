"""Decide one litmus test under one model: the library's front door."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from memcheck.axiomatic.outcome import VOIDING, Finding, Hang, Outcome, State
from memcheck.axiomatic.relations import NotEncodableError
from memcheck.axiomatic.solve import Limits, solve
from memcheck.axiomatic.verify import Verifier
from memcheck.errors import MemcheckError
from memcheck.events.execution import Execution
from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.unfold import unfold
from memcheck.language.condition import satisfies
from memcheck.language.test import NumberTerm, Prop, Quantifier, RegisterTerm, Term, Test
from memcheck.models import load as load_model
from memcheck.records import replace
from memcheck.relations.expression import Model
from memcheck.result import Remark, Result

DEFAULT_BOUND = 4
"""How often a loop that is no spin goes round."""

NEEDS = {
    "ONE_WAY": "fences of one direction",
    "RESTRICTED": "fences with .sync_restrict",
    "MBARRIER_INIT": "fence.mbarrier_init",
    "RO": "the readonly proxy and .nc",
}
"""Event classes that a model must mention to order them, by the vocabulary's set."""


def check(
    test: Test,
    model: str | Model = "ptx",
    *,
    bound: int = DEFAULT_BOUND,
    timeout: float | None = None,
    memory: int | None = None,
    verify: bool = True,
    options: Iterable[str] = frozenset(),
    progress: Callable[[int], None] | None = None,
) -> Result:
    """All final states that the model allows, and the verdict.

    `bound`: rounds of a loop that is no spin. `timeout` in seconds and `memory` in megabytes end it with what is known.
    `verify`: every state is backed by an execution that a second evaluator accepts. `options`: readings of the model,
    see docs/model.md. MemcheckError for what the user can mend.
    """
    started = time.process_time()
    deadline = None if timeout is None else time.monotonic() + timeout
    chosen = frozenset(options)
    if isinstance(model, str):
        model = load_model(model, chosen)
    structure = unfold(test, bound)
    missing = _not_in_model(structure, model)
    if missing:
        outcome = Outcome({})
    else:
        outcome = _solve(structure, model, verify, Limits(deadline, memory), "tearing" in chosen, progress)
        if verify:
            outcome = _verified(outcome, Verifier(model, "tearing" in chosen), deadline)
    return _result(structure, model, outcome, missing, time.process_time() - started)


def _solve(
    structure: Structure,
    model: Model,
    verify: bool,
    limits: Limits,
    tearing: bool,
    progress: Callable[[int], None] | None,
) -> Outcome:
    """The fast path, or the plain encoder for a model whose recursion must be exact."""
    try:
        return solve(structure, model, witnesses=verify, limits=limits, tearing=tearing, progress=progress)
    except NotEncodableError:
        from memcheck.plain import solve as solve_plainly

        timeout = None if limits.deadline is None else limits.deadline - time.monotonic()
        return solve_plainly(structure, model, witnesses=verify, tearing=tearing, timeout=timeout)


def _not_in_model(structure: Structure, model: Model) -> list[Remark]:
    """Remarks for event classes that the model orders nowhere."""
    found = []
    for name, words in NEEDS.items():
        events = [e for e in structure.events if name in e.tags]
        if events and name not in model.names:
            found.append(_remark(structure, "not in this model", f"{model.name} has no rule for {words}", events[:1]))
    if "overlap" not in model.names:
        mixed = _partial_overlap(structure)
        if mixed:
            found.append(
                _remark(
                    structure, "not in this model", f"{model.name} has no rule for accesses that overlap partly", mixed
                )
            )
    relations = {r.kind.value for r in structure.rendezvous}
    for kind, name in (("warp", "warpbar"), ("cluster", "clusterbar")):
        if kind in relations and name not in model.names:
            events = [
                structure.events[a.event] for r in structure.rendezvous if r.kind.value == kind for a in r.arrivals
            ]
            words = f"barriers of a {kind}"
            found.append(_remark(structure, "not in this model", f"{model.name} has no rule for {words}", events[:1]))
    return found


def _partial_overlap(structure: Structure) -> list[Event]:
    """Two accesses of known address that share some but not all bytes."""
    memory = structure.memory
    known: list[tuple[Event, int]] = []
    for event in structure.events:
        if event.kind in (Kind.READ, Kind.WRITE) and event.address is not None and event.address.is_const:
            physical = memory.physical(event.address.payload, event.size)
            if physical is not None:
                known.append((event, physical))
    for position, (first, low) in enumerate(known):
        for second, start in known[:position]:
            apart = low + first.size <= start or start + second.size <= low
            if not apart and (low, first.size) != (start, second.size):
                return [second, first]
    return []


def _verified(outcome: Outcome, verifier: Verifier, deadline: float | None) -> Outcome:
    """The outcome, every state of it verified; or said to be undecided where time runs out before."""
    for state, witness in outcome.states.items():
        if deadline is not None and time.monotonic() > deadline and outcome.undecided is None:
            return replace(outcome, undecided="the time limit was reached before every state was verified")
        _verify(state, witness, verifier)
    return outcome


def _verify(state: State, witness: Execution | None, verifier: Verifier) -> None:
    """MemcheckError unless the witness is a consistent execution that ends in the state."""
    assert witness is not None
    found = verifier.faults(witness, state)
    if found:
        raise MemcheckError(
            f"internal check failed: the witness of state {state} of {witness.structure.test.name} is refused: "
            f"{'; '.join(found)}. Please report this test"
        )


# ---- from the outcome to the result


def _result(structure: Structure, model: Model, outcome: Outcome, missing: list[Remark], seconds: float) -> Result:
    test = structure.test
    outside = missing + [_outside(structure, finding) for finding in outcome.outside]
    states = () if outside else tuple(sorted(outcome.states))
    widths = [_width(test, term) for term in test.observed]
    satisfying = frozenset(
        state for state in states if test.condition and _holds_of(test, test.condition.prop, state, widths)
    )
    undecided = outcome.undecided
    holds = None
    if test.condition is not None and not outside:
        holds = _verdict(test.condition.quantifier, len(states), len(satisfying))
        partial = undecided is not None or outcome.bound_reached
        if partial and not _is_final(test.condition.quantifier, len(states), len(satisfying)):
            holds = None
            undecided = undecided or "a loop may go round more often than the bound; try a higher --bound"
    return Result(
        test=test,
        model=model.name,
        states=states,
        satisfying=satisfying,
        holds=holds,
        flags=() if outside else tuple(_flags(structure, outcome)),
        outside=tuple(outside),
        complete=not outcome.bound_reached and outcome.undecided is None,
        undecided=undecided,
        notes=(*test.notes, *structure.notes),
        witnesses={state: w for state, w in outcome.states.items() if w is not None} if not outside else {},
        seconds=seconds,
    )


def _verdict(quantifier: Quantifier, states: int, satisfying: int) -> bool:
    if quantifier is Quantifier.EXISTS:
        return satisfying > 0
    if quantifier is Quantifier.NOT_EXISTS:
        return satisfying == 0
    return satisfying == states


def _is_final(quantifier: Quantifier, states: int, satisfying: int) -> bool:
    """Whether further states could not change the verdict."""
    if quantifier is Quantifier.FORALL:
        return satisfying < states
    return satisfying > 0


def _width(test: Test, term: Term) -> int:
    if isinstance(term, NumberTerm):
        return 64
    if isinstance(term, RegisterTerm):
        return test.threads[term.thread].widths[term.name]
    return 8 * test.variables[term.variable].type.size


def _holds_of(test: Test, prop: Prop, state: State, widths: Sequence[int]) -> bool:
    table = {term: (value, width) for term, value, width in zip(test.observed, state, widths)}
    return satisfies(prop, lambda term: table[term])


def _flags(structure: Structure, outcome: Outcome) -> list[Remark]:
    found = [_flag(structure, finding) for finding in outcome.flags]
    for hang in outcome.hangs:
        found.append(_deadlock(structure, hang))
    if outcome.hangs and not outcome.states:
        found.append(Remark("no-final-state", "No execution ends, so there is no final state."))
    return found


def describe(structure: Structure, event: int) -> str:
    """An event as a person knows it: ``P0: `st.weak [x], 1` ``."""
    one = structure.events[event]
    if one.instruction is None:
        return "the initial write"
    return f"{structure.test.threads[one.thread].name}: `{one.instruction.text}`"


def _remark(structure: Structure, name: str, text: str, events: Sequence[Event]) -> Remark:
    places = tuple(e.instruction.span.where for e in events if e.instruction is not None)
    if events:
        text += ": " + " and ".join(describe(structure, e.index) for e in events)
    return Remark(name, text, places)


def _flag(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    words = {"race": "Data race (8.7.1), allowed but not ordered by causality"}
    return _remark(structure, finding.name, words.get(finding.name, f"The model's flag {finding.name}"), events)


def _outside(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    if finding.name == "mixed-size-race":
        text = "Mixed-size data race (8.7.2): the axioms do not apply"
    else:
        text = VOIDING.get(finding.name, finding.name).removeprefix("undefined-behaviour: ").capitalize()
    return _remark(structure, VOIDING.get(finding.name, finding.name), text, events)


def _deadlock(structure: Structure, hang: Hang) -> Remark:
    """Who waits for what."""
    waits, places = [], []
    for index in hang.blocked:
        point = structure.blocking[index]
        event = point.barrier if point.barrier is not None else (point.polled[-1] if point.polled else None)
        if event is None:
            waits.append(f"{structure.test.threads[point.thread].name} in a loop without reads")
            continue
        words = "at its barrier" if point.barrier is not None else "for a value that never comes"
        waits.append(f"{describe(structure, event)} waits {words}")
        instruction = structure.events[event].instruction
        if instruction is not None:
            places.append(instruction.span.where)
    return Remark("deadlock", "Some execution never ends: " + "; ".join(waits), tuple(places))
