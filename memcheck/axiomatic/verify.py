"""The second opinion on every state: its witness, judged by the concrete evaluator of the same cat text."""

from __future__ import annotations

from dataclasses import replace

from memcheck.axiomatic.outcome import State
from memcheck.events.absent import absent
from memcheck.events.execution import Execution
from memcheck.events.valuation import base, circumstances, from_read
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.events.wellformed import maximal, observe, problems
from memcheck.relations.expression import Expr, Model
from memcheck.relations.folding import without
from memcheck.relations.rows import pairs
from memcheck.relations.sets import Evaluator, holds

_UNCHOSEN = frozenset(name for name, entry in VOCABULARY.items() if entry.source in (Source.PROGRAM, Source.ADDRESS))


class Verifier:
    """Judges the witnesses of one structure under one model; what executions share is evaluated once."""

    def __init__(self, model: Model, tearing: bool = False) -> None:
        self.model = model
        self.tearing = tearing
        self._known: dict[str, dict[Expr, int]] = {}

    def faults(self, execution: Execution, state: State) -> list[str]:
        """Why the execution is no consistent one that ends in the state; empty when it is one."""
        there, model = circumstances(execution), without(self.model, absent(execution.structure))
        known, size = self._known.get(there), len(execution.structure.events)
        values = base(execution, model.names)
        evaluator = Evaluator(values, size, lambda rows: from_read(execution, rows), known)
        coherence = evaluator.relation(model.coherence)
        # the solver chose of co only what it needed: well-formedness is about the model's whole coherence
        found = problems(replace(execution, co=frozenset(pairs(coherence))), self.tearing)
        if found:  # no execution at all
            return found
        found = [f"it breaks the axiom {axiom.name}" for axiom in model.axioms if not holds(axiom, evaluator)]
        found += maximal(execution, coherence)
        if observe(execution) != state:
            found.append(f"it ends in {observe(execution)}")
        if known is None:
            self._known[there] = evaluator.known_over(_UNCHOSEN)
        return found


def faults(execution: Execution, state: State, model: Model, tearing: bool = False) -> list[str]:
    """`Verifier.faults` for a single execution."""
    return Verifier(model, tearing).faults(execution, state)
