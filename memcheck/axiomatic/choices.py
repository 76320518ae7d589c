"""What an execution chooses, as literals: reads-from, coherence, Fence-SC order, generations, final bytes.

`Choices` gives every base name of the vocabulary its bounds and literals. Memory is cut into cells, groups of bytes
that are always accessed together; reads-from and final values are chosen cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memcheck.axiomatic import literals
from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.generations import Generations
from memcheck.axiomatic.literals import ValueLiterals
from memcheck.axiomatic.matrix import bits, matrices
from memcheck.axiomatic.threads import Progress
from memcheck.events.domains import Domains
from memcheck.events.relations import address_relation, program_relation, program_set
from memcheck.events.structure import INITIAL, Event, Kind, RendezvousKind, Structure
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.language.test import MemoryTerm, Observable, RegisterTerm
from memcheck.relations.expression import ExprKind

_BARRIER_RELATIONS = {
    "syncbar": (RendezvousKind.CTA, RendezvousKind.PEER),
    "warpbar": (RendezvousKind.WARP,),
    "clusterbar": (RendezvousKind.CLUSTER,),
}


@dataclass(frozen=True, slots=True)
class Footprint:
    """One address that an access may have, virtual and physical, and the cells behind it by index."""

    event: int
    address: int
    physical: int
    cells: tuple[int, ...]


class Choices:
    """All choices of one structure's executions. `ending`: every thread ends; else some thread may stop."""

    def __init__(self, structure: Structure, domains: Domains, clauses: Clauses, ending: bool) -> None:
        self.structure = structure
        self.events = structure.events
        self.clauses = clauses
        self.cells = domains.cells
        self.space = matrices(len(self.events))
        self._domains = domains
        self.values = ValueLiterals(clauses, self._read_literals, structure.choice_domains)
        self.progress = Progress(structure, self.values, clauses, ending)
        self.footprints = [self._footprint(e) for e in self.events]
        self._writers = self._list_writers()
        self.reads_from: dict[tuple[int, int], dict[int, int]] = {}
        """(read, cell) -> write -> literal."""
        self._parts: dict[tuple[int, int], literals.Choices] = {}
        self._unlinked: list[int] = []
        self.coherence: dict[tuple[int, int], int] = {}
        self._transitive: set[tuple[int, int, int]] = set()
        self.fence_order: dict[tuple[int, int], int] = {}
        self._bounds: dict[str, tuple[int, int]] = {}
        self._barriers: dict[str, dict[tuple[int, int], int]] = {}
        self._choose()
        self.always = sum(1 << e.index for e in self.events if self.progress.executed(e.index) == TRUE)
        self.generations = Generations(
            structure.rendezvous,
            lambda e: self.events[e].thread,
            clauses,
            self.values.is_true,
            self.progress.executed,
            self.progress.ended,
            ending,
        )
        self.progress.settle(self.generations.left_over)

    def _choose(self) -> None:
        """Reads-from literals, then the values that they give, then who may be read at all: guards depend on values."""
        reads = [e for e in self.events if e.kind is Kind.READ and not (e.guard.is_const and not e.guard.payload)]
        for event in reads:
            for cell in self.cells_of(event.index):
                writers = [w for w in self._writers[cell] if self.events[w].rmw != event.index]
                certain = self.progress.is_certain(event.index) and self._surely_covers(event.index, cell)
                self.reads_from[event.index, cell] = self.values.one_of(writers, exactly=certain)
        for event in reads:
            assert event.value is not None
            self.values.of(event.value)
        for read in self._unlinked:
            self._link_value(read)
        for event in self.events:
            if event.kind is Kind.WRITE and event.index != INITIAL and not self._domains.writes[event.index]:
                self.clauses.require(-self.executed(event.index))
        for (read, cell), table in self.reads_from.items():
            self._limit(read, cell, table)

    def executed(self, event: int) -> int:
        return self.progress.executed(event)

    # ---- accesses

    def _footprint(self, event: Event) -> tuple[Footprint, ...]:
        if event.address is None or event.kind not in (Kind.READ, Kind.WRITE):
            return ()
        memory, found = self.structure.memory, []
        addresses = [event.address.payload] if event.address.is_const else self._domains.addresses[event.index]
        for address in addresses:
            physical = memory.physical(address, event.size)
            if physical is not None:
                end = physical + event.size
                inside = (i for i, (base, size) in enumerate(self.cells) if physical <= base and base + size <= end)
                found.append(Footprint(event.index, address, physical, tuple(inside)))
        return tuple(found)

    def there(self, footprint: Footprint) -> int:
        """The access, if executed, has this address."""
        address = self.events[footprint.event].address
        assert address is not None
        return TRUE if address.is_const else self.values.equals(address, footprint.address)

    def _surely_covers(self, event: int, cell: int) -> bool:
        footprints, address = self.footprints[event], self.events[event].address
        return address is not None and address.is_const and cell in footprints[0].cells

    def covers(self, event: int, cell: int) -> int:
        """The event, if executed, accesses the cell. W0 covers all."""
        if event == INITIAL:
            return TRUE
        return self.clauses.either([self.there(f) for f in self.footprints[event] if cell in f.cells])

    def cells_of(self, event: int) -> list[int]:
        return sorted({c for f in self.footprints[event] for c in f.cells})

    def _list_writers(self) -> list[list[int]]:
        """A write without a value in the domains could only happen out of thin air; `_choose` forbids it."""
        writers: list[list[int]] = [[INITIAL] for _ in self.cells]
        for event in self.events:
            if event.kind is Kind.WRITE and event.index != INITIAL and self._domains.writes[event.index]:
                for cell in self.cells_of(event.index):
                    writers[cell].append(event.index)
        return writers

    def writers(self, cell: int) -> Sequence[int]:
        """W0 and the writes that may touch the cell."""
        return self._writers[cell]

    # ---- reads

    def _limit(self, read: int, cell: int, table: dict[int, int]) -> None:
        """A read takes each cell that it covers from one executed write that covers it, and no other cell."""
        clauses = self.clauses
        needed = clauses.both((self.executed(read), self.covers(read, cell)))
        if needed != TRUE:
            clauses.require(-needed, *table.values())
        for write, literal in table.items():
            if needed != TRUE:
                clauses.require(-literal, needed)
            for condition in (self.executed(write), self.covers(write, cell)):
                if condition != TRUE:
                    clauses.require(-literal, condition)

    def _read_literals(self, read: int) -> literals.Choices:
        """Literals of a read's value: its reads-from literals where every writer's value is a constant."""
        direct = self._direct(read)
        if direct is not None:
            return direct
        self._unlinked.append(read)
        return self.values.one_of(sorted(self._domains.reads[read]), exactly=False)

    def _direct(self, read: int) -> literals.Choices | None:
        footprint = self.footprints[read]
        if len(footprint) != 1 or len(footprint[0].cells) != 1 or not self._surely_covers(read, footprint[0].cells[0]):
            return None
        cell = footprint[0].cells[0]
        table: dict[int, list[int]] = {}
        for write, literal in self.reads_from[read, cell].items():
            number = self._constant(write, cell)
            if number is None:
                return None
            table.setdefault(number, []).append(literal)
        return {number: self.clauses.either(ways) for number, ways in table.items()}

    def _constant(self, write: int, cell: int) -> int | None:
        """What the write puts into the cell, if that is a constant."""
        base, size = self.cells[cell]
        if write == INITIAL:
            return self.structure.memory.initial_value(base, size)
        event = self.events[write]
        assert event.value is not None
        if not event.value.is_const or not self._surely_covers(write, cell):
            return None
        return event.value.payload >> 8 * (base - self.footprints[write][0].physical) & ((1 << 8 * size) - 1)

    def written(self, write: int, cell: int) -> list[tuple[int, int]]:
        """(number, literal) of what a write, executed, puts into the cell."""
        constant = self._constant(write, cell)
        if constant is not None:
            return [(constant, TRUE)]
        base, size = self.cells[cell]
        value = self.events[write].value
        assert value is not None
        mask, found = (1 << 8 * size) - 1, []
        for footprint in self.footprints[write]:
            if cell in footprint.cells:
                shift, there = 8 * (base - footprint.physical), self.there(footprint)
                for number, literal in self.values.of(value).items():
                    found.append((number >> shift & mask, self.clauses.both((literal, there))))
        return found

    def part(self, read: int, cell: int) -> literals.Choices:
        """Literals of what a read finds in one cell."""
        found = self._parts.get((read, cell))
        if found is None:
            found = self._parts[read, cell] = self.mixture(self.reads_from[read, cell], cell)
        return found

    def mixture(self, sources: dict[int, int], cell: int) -> literals.Choices:
        """Literals of a cell's value, from the literals of the writes that it may come from."""
        terms: dict[int, list[int]] = {}
        for write, literal in sources.items():
            for number, condition in self.written(write, cell):
                terms.setdefault(number, []).append(self.clauses.both((literal, condition)))
        return {number: self.clauses.either(ways) for number, ways in terms.items()}

    def _link_value(self, read: int) -> None:
        """What a read without direct literals returns: what its writes wrote, cell by cell."""
        value = self.events[read].value
        assert value is not None
        numbers = self.values.of(value)
        for footprint in self.footprints[read]:
            there = self.there(footprint)
            for number, literal in self.combine(footprint, [self.part(read, c) for c in footprint.cells]):
                self.clauses.require(-there, -literal, numbers.get(number, FALSE))

    def combine(self, footprint: Footprint, parts: list[literals.Choices]) -> list[tuple[int, int]]:
        """(number, literal) of the little-endian value that the parts of a footprint's cells make."""
        combined = [(0, TRUE)]
        for cell, part in zip(footprint.cells, parts):
            shift = 8 * (self.cells[cell][0] - footprint.physical)
            combined = [
                (low | number << shift, self.clauses.both((below, literal)))
                for low, below in combined
                for number, literal in part.items()
            ]
        return combined

    # ---- the vocabulary

    def bounds(self, name: str) -> tuple[int, int]:
        found = self._bounds.get(name)
        if found is None:
            found = self._bounds[name] = self._find_bounds(name)
        return found

    def _find_bounds(self, name: str) -> tuple[int, int]:
        entry, space, always = VOCABULARY[name], self.space, self.always
        if entry.kind is ExprKind.SET:
            if entry.source is Source.ADDRESS:
                return self._address_set(name)
            members = program_set(self.structure, name)
            return members, members & always
        if entry.source is Source.PROGRAM:
            may = space.from_rows(program_relation(self.structure, name))
            return may, may & space.product(always, always)
        if entry.source is Source.ADDRESS:
            return self._address_bounds(name)
        if name == "rf":
            may = 0
            for (read, _), table in self.reads_from.items():
                for write, literal in table.items():
                    if literal != FALSE:
                        may |= 1 << (write * space.n + read)
            return may, 0
        if name == "co":
            overlap, _ = self.bounds("overlap")
            writes = program_set(self.structure, "W")
            pairs = overlap & space.product(writes, writes & ~1) & ~space.identity
            return pairs, pairs & space.product(1, always)
        if name == "sync_fence":
            fences = program_set(self.structure, "SC")
            mates = space.from_rows(program_relation(self.structure, "sr")) | space.from_rows(
                program_relation(self.structure, "int")
            )
            return space.product(fences, fences) & mates & ~space.identity, 0
        pairs_of = self.barrier_relation(name)
        may = must = 0
        for (i, j), literal in pairs_of.items():
            bit = 1 << (i * space.n + j)
            may |= bit
            if literal == TRUE:
                must |= bit
        return may, must

    def barrier_relation(self, name: str) -> dict[tuple[int, int], int]:
        found = self._barriers.get(name)
        if found is None:
            if name in _BARRIER_RELATIONS:
                found = self.generations.synchronizes(_BARRIER_RELATIONS[name])
            elif name == "exited":
                found = self.generations.exited(self._events_of, self.executed)
            elif name in ("samegen", "bar-before"):
                found = self.generations.ordered(same=name == "samegen")
            else:
                raise AssertionError(name)
            self._barriers[name] = found
        return found

    def _events_of(self, thread: int) -> list[int]:
        return [e.index for e in self.events if e.thread == thread]

    def _address_set(self, name: str) -> tuple[int, int]:
        assert name == "SHARED"
        may = must = 0
        for event in self.events:
            shared = [self._is_shared(f.address) for f in self.footprints[event.index]]
            if any(shared):
                may |= 1 << event.index
                if all(shared) and self.always >> event.index & 1:
                    must |= 1 << event.index
        return may, must

    def _is_shared(self, address: int) -> bool:
        region = self.structure.memory.region(address, 1)
        return region is not None and region.cta is not None

    def _address_bounds(self, name: str) -> tuple[int, int]:
        if name == "po-loc":
            po_may, po_must = self.bounds("po")
            loc_may, loc_must = self.bounds("loc")
            return po_may & loc_may, po_must & loc_must
        n, may, must = self.space.n, 0, 0
        memory = [e.index for e in self.events if e.kind in (Kind.READ, Kind.WRITE)]
        for i in memory:
            for j in memory:
                if i == INITIAL or j == INITIAL:
                    holds = [True]
                else:
                    holds = [self._related(name, i, a, j, b) for a in self.footprints[i] for b in self.footprints[j]]
                if any(holds):
                    bit = 1 << (i * n + j)
                    may |= bit
                    if all(holds) and self.always >> i & 1 and self.always >> j & 1:
                        must |= bit
        return may, must

    def _related(self, name: str, i: int, a: Footprint, j: int, b: Footprint) -> bool:
        events = self.events
        return address_relation(self.structure.memory, name, (a.address, events[i].size), (b.address, events[j].size))

    def literal(self, name: str, pair: int) -> int:
        entry, n = VOCABULARY[name], self.space.n
        if entry.kind is ExprKind.SET:
            if entry.source is Source.PROGRAM:
                return self.executed(pair)
            ways = [self.there(f) for f in self.footprints[pair] if self._is_shared(f.address)]
            return self.clauses.both((self.executed(pair), self.clauses.either(ways)))
        i, j = divmod(pair, n)
        if name == "rf":
            return self.clauses.either([self.reads_from[j, c].get(i, FALSE) for c in self.cells_of(j)])
        if name == "co":
            return self._coherence_literal(i, j)
        if name == "sync_fence":
            return self._fence_literal(i, j)
        if entry.source is Source.CHOICE:
            return self.barrier_relation(name)[i, j]
        both = [self.executed(i), self.executed(j)]
        if entry.source is Source.ADDRESS:
            both.append(self._address_literal("loc" if name == "po-loc" else name, i, j))
        return self.clauses.both(both)

    def _address_literal(self, name: str, i: int, j: int) -> int:
        if INITIAL in (i, j):
            return TRUE
        return self.clauses.either(
            [
                self.clauses.both((self.there(a), self.there(b)))
                for a in self.footprints[i]
                for b in self.footprints[j]
                if self._related(name, i, a, j, b)
            ]
        )

    def same_bytes(self, i: int, j: int) -> int:
        """Two executed accesses are of exactly the same bytes."""
        return self._address_literal("loc", i, j)

    def _coherence_literal(self, i: int, j: int) -> int:
        clauses = self.clauses
        if i == INITIAL:
            return self.executed(j)
        found = self.coherence.get((i, j))
        if found is None:
            found = self.coherence[i, j] = clauses.variable()
            needed = (self.executed(i), self.executed(j), self._address_literal("overlap", i, j))
            for condition in needed:
                clauses.require(-found, condition)
            clauses.require(-found, -self._coherence_literal(j, i))
        return found

    def _fence_literal(self, i: int, j: int) -> int:
        if not self.fence_order:
            fences = list(bits(program_set(self.structure, "SC")))
            for position, first in enumerate(fences):
                for second in fences[position + 1 :]:
                    variable = self.clauses.variable()
                    self.fence_order[first, second] = variable
                    self.fence_order[second, first] = -variable
            for a in fences:
                for b in fences:
                    for c in fences:
                        if a != b and b != c and a != c:
                            self.clauses.require(
                                -self.fence_order[a, b], -self.fence_order[b, c], self.fence_order[a, c]
                            )
        return self.clauses.both((self.executed(i), self.executed(j), self.fence_order[i, j]))

    def settle_coherence(self) -> None:
        """The chosen coherence is transitive and acyclic over the writes that it has been asked about."""
        triples, done = self._transitive, -1
        while done != len(self.coherence):
            done = len(self.coherence)
            follows: dict[int, list[int]] = {}
            for a, b in self.coherence:
                follows.setdefault(a, []).append(b)
            for a, b in list(self.coherence):
                for c in follows.get(b, ()):
                    if a != c and (a, b, c) not in triples:
                        triples.add((a, b, c))
                        step = self._coherence_step(a, c)
                        self.clauses.require(-self.coherence[a, b], -self.coherence[b, c], step)

    def _coherence_step(self, a: int, c: int) -> int:
        """Overlapping writes: their literal. Others: an auxiliary order, so that no cycle closes through them."""
        overlap, _ = self.bounds("overlap")
        if overlap >> (a * self.space.n + c) & 1:
            return self._coherence_literal(a, c)
        found = self.coherence.get((a, c))
        if found is None:
            found = self.coherence[a, c] = self.clauses.variable()
            back = self.coherence.get((c, a))
            if back is not None:
                self.clauses.require(-found, -back)
        return found

    def from_read_may(self, may: int) -> int:
        n, row, result = self.space.n, self.space.row, 0
        covering = [sum(1 << w for w in writers) for writers in self._writers]
        for (read, cell), table in self.reads_from.items():
            targets = 0
            for write in table:
                targets |= may >> (write * n) & row
            result |= (targets & covering[cell]) << (read * n)
        return result

    def from_read(self, pair: int) -> list[tuple[int, int, int]]:
        read, target = divmod(pair, self.space.n)
        ways = []
        for cell in self.cells_of(read):
            if target in self._writers[cell]:
                condition = self.clauses.both((self.executed(target), self.covers(target, cell)))
                for write, literal in self.reads_from[read, cell].items():
                    if write != target:
                        ways.append((self.clauses.both((literal, condition)), write, target))
        return ways

    # ---- observables

    def element(self, term: MemoryTerm) -> tuple[int, int]:
        """Physical address and size of a memory term."""
        memory = self.structure.memory
        size = memory.variables[term.variable].type.size
        regions = [r for r in memory.regions if r.variable == term.variable and (term.cta is None or r.cta == term.cta)]
        return regions[0].physical + term.index * size, size

    def final_register(self, term: RegisterTerm) -> literals.Choices:
        return self.values.of(self.structure.final_registers[term])

    def observable_width(self, term: Observable) -> int:
        """Bits of an observable."""
        if isinstance(term, RegisterTerm):
            return self.structure.test.threads[term.thread].widths[term.name]
        return 8 * self.structure.test.variables[term.variable].type.size
