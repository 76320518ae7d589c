"""One structure under one model as clauses: choices, axioms, final states, flags."""

from __future__ import annotations

from memcheck.axiomatic.accesses import Accesses
from memcheck.axiomatic.axioms import AxiomEncoder, FlagLiteral
from memcheck.axiomatic.base import Base
from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.generations import Generations
from memcheck.axiomatic.interchange import Interchange
from memcheck.axiomatic.outcome import VOIDING
from memcheck.axiomatic.plan import plan_of
from memcheck.axiomatic.reads import Reads
from memcheck.axiomatic.relations import Relations
from memcheck.axiomatic.states import Finals
from memcheck.events.absent import absent
from memcheck.events.domains import Domains
from memcheck.events.structure import INITIAL, Kind, Structure
from memcheck.relations.expression import Model
from memcheck.relations.folding import without
from memcheck.relations.matrix import matrices


class Encoding:
    """All literals that questions are asked with. `ending`: executions that end; else those that may stop.

    `tearing`: accesses of the same bytes may be mixed (the option of that name).
    """

    def __init__(
        self,
        structure: Structure,
        domains: Domains,
        model: Model,
        ending: bool,
        tearing: bool = False,
        deadline: float | None = None,
    ) -> None:
        self.structure = structure
        self.clauses = Clauses(deadline)
        space = matrices(len(structure.events))
        self.accesses = Accesses(structure, domains)
        self.reads = Reads(self.accesses, self.clauses, ending)
        self.progress = self.reads.progress
        self.generations = Generations(
            structure.rendezvous,
            lambda e: structure.events[e].thread,
            self.clauses,
            self.reads.values.is_true,
            self.reads.executed,
            self.progress.ended,
            ending,
        )
        self.progress.settle(self.generations.left_over)
        self.base = Base(self.reads, self.generations, space)
        model = without(model, absent(structure))
        self.relations = Relations(self.base, self.clauses, space, plan_of(model))
        self.axioms = AxiomEncoder(self.relations, self.clauses, space)
        self.axioms.require_all(model)
        self.coherence = self.relations.node(model.coherence)
        self.finals = Finals(self.base, self.relations, self.coherence)
        if model.interchange is not None:
            Interchange(self.reads, self.relations, self.relations.node(model.interchange), space.n).require()
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
            happens = TRUE if misuse.event is None else self.reads.executed(misuse.event)
            literal = self.clauses.both((self.reads.values.is_true(misuse.condition), happens))
            if literal != FALSE:
                found.append(FlagLiteral(misuse.rule, () if misuse.event is None else (misuse.event,), literal))
        return found

    def _forbid_torn_reads(self) -> None:
        """A read takes no byte of a write of just its bytes and another byte of a write that is not after that one."""
        n, sources = self.base.space.n, self.reads.sources
        for event in self.structure.events:
            cells = self.accesses.cells_of(event.index) if event.kind is Kind.READ else []
            for first in cells if len(cells) > 1 else ():
                for write, literal in sources.get((event.index, first), {}).items():
                    whole = FALSE if write == INITIAL else self.base.same_bytes(event.index, write)
                    if whole == FALSE:
                        continue
                    for second in cells:
                        for other, also in sources.get((event.index, second), {}).items():
                            if second != first and other != write:
                                self._forbid_mixture(event.index, (literal, also, whole), write, other, n)

    def _forbid_mixture(self, read: int, mixed: tuple[int, int, int], write: int, other: int, n: int) -> None:
        literal, also, whole = mixed
        clauses = self.clauses
        same = FALSE if other == INITIAL else self.base.same_bytes(read, other)
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
            self.base.coherence.settle()

    def coherent_last(self, read: int) -> list[tuple[int, int, int]]:
        """Clauses saying that a read takes every cell from a coherence-maximal write."""
        n, reads = self.base.space.n, self.reads
        found: list[tuple[int, int, int]] = []
        for cell in self.accesses.cells_of(read):
            for write, literal in reads.sources[read, cell].items():
                for other in self.accesses.writers(cell):
                    if other != write:
                        there = self.clauses.both((reads.executed(other), reads.covers(other, cell)))
                        before = self.relations.upper(self.coherence, write * n + other)
                        if FALSE not in (there, before):
                            found.append((-literal, -there, -before))
        return found
