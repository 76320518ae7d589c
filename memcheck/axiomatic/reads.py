"""Which write every read takes each cell from, as literals, and the values that follow."""

from __future__ import annotations

from memcheck.axiomatic import literals
from memcheck.axiomatic.accesses import Accesses, Footprint
from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.literals import ValueLiterals
from memcheck.axiomatic.threads import Progress
from memcheck.events.chains import unreadable
from memcheck.events.structure import INITIAL, Kind


class Reads:
    """Reads-from and values. `ending`: every thread ends; else some thread may stop."""

    def __init__(self, accesses: Accesses, clauses: Clauses, ending: bool) -> None:
        self.accesses = accesses
        self.structure = accesses.structure
        self.events = accesses.events
        self.clauses = clauses
        self.values = ValueLiterals(clauses, self._read_literals, self.structure.choice_domains)
        self.progress = Progress(self.structure, self.values, clauses, ending)
        self.sources: dict[tuple[int, int], dict[int, int]] = {}
        """(read, cell) -> write -> literal: the read takes the cell from the write."""
        self._parts: dict[tuple[int, int], literals.Choices] = {}
        self._unlinked: list[int] = []
        self._choose()

    def _choose(self) -> None:
        """Reads-from literals, then the values that they give, then who may be read at all: guards depend on values."""
        accesses = self.accesses
        reads = [e for e in self.events if e.kind is Kind.READ and not (e.guard.is_const and not e.guard.payload)]
        excluded = unreadable(self.structure)
        for event in reads:
            read, not_these = event.index, excluded.get(event.index, ())
            for cell in accesses.cells_of(read):
                writers = [w for w in accesses.writers(cell) if self.events[w].rmw != read and w not in not_these]
                self.sources[read, cell] = self.values.one_of(writers, exactly=self._is_certain(read, cell))
        for event in reads:
            assert event.value is not None
            self.values.of(event.value)
        for read in self._unlinked:
            self._link_value(read)
        for event in self.events:
            if event.kind is Kind.WRITE and event.index != INITIAL and not accesses.domains.writes[event.index]:
                self.clauses.require(-self.executed(event.index))
        for (read, cell), table in self.sources.items():
            self._limit(read, cell, table)

    def _is_certain(self, read: int, cell: int) -> bool:
        """Known before any value is: the read happens and takes the cell."""
        return self.progress.is_certain(read) and self.accesses.surely_covers(read, cell)

    def executed(self, event: int) -> int:
        """The event happens."""
        return self.progress.executed(event)

    def there(self, footprint: Footprint) -> int:
        """The access, if executed, has this address."""
        address = self.events[footprint.event].address
        assert address is not None
        return TRUE if address.is_const else self.values.equals(address, footprint.address)

    def covers(self, event: int, cell: int) -> int:
        """The event, if executed, accesses the cell. W0 covers all."""
        if event == INITIAL or self.accesses.surely_covers(event, cell):
            return TRUE
        return self.clauses.either([self.there(f) for f in self.accesses.footprints[event] if cell in f.cells])

    def _limit(self, read: int, cell: int, table: dict[int, int]) -> None:
        """A read takes each cell that it covers from one executed write that covers it, and no other cell."""
        clauses = self.clauses
        needed = clauses.both((self.executed(read), self.covers(read, cell)))
        if not self._is_certain(read, cell):
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
        return self.values.one_of(sorted(self.accesses.domains.reads[read]), exactly=False)

    def _direct(self, read: int) -> literals.Choices | None:
        footprint = self.accesses.footprints[read]
        if (
            len(footprint) != 1
            or len(footprint[0].cells) != 1
            or not self.accesses.surely_covers(read, footprint[0].cells[0])
        ):
            return None
        cell = footprint[0].cells[0]
        table: dict[int, list[int]] = {}
        for write, literal in self.sources[read, cell].items():
            number = self._constant(write, cell)
            if number is None:
                return None
            table.setdefault(number, []).append(literal)
        return {number: self.clauses.either(ways) for number, ways in table.items()}

    def _constant(self, write: int, cell: int) -> int | None:
        """What the write puts into the cell, if that is a constant."""
        base, size = self.accesses.cells[cell]
        if write == INITIAL:
            return self.structure.memory.initial_value(base, size)
        event = self.events[write]
        assert event.value is not None
        if not event.value.is_const or not self.accesses.surely_covers(write, cell):
            return None
        return event.value.payload >> 8 * (base - self.accesses.footprints[write][0].physical) & ((1 << 8 * size) - 1)

    def written(self, write: int, cell: int) -> list[tuple[int, int]]:
        """(number, literal) of what a write, executed, puts into the cell."""
        constant = self._constant(write, cell)
        if constant is not None:
            return [(constant, TRUE)]
        base, size = self.accesses.cells[cell]
        value = self.events[write].value
        assert value is not None
        mask, found = (1 << 8 * size) - 1, []
        for footprint in self.accesses.footprints[write]:
            if cell in footprint.cells:
                shift, there = 8 * (base - footprint.physical), self.there(footprint)
                for number, literal in self.values.of(value).items():
                    found.append((number >> shift & mask, self.clauses.both((literal, there))))
        return found

    def part(self, read: int, cell: int) -> literals.Choices:
        """Literals of what a read finds in one cell."""
        found = self._parts.get((read, cell))
        if found is None:
            found = self._parts[read, cell] = self.mixture(self.sources[read, cell], cell)
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
        for footprint in self.accesses.footprints[read]:
            there = self.there(footprint)
            # reads that take their bytes from each other in a circle have values all the same
            self.clauses.require(-there, -self.executed(read), *numbers.values())
            for number, literal in self.combine(footprint, [self.part(read, c) for c in footprint.cells]):
                self.clauses.require(-there, -literal, numbers.get(number, FALSE))

    def combine(self, footprint: Footprint, parts: list[literals.Choices]) -> list[tuple[int, int]]:
        """(number, literal) of the little-endian value that the parts of a footprint's cells make."""
        combined = [(0, TRUE)]
        for cell, part in zip(footprint.cells, parts):
            shift = 8 * (self.accesses.cells[cell][0] - footprint.physical)
            combined = [
                (low | number << shift, self.clauses.both((below, literal)))
                for low, below in combined
                for number, literal in part.items()
            ]
        return combined
