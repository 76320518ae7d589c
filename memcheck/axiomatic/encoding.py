"""One structure under one model as clauses: choices, axioms, final states, flags."""

from __future__ import annotations

from memcheck.axiomatic.axioms import AxiomEncoder, FlagLiteral
from memcheck.axiomatic.choices import Choices
from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.outcome import VOIDING
from memcheck.axiomatic.plan import plan_of
from memcheck.axiomatic.relations import Relations
from memcheck.axiomatic.states import Finals
from memcheck.events.domains import Domains
from memcheck.events.structure import INITIAL, Kind, Structure
from memcheck.relations.expression import Model


class Encoding:
    """All literals that questions are asked with. `ending`: executions that end; else those that may stop.

    `tearing`: accesses of the same bytes may be mixed (option `tearing`).
    """

    def __init__(
        self, structure: Structure, domains: Domains, model: Model, ending: bool, tearing: bool = False
    ) -> None:
        self.structure = structure
        self.clauses = Clauses()
        self.choices = Choices(structure, domains, self.clauses, ending)
        self.relations = Relations(self.choices, self.clauses, self.choices.space, plan_of(model))
        self.axioms = AxiomEncoder(self.relations, self.clauses, self.choices.space)
        self.axioms.require_all(model)
        self.coherence = self.relations.node(model.coherence)
        self.finals = Finals(self.choices, self.relations, self.coherence)
        if not tearing:
            self._forbid_torn_reads()
        self.flags: list[FlagLiteral] = []
        self.outside: list[FlagLiteral] = []
        for flag in self.axioms.flags(model):
            (self.outside if flag.name in VOIDING else self.flags).append(flag)
        self.outside += self._misuses()

    def _misuses(self) -> list[FlagLiteral]:
        found = []
        for misuse in self.structure.misuses:
            happens = TRUE if misuse.event is None else self.choices.executed(misuse.event)
            literal = self.clauses.both((self.choices.values.is_true(misuse.condition), happens))
            if literal != FALSE:
                found.append(FlagLiteral(misuse.rule, () if misuse.event is None else (misuse.event,), literal))
        return found

    def _forbid_torn_reads(self) -> None:
        """A read takes no byte of a write of just its bytes and another byte of a write that is not after that one."""
        choices, n = self.choices, self.choices.space.n
        for event in choices.events:
            cells = choices.cells_of(event.index) if event.kind is Kind.READ else []
            for first in cells if len(cells) > 1 else ():
                for write, literal in choices.reads_from.get((event.index, first), {}).items():
                    whole = FALSE if write == INITIAL else choices.same_bytes(event.index, write)
                    if whole == FALSE:
                        continue
                    for second in cells:
                        for other, also in choices.reads_from.get((event.index, second), {}).items():
                            if second != first and other != write:
                                self._forbid_mixture(event.index, (literal, also, whole), write, other, n)

    def _forbid_mixture(self, read: int, mixed: tuple[int, int, int], write: int, other: int, n: int) -> None:
        literal, also, whole = mixed
        clauses, choices = self.clauses, self.choices
        same = FALSE if other == INITIAL else choices.same_bytes(read, other)
        if same != FALSE:
            clauses.require(-literal, -also, -whole, -same)
        if same != TRUE:
            earlier = self.relations.upper(self.coherence, other * n + write)
            clauses.require(-literal, -also, -whole, -earlier)

    def settle(self) -> None:
        """Write what is still owed; nothing may be asked of the relations afterwards."""
        size = -1
        while size != len(self.clauses.clauses):
            size = len(self.clauses.clauses)
            self.relations.settle()
            self.choices.settle_coherence()

    def coherent_last(self, read: int) -> list[tuple[int, int, int]]:
        """Clauses saying that a read takes every cell from a coherence-maximal write."""
        choices, n, found = self.choices, self.choices.space.n, []
        for cell in choices.cells_of(read):
            for write, literal in choices.reads_from[read, cell].items():
                for other in choices.writers(cell):
                    if other != write:
                        there = self.clauses.both((choices.executed(other), choices.covers(other, cell)))
                        before = self.relations.upper(self.coherence, write * n + other)
                        if FALSE not in (there, before):
                            found.append((-literal, -there, -before))
        return found
