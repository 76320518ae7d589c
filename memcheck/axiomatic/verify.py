"""The second opinion on every state: its witness, judged by the concrete evaluator of the same cat text."""

from __future__ import annotations

from dataclasses import replace

from memcheck.axiomatic.outcome import State
from memcheck.events.execution import Execution
from memcheck.events.wellformed import base, from_read, maximal, observe, problems
from memcheck.relations.expression import Model
from memcheck.relations.rows import pairs
from memcheck.relations.sets import Evaluator, holds


def completed(execution: Execution, model: Model) -> Execution:
    """The execution with the model's whole coherence as its `co`, of which the solver chose only what it needed."""
    evaluator = Evaluator(base(execution), len(execution.structure.events), lambda rows: from_read(execution, rows))
    return replace(execution, co=frozenset(pairs(evaluator.relation(model.coherence))))


def faults(execution: Execution, state: State, model: Model, tearing: bool = False) -> list[str]:
    """Why the execution is no consistent one that ends in the state; empty when it is one."""
    evaluator = Evaluator(base(execution), len(execution.structure.events), lambda rows: from_read(execution, rows))
    coherence = evaluator.relation(model.coherence)
    found = problems(replace(execution, co=frozenset(pairs(coherence))), tearing)
    found += [f"it breaks the axiom {axiom.name}" for axiom in model.axioms if not holds(axiom, evaluator)]
    found += maximal(execution, coherence)
    if observe(execution) != state:
        found.append(f"it ends in {observe(execution)}")
    return found
