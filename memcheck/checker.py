"""Decide one litmus test under one model: the library's front door."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from memcheck.applicability import gaps
from memcheck.axiomatic.outcome import Outcome, State
from memcheck.axiomatic.relations import NotEncodableError
from memcheck.axiomatic.solve import Limits, solve
from memcheck.axiomatic.verify import Verifier
from memcheck.errors import MemcheckError
from memcheck.events.execution import Execution
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.language.condition import satisfies
from memcheck.language.test import NumberTerm, Prop, Quantifier, RegisterTerm, Term, Test
from memcheck.models import load as load_model
from memcheck.relations.expression import Model
from memcheck.remarks import flags
from memcheck.remarks import outside as outside_remark
from memcheck.result import Remark, Result

DEFAULT_BOUND = 4
"""How often a loop that is no spin goes round."""


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
    structure = unfold(test, bound, bytewise="tearing" in chosen)
    missing = gaps(structure, model)
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


def _verified(outcome: Outcome, verifier: Verifier, deadline: float | None) -> Outcome:
    """The outcome, every state of it verified; or said to be undecided where time runs out before."""
    reason = "the time limit was reached"
    try:
        for state, witness in outcome.states.items():
            if deadline is not None and time.monotonic() > deadline:
                break
            _verify(state, witness, verifier)
        else:
            return outcome
    except KeyboardInterrupt:
        reason = "it was interrupted"
    except MemoryError:
        reason = "the memory limit was reached"
    return replace(outcome, undecided=outcome.undecided or f"{reason} before every state was verified")


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
    outside = missing + [outside_remark(structure, finding) for finding in outcome.outside]
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
        # what voids a verdict is looked for in hanging executions last of all
        unsure = outcome.undecided is not None and bool(structure.blocking or structure.bounds)
        if unsure or (partial and not _is_final(test.condition.quantifier, len(states), len(satisfying))):
            holds = None
            undecided = undecided or "a loop may go round more often than the bound; try a higher --bound"
    return Result(
        test=test,
        model=model.name,
        states=states,
        satisfying=satisfying,
        holds=holds,
        flags=() if outside else tuple(flags(structure, outcome)),
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
