"""Every choice of an execution as z3 variables, with what makes the choices an execution at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from memcheck.events.domains import analyse
from memcheck.events.relations import (
    address_set,
    barrier_candidates,
    covers,
    program_relation,
    program_set,
    residents,
    value_relation,
    value_set,
)
from memcheck.events.structure import INITIAL, Kind, RendezvousKind, Structure
from memcheck.events.value import Value
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.plain.accesses import Accesses, Cell, Spot
from memcheck.plain.algebra import Table
from memcheck.plain.happening import Happening
from memcheck.plain.meetings import Meetings
from memcheck.plain.terms import Terms
from memcheck.plain.truth import Truth, conj, disj, disj_all, exactly, implies, neg
from memcheck.relations.expression import ExprKind
from memcheck.relations.rows import bits, pairs


class Choices:
    """Reads-from by byte group, coherence, Fence-SC order, generations; `constraints` tie them together.

    `bounded`: reads return only values of their domains. Semantic dependencies are defined over those; where syntactic
    ones keep values from coming out of thin air, it adds nothing, and the domains need not be trusted.
    """

    def __init__(self, structure: Structure, bounded: bool) -> None:
        self.structure = structure
        self.events = structure.events
        self.terms = Terms()
        domains = analyse(structure)
        self.accesses = Accesses(structure, domains, self.terms)
        self.meetings = Meetings(structure, self.terms)
        self.happening = Happening(structure, self.terms, self.meetings.left_over)
        self.executed = self.happening.executed
        self.reads = [e.index for e in self.accesses.operations if e.kind is Kind.READ]
        self.writes = [INITIAL, *(e.index for e in self.accesses.operations if e.kind is Kind.WRITE)]
        self.reads_from: dict[tuple[int, Cell], dict[int, Truth]] = {}
        self.coherence: Table = {}
        self.fences: list[int] = list(bits(program_set(structure, "SC")))
        self.ranks = {f: z3.BitVec(f"fence{f}", max(1, len(self.fences).bit_length())) for f in self.fences}
        self.constraints: list[Truth] = []
        self._choose_sources()
        for read in self.reads if bounded else ():
            known = disj_all(self.value(read) == number for number in domains.reads[read])
            self.constraints.append(implies(self.executed[read], known))
        self._choose_coherence()
        if len(self.fences) > 1:
            self.constraints.append(z3.Distinct(list(self.ranks.values())))
        for meeting in self.meetings.meetings:
            self.constraints += meeting.constraints(self.executed, self.happening.ended)
        for index, domain in enumerate(structure.choice_domains):
            self._choose_freely(index, domain)

    def _choose_freely(self, index: int, domain: tuple[int, ...]) -> None:
        variable = self.choice(index)
        self.constraints.append(disj_all(variable == number for number in domain))

    def choice(self, index: int) -> Any:
        """The variable of a free choice."""
        return self.terms.choice(index, self._choice_width(index))

    def _choice_width(self, index: int) -> int:
        """The width at which the structure's values use a choice."""
        stack = [v for e in self.events for v in (e.guard, e.address, e.value) if v is not None]
        stack += [*self.structure.ends, *self.structure.final_registers.values()]
        stack += [m.condition for m in self.structure.misuses]
        stack += [v for e in self.events for v in (e.marks or {}).values()]
        stack += self.structure.grouped.values()
        stack += [a.member for r in self.structure.rendezvous for a in r.arrivals]
        stack += [v for p in self.structure.blocking for v in (p.guard, p.passed) if v is not None]
        seen = set()
        while stack:
            value = stack.pop()
            if value.op == "choice" and value.payload == index:
                return value.width
            if value not in seen:
                seen.add(value)
                stack.extend(value.args)
        return 64

    # ---- reads-from

    def _choose_sources(self) -> None:
        for read in self.reads:
            for cell in self.accesses.cells_of(read):
                self._choose_source(read, cell)
            nowhere = neg(disj_all(spot.when for spot in self.accesses.spots[read]))
            self.constraints.append(implies(nowhere, self.value(read) == 0))

    def _choose_source(self, read: int, cell: Cell) -> None:
        table: dict[int, Truth] = {}
        for write in self.writers(cell):
            if self.events[write].rmw != read:
                table[write] = z3.Bool(f"rf{read}.{cell.physical}.{write}")
        self.reads_from[read, cell] = table
        needed = conj(self.executed[read], self.accesses.covers(read, cell))
        self.constraints.append(implies(needed, exactly(1, table.values())))
        for write, chosen in table.items():
            self.constraints.append(implies(chosen, conj(needed, self.touches(write, cell))))
            for spot in self.accesses.spots_at(read, cell):
                for when, part in self.parts(write, cell):
                    found = _slice(self.value(read), cell, spot.physical)
                    self.constraints.append(implies(conj(chosen, spot.when, when), found == part))

    def value(self, event: int) -> Any:
        """What a memory operation reads or writes."""
        value = self.events[event].value
        assert value is not None
        return self.terms.bits(value)

    def writers(self, cell: Cell) -> list[int]:
        """All writes that may touch the cell."""
        return [w for w in self.writes if w == INITIAL or self.accesses.spots_at(w, cell)]

    def touches(self, write: int, cell: Cell) -> Truth:
        """The write happens and touches the cell."""
        return conj(self.executed[write], self.accesses.covers(write, cell))

    def parts(self, write: int, cell: Cell) -> list[tuple[Truth, Any]]:
        """What a write puts into a cell, by the address that it has."""
        if write == INITIAL:
            number = self.structure.memory.initial_value(cell.physical, cell.size)
            return [(True, z3.BitVecVal(number, 8 * cell.size))]
        spots: list[Spot] = self.accesses.spots_at(write, cell)
        return [(spot.when, _slice(self.value(write), cell, spot.physical)) for spot in spots]

    # ---- coherence

    def _choose_coherence(self) -> None:
        accesses = self.accesses
        overlap: Table = {}
        for first in self.writes:
            for second in self.writes:
                both = conj(self.executed[first], self.executed[second], accesses.related("overlap", first, second))
                if first != second and both is not False:
                    overlap[first, second] = both
        for first, second in overlap:
            if first == INITIAL:
                self.coherence[first, second] = self.executed[second]
            elif second != INITIAL:
                self.coherence[first, second] = z3.Bool(f"co{first}.{second}")
        order = self.coherence
        for (first, second), ordered in order.items():
            self.constraints.append(implies(ordered, overlap[first, second]))
            self.constraints.append(neg(conj(ordered, order.get((second, first), False))))
            for third in self.writes:
                if (second, third) in order and (first, third) in order:
                    both = conj(ordered, order[second, third], overlap[first, third])
                    self.constraints.append(implies(both, order[first, third]))

    # ---- the vocabulary

    def base(self, name: str) -> Table:
        """A base set or relation, between events that happen."""
        entry = VOCABULARY[name]
        if entry.kind is ExprKind.SET:
            return self._base_set(name)
        if entry.source is Source.PROGRAM:
            return self._happen(pairs(program_relation(self.structure, name)))
        if entry.source is Source.VALUE:
            return self._valued(value_relation(self.structure, name))
        if entry.source is Source.ADDRESS:
            return self._of_objects(name) if name in ("covers", "home") else self._address_relation(name)
        match name:
            case "rf":
                return self._rf()
            case "co":
                return dict(self.coherence)
            case "fr":
                return self.from_read(self.coherence)
            case "sync_fence":
                return self._sync_fence()
            case "syncbar":
                return self.meetings.met(RendezvousKind.CTA, RendezvousKind.PEER)
            case "warpbar":
                return self.meetings.met(RendezvousKind.WARP)
            case "clusterbar":
                return self.meetings.met(RendezvousKind.CLUSTER)
            case "samegen":
                return self.meetings.same_generation()
            case "bar-before":
                return self.meetings.before()
            case "rearrive" | "mismatch":
                return self.meetings.together(barrier_candidates(self.structure, name))
            case "exited":
                return self.meetings.exited(self.executed)
            case _:
                raise KeyError(name)

    def _base_set(self, name: str) -> Table:
        source = VOCABULARY[name].source
        if source is Source.ADDRESS:
            return {
                (e.index,): conj(self.executed[e.index], self._placed(name, e.index)) for e in self.accesses.operations
            }
        if source is Source.CHOICE:
            unended = [(e.index, neg(self.happening.ended(e.thread))) for e in self.events[1:]]
            return {(i,): truth for i, over in unended if (truth := conj(self.executed[i], over)) is not False}
        if source is Source.VALUE:
            return self._valued({(event,): when for event, when in value_set(self.structure, name).items()})
        return {
            (i,): self.executed[i] for i in bits(program_set(self.structure, name)) if self.executed[i] is not False
        }

    def _placed(self, name: str, event: int) -> Truth:
        """The access is in an ADDRESS set."""
        node = self.events[event]
        return disj_all(
            spot.when for spot in self.accesses.spots[event] if address_set(self.structure, name, node, spot.address)
        )

    def _valued(self, conditions: Mapping[Any, Value]) -> Table:
        found: Table = {
            key: conj(*(self.executed[i] for i in key), self.terms.truth(when)) for key, when in conditions.items()
        }
        return {key: truth for key, truth in found.items() if truth is not False}

    def _of_objects(self, name: str) -> Table:
        """`covers` and `home`, spot by spot."""
        ways: dict[tuple[int, ...], list[Truth]] = {}
        for event in self.accesses.operations:
            for spot in self.accesses.spots[event.index]:
                if name == "home":
                    for resident in bits(residents(self.structure, event, spot.address)):
                        ways.setdefault((event.index, resident), []).append(spot.when)
                    continue
                for fence in self.events:
                    start = None if fence.address is None else fence.address.payload
                    if fence.kind is Kind.FENCE and covers(self.structure, fence, start, event, spot.address):
                        ways.setdefault((fence.index, event.index), []).append(spot.when)
        return {(i, j): conj(self.executed[i], self.executed[j], disj_all(when)) for (i, j), when in ways.items()}

    def _happen(self, edges: list[tuple[int, int]]) -> Table:
        found: Table = {(i, j): conj(self.executed[i], self.executed[j]) for i, j in edges}
        return {pair: truth for pair, truth in found.items() if truth is not False}

    def _address_relation(self, name: str) -> Table:
        if name == "po-loc":
            order = self._happen(pairs(program_relation(self.structure, "po")))
            place = self._address_relation("loc")
            return {pair: conj(truth, place[pair]) for pair, truth in order.items() if pair in place}
        operations = [INITIAL, *(e.index for e in self.accesses.operations)]
        found: Table = {}
        for first in operations:
            for second in operations:
                related = self.accesses.related(name, first, second)
                found[first, second] = conj(self.executed[first], self.executed[second], related)
        return {pair: truth for pair, truth in found.items() if truth is not False}

    def _rf(self) -> Table:
        ways: dict[tuple[int, ...], list[Truth]] = {}
        for (read, _), table in self.reads_from.items():
            for write, chosen in table.items():
                ways.setdefault((write, read), []).append(chosen)
        return {pair: disj_all(chosen) for pair, chosen in ways.items()}

    def _sync_fence(self) -> Table:
        near = set(pairs(program_relation(self.structure, "sr"))) | set(pairs(program_relation(self.structure, "int")))
        return {
            (f, g): conj(self.executed[f], self.executed[g], z3.ULT(self.ranks[f], self.ranks[g]))
            for f in self.fences
            for g in self.fences
            if f != g and (f, g) in near
        }

    def from_read(self, order: Table) -> Table:
        """A read to a write that comes, in `order`, after the write of some byte that both have (ISA 8.9.7.3)."""
        after: dict[int, list[tuple[int, Truth]]] = {}
        for (first, second), truth in order.items():
            after.setdefault(first, []).append((second, truth))
        ways: dict[tuple[int, ...], list[Truth]] = {}
        for (read, cell), table in self.reads_from.items():
            for source, chosen in table.items():
                for later, truth in after.get(source, ()):
                    if later in self.writes:
                        ways.setdefault((read, later), []).append(conj(chosen, truth, self.touches(later, cell)))
        return {pair: truth for pair, found in ways.items() if (truth := disj_all(found)) is not False}

    # ---- tearing

    def forbid_torn_reads(self, order: Table) -> None:
        """A read that takes a byte of a write of just its bytes takes no other byte of an earlier or such a write."""
        for read in self.reads:
            cells = self.accesses.cells_of(read)
            for first in cells:
                for second in cells:
                    if first != second:
                        self._forbid_mixtures(read, first, second, order)

    def _forbid_mixtures(self, read: int, first: Cell, second: Cell, order: Table) -> None:
        for write, chosen in self.reads_from[read, first].items():
            if write == INITIAL:
                continue
            whole = self.accesses.related("loc", read, write)
            for other, also in self.reads_from[read, second].items():
                if other != write:
                    same = False if other == INITIAL else self.accesses.related("loc", read, other)
                    stale = disj(same, order.get((other, write), False), other == INITIAL)
                    self.constraints.append(neg(conj(chosen, also, whole, stale)))

    def polled_last(self, read: int, order: Table) -> Truth:
        """The read takes every byte from a write that none comes after."""
        wrong = []
        for cell in self.accesses.cells_of(read):
            for write, chosen in self.reads_from[read, cell].items():
                for later in self.writers(cell):
                    wrong.append(conj(chosen, self.touches(later, cell), order.get((write, later), False)))
        return neg(disj_all(wrong))


def _slice(value: Any, cell: Cell, physical: int) -> Any:
    """The bits of an access's value that lie in a cell."""
    low = 8 * (cell.physical - physical)
    return z3.Extract(low + 8 * cell.size - 1, low, value)
