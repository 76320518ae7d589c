"""Final states as literals, and their enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memcheck.axiomatic import literals
from memcheck.axiomatic.accesses import Footprint
from memcheck.axiomatic.base import Base
from memcheck.axiomatic.clauses import FALSE, TRUE
from memcheck.axiomatic.outcome import State
from memcheck.axiomatic.relations import Node, Relations
from memcheck.axiomatic.solver import Session
from memcheck.events.structure import INITIAL
from memcheck.language.condition import satisfies
from memcheck.language.test import (
    And,
    Compare,
    MemoryTerm,
    Not,
    NumberTerm,
    Observable,
    Or,
    Prop,
    RegisterTerm,
    Term,
    Truth,
)


class Finals:
    """Literals of the final value of every observable (final memory: any coherence-maximal write, cell by cell)."""

    def __init__(self, base: Base, relations: Relations, coherence: Node) -> None:
        self.base = base
        self.reads = base.reads
        self.accesses = base.accesses
        self.clauses = base.clauses
        self._relations = relations
        self._coherence = coherence
        self.last: dict[int, dict[int, int]] = {}
        """Cell -> write -> literal: the write is final there."""
        self._memo: dict[Observable, literals.Choices] = {}

    def of(self, term: Observable) -> literals.Choices:
        """Number -> literal."""
        found = self._memo.get(term)
        if found is None:
            if isinstance(term, RegisterTerm):
                found = self.reads.values.of(self.base.structure.final_registers[term])
            else:
                found = self._memory(term)
            self._memo[term] = found
        return found

    def _memory(self, term: MemoryTerm) -> literals.Choices:
        physical, size = self.accesses.element(term)
        inside = self.accesses.cells_in(physical, size)
        footprint = Footprint(INITIAL, physical, physical, inside)
        for cell in inside:
            self._choose_last(cell)
        if not self.base.structure.bytewise:
            self._do_not_tear(inside)
        parts = [self.reads.mixture(self.last[cell], cell) for cell in inside]
        table: dict[int, list[int]] = {}
        for number, literal in self.reads.combine(footprint, parts):
            table.setdefault(number, []).append(literal)
        return {number: self.clauses.either(ways) for number, ways in table.items()}

    def _choose_last(self, cell: int) -> None:
        if cell in self.last:
            return
        reads, clauses, n = self.reads, self.clauses, self.base.space.n
        writers = self.accesses.writers(cell)
        there = {w: clauses.both((reads.executed(w), reads.covers(w, cell))) for w in writers}
        candidates = [
            w
            for w in writers
            if there[w] != FALSE
            and not any(there[v] == TRUE and self._coherence.must >> (w * n + v) & 1 for v in writers)
        ]
        table = reads.values.one_of(candidates, exactly=True)
        for write, literal in table.items():
            clauses.require(-literal, there[write])
            for other in writers:
                if other != write and there[other] != FALSE:
                    before = self._relations.upper(self._coherence, write * n + other)
                    clauses.require(-literal, -there[other], -before)
        self.last[cell] = table

    def _do_not_tear(self, cells: Sequence[int]) -> None:
        """Final memory never mixes two writes of exactly the same bytes."""
        for position, first in enumerate(cells):
            for second in cells[position + 1 :]:
                for write, literal in self.last[first].items():
                    for other, also in self.last[second].items():
                        if write != other and INITIAL not in (write, other):
                            same = self.base.same_bytes(write, other)
                            self.clauses.require(-literal, -also, -same)

    # ---- propositions

    def truth(self, prop: Prop) -> int:
        """An exact literal of a proposition over final values."""
        clauses = self.clauses
        match prop:
            case Truth(value):
                return TRUE if value else FALSE
            case Not(body):
                return -self.truth(body)
            case And(parts):
                return clauses.both([self.truth(p) for p in parts])
            case Or(parts):
                return clauses.either([self.truth(p) for p in parts])
            case Compare():
                return self._compare(prop)

    def _numbers(self, term: Term) -> list[tuple[int, int]]:
        if isinstance(term, NumberTerm):
            return [(term.value, TRUE)]
        return list(self.of(term).items())

    def _compare(self, prop: Compare) -> int:
        width = {t: self._width(t) for t in (prop.left, prop.right)}
        ways = []
        for a, x in self._numbers(prop.left):
            for b, y in self._numbers(prop.right):
                number = {prop.right: b, prop.left: a}
                if satisfies(prop, lambda term, number=number: (number[term], width[term])):  # type: ignore[misc]
                    ways.append(self.clauses.both((x, y)))
        return self.clauses.either(ways)

    def _width(self, term: Term) -> int:
        return 64 if isinstance(term, NumberTerm) else self._bits(term)

    def _bits(self, term: Observable) -> int:
        test = self.base.structure.test
        if isinstance(term, RegisterTerm):
            return test.threads[term.thread].widths[term.name]
        return 8 * test.variables[term.variable].type.size


def enumerate_states(
    session: Session, options: Sequence[literals.Choices], assumptions: Sequence[int]
) -> Iterator[tuple[State, list[int]]]:
    """All combinations of the observables' numbers that the session allows, with the literals that say so."""
    if not session.holds(assumptions):
        return
    chosen: list[int] = []

    def extend(fixed: list[int]) -> Iterator[tuple[State, list[int]]]:
        if len(chosen) == len(options):
            yield tuple(chosen), list(fixed)
            return
        possible = [(number, x) for number, x in options[len(chosen)].items() if x != FALSE and -x not in fixed]
        given = [pair for pair in possible if pair[1] == TRUE or pair[1] in fixed]
        if given:
            possible = given[:1]
        found = False
        for position, (number, literal) in enumerate(possible):
            last = position == len(possible) - 1
            if literal == TRUE or (last and not found) or session.holds([*fixed, literal]):
                found = True
                chosen.append(number)
                yield from extend(fixed if literal == TRUE or literal in fixed else [*fixed, literal])
                chosen.pop()

    yield from extend(list(assumptions))
