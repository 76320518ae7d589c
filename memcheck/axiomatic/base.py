"""The vocabulary over one structure: bounds and literals of every base set and relation."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.axiomatic.accesses import Accesses, Footprint
from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.generations import Generations
from memcheck.axiomatic.orders import Coherence, FenceOrder
from memcheck.axiomatic.reads import Reads
from memcheck.events.relations import (
    address_relation,
    address_set,
    barrier_candidates,
    covers,
    program_relation,
    program_set,
    residents,
    value_relation,
    value_set,
)
from memcheck.events.structure import INITIAL, Event, Kind, RendezvousKind, Structure
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.relations.expression import ExprKind
from memcheck.relations.matrix import Matrices, bits

BARRIERS: dict[str, tuple[RendezvousKind, ...]] = {
    "syncbar": (RendezvousKind.CTA, RendezvousKind.PEER),
    "warpbar": (RendezvousKind.WARP,),
    "clusterbar": (RendezvousKind.CLUSTER,),
}

Bounds = tuple[int, int]
"""Pairs (or elements) that may be in it, and that must be where they are executed."""


class Base:
    """Answers for the names of a cat text; see `relations.BaseLiterals`."""

    def __init__(self, reads: Reads, generations: Generations, space: Matrices) -> None:
        self.structure: Structure = reads.structure
        self.events = reads.events
        self.accesses: Accesses = reads.accesses
        self.reads = reads
        self.generations = generations
        self.clauses: Clauses = reads.clauses
        self.space = space
        self.always = sum(1 << e.index for e in self.events if reads.executed(e.index) == TRUE)
        """Events that happen in every execution."""
        self._bounds: dict[str, Bounds] = {}
        self._barriers: dict[str, dict[tuple[int, int], int]] = {}
        self.coherence = Coherence(self.clauses, reads.executed, self._share_bytes, self._may_overlap)
        self.fences = FenceOrder(self.clauses, list(bits(program_set(self.structure, "SC"))))

    def executed(self, event: int) -> int:
        return self.reads.executed(event)

    # ---- bounds

    def bounds(self, name: str) -> Bounds:
        found = self._bounds.get(name)
        if found is None:
            found = self._bounds[name] = self._find_bounds(name)
        return found

    def _find_bounds(self, name: str) -> Bounds:
        entry, space = VOCABULARY[name], self.space
        if entry.kind is ExprKind.SET:
            if entry.source is Source.ADDRESS:
                return self._address_set(name)
            if entry.source is Source.VALUE:
                return self._value_set(name)
            if entry.source is Source.CHOICE:
                return self._unended()
            members = program_set(self.structure, name)
            return members, members
        if entry.source is Source.PROGRAM:
            may = space.from_rows(program_relation(self.structure, name))
            return may, may
        if entry.source is Source.VALUE:
            return self._value_relation(name)
        if entry.source is Source.ADDRESS:
            if name in ("covers", "home"):
                return self._object_bounds(name)
            self._bound_addresses()
            return self._bounds[name]
        if name == "rf":
            return self._reads_from_bounds(), 0
        if name == "co":
            writes = program_set(self.structure, "W")
            pairs = self.bounds("overlap")[0] & space.product(writes, writes & ~1) & ~space.identity
            return pairs, pairs & space.product(1, space.row)
        if name == "sync_fence":
            fences = program_set(self.structure, "SC")
            mates = self.bounds("sr")[0] | self.bounds("int")[0]
            return space.product(fences, fences) & mates & ~space.identity, 0
        return self._barrier_bounds(name) if self.structure.rendezvous else (0, 0)

    def _reads_from_bounds(self) -> int:
        n, may = self.space.n, 0
        for (read, _), table in self.reads.sources.items():
            for write, literal in table.items():
                if literal != FALSE:
                    may |= 1 << (write * n + read)
        return may

    def _barrier_bounds(self, name: str) -> Bounds:
        n, may, must = self.space.n, 0, 0
        for (i, j), literal in self._barrier(name).items():
            bit = 1 << (i * n + j)
            may |= bit
            if literal == TRUE:
                must |= bit
        return may, must

    def _barrier(self, name: str) -> dict[tuple[int, int], int]:
        found = self._barriers.get(name)
        if found is None:
            if name in BARRIERS:
                found = self.generations.synchronizes(BARRIERS[name])
            elif name == "exited":
                found = self.generations.exited(self._events_of, self.executed)
            elif name in ("samegen", "bar-before"):
                found = self.generations.ordered(same=name == "samegen")
            elif name in ("rearrive", "mismatch"):
                found = self.generations.together(barrier_candidates(self.structure, name))
            else:
                raise AssertionError(name)
            self._barriers[name] = found
        return found

    def _events_of(self, thread: int) -> Sequence[int]:
        return [e.index for e in self.events if e.thread == thread and e.operation is None]

    def _value_set(self, name: str) -> Bounds:
        may = must = 0
        for event, when in value_set(self.structure, name).items():
            literal = self.reads.values.is_true(when)
            may |= (literal != FALSE) << event
            must |= (literal == TRUE) << event
        return may, must

    def _unended(self) -> Bounds:
        may = 0
        for event in self.events[1:]:
            if self.reads.progress.ended(event.thread) != TRUE:
                may |= 1 << event.index
        return may, 0

    def _value_relation(self, name: str) -> Bounds:
        n, may, must = self.space.n, 0, 0
        for (i, j), when in value_relation(self.structure, name).items():
            literal = self.reads.values.is_true(when)
            may |= (literal != FALSE) << (i * n + j)
            must |= (literal == TRUE) << (i * n + j)
        return may, must

    def _object_bounds(self, name: str) -> Bounds:
        """`covers` and `home`: by the addresses that an access may have."""
        n, may, must = self.space.n, 0, 0
        fences = [e for e in self.events if e.kind is Kind.FENCE]
        for event in self.events:
            prints = self.accesses.footprints[event.index]
            if not prints:
                continue
            if name == "home":
                rows = [residents(self.structure, event, f.address) << (event.index * n) for f in prints]
            else:
                rows = [
                    sum(1 << (f.index * n + event.index) for f in fences if self._covers(f, event, p.address))
                    for p in prints
                ]
            every = rows[0]
            for row in rows:
                may |= row
                every &= row
            must |= every
        return may, must

    def _covers(self, fence: Event, event: Event, address: int) -> bool:
        start = None if fence.address is None else fence.address.payload
        return covers(self.structure, fence, start, event, address)

    def _address_set(self, name: str) -> Bounds:
        may = must = 0
        for event in self.events:
            prints = self.accesses.footprints[event.index]
            inside = [address_set(self.structure, name, event, f.address) for f in prints]
            if any(inside):
                may |= 1 << event.index
                if all(inside):
                    must |= 1 << event.index
        return may, must

    def _bound_addresses(self) -> None:
        """loc, vloc, overlap, voverlap, po-loc: from accesses grouped by the addresses that they may have."""
        space = self.space
        groups: dict[tuple[tuple[int, ...], int], int] = {}
        accesses = 0
        for event in self.events:
            if event.kind in (Kind.READ, Kind.WRITE) and event.index != INITIAL:
                key = (tuple(f.address for f in self.accesses.footprints[event.index]), event.size)
                groups[key] = groups.get(key, 0) | 1 << event.index
                accesses |= 1 << event.index
        initial = space.product(1, accesses | 1) | space.product(accesses, 1)
        memory = self.structure.memory
        for name in ("loc", "vloc", "overlap", "voverlap"):
            may = must = 0
            for (first, n), left in groups.items():
                for (second, m), right in groups.items():
                    holds = [address_relation(memory, name, (a, n), (b, m)) for a in first for b in second]
                    if any(holds):
                        pairs = space.product(left, right)
                        may |= pairs
                        if all(holds):
                            must |= pairs
            self._bounds[name] = (may | initial, must | initial)
        po, loc = self.bounds("po"), self._bounds["loc"]
        self._bounds["po-loc"] = (po[0] & loc[0], po[1] & loc[1])

    # ---- literals

    def literal(self, name: str, pair: int) -> int:
        entry, clauses = VOCABULARY[name], self.clauses
        if entry.kind is ExprKind.SET:
            if entry.source is Source.PROGRAM:
                return self.executed(pair)
            event = self.events[pair]
            if entry.source is Source.CHOICE:
                return clauses.both((self.executed(pair), -self.reads.progress.ended(event.thread)))
            if entry.source is Source.VALUE:
                when = value_set(self.structure, name)[pair]
                return clauses.both((self.executed(pair), self.reads.values.is_true(when)))
            prints = self.accesses.footprints[pair]
            inside = [f for f in prints if address_set(self.structure, name, event, f.address)]
            return clauses.both((self.executed(pair), clauses.either([self.reads.there(f) for f in inside])))
        i, j = divmod(pair, self.space.n)
        if name == "rf":
            sources = self.reads.sources
            return clauses.either([sources[j, c].get(i, FALSE) for c in self.accesses.cells_of(j)])
        if name == "co":
            return self.coherence.literal(i, j)
        if name == "sync_fence":
            return clauses.both((self.executed(i), self.executed(j), self.fences.literal(i, j)))
        if entry.source is Source.CHOICE:
            return self._barrier(name)[i, j]
        if entry.source is Source.VALUE:
            when = value_relation(self.structure, name)[i, j]
            return clauses.both((self.executed(i), self.executed(j), self.reads.values.is_true(when)))
        if entry.source is Source.ADDRESS:
            return clauses.both(
                (self.executed(i), self.executed(j), self._at("loc" if name == "po-loc" else name, i, j))
            )
        return clauses.both((self.executed(i), self.executed(j)))

    def _at(self, name: str, i: int, j: int) -> int:
        """The addresses of two accesses are related."""
        if INITIAL in (i, j):
            return TRUE
        if name in ("covers", "home"):
            return self._of_object(name, i, j)
        prints, clauses = self.accesses.footprints, self.clauses
        return clauses.either(
            [
                clauses.both((self.reads.there(a), self.reads.there(b)))
                for a in prints[i]
                for b in prints[j]
                if self._are(name, a, b)
            ]
        )

    def _of_object(self, name: str, i: int, j: int) -> int:
        """`covers` of a fence and an access, `home` of an access and an event."""
        access, other = (self.events[i], j) if name == "home" else (self.events[j], i)
        ways = []
        for f in self.accesses.footprints[access.index]:
            if name == "home":
                holds = bool(residents(self.structure, access, f.address) >> other & 1)
            else:
                holds = self._covers(self.events[other], access, f.address)
            if holds:
                ways.append(self.reads.there(f))
        return self.clauses.either(ways)

    def _are(self, name: str, a: Footprint, b: Footprint) -> bool:
        n, m = self.events[a.event].size, self.events[b.event].size
        return address_relation(self.structure.memory, name, (a.address, n), (b.address, m))

    def same_bytes(self, i: int, j: int) -> int:
        """Two executed accesses are of exactly the same bytes."""
        return self._at("loc", i, j)

    def _share_bytes(self, i: int, j: int) -> int:
        return self.clauses.both((self.executed(i), self.executed(j), self._at("overlap", i, j)))

    def _may_overlap(self, i: int, j: int) -> bool:
        return bool(self.bounds("overlap")[0] >> (i * self.space.n + j) & 1)

    # ---- from-read (ISA 8.9.7.3)

    def from_read_may(self, may: int) -> int:
        n, row, result = self.space.n, self.space.row, 0
        covering = [sum(1 << w for w in self.accesses.writers(c)) for c in range(len(self.accesses.cells))]
        for (read, cell), table in self.reads.sources.items():
            targets = 0
            for write in table:
                targets |= may >> (write * n) & row
            result |= (targets & covering[cell]) << (read * n)
        return result

    def from_read(self, pair: int) -> list[tuple[int, int, int]]:
        read, target = divmod(pair, self.space.n)
        ways = []
        for cell in self.accesses.cells_of(read):
            if target in self.accesses.writers(cell):
                condition = self.clauses.both((self.executed(target), self.reads.covers(target, cell)))
                for write, literal in self.reads.sources[read, cell].items():
                    if write != target:
                        ways.append((self.clauses.both((literal, condition)), write, target))
        return ways
