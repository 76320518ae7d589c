"""Where accesses may go: addresses, cells, and which bytes two accesses share."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.events.domains import Domains
from memcheck.events.structure import INITIAL, Event, Kind, Structure
from memcheck.language.test import MemoryTerm
from memcheck.plain.terms import Terms
from memcheck.plain.truth import Truth, conj, disj_all


@dataclass(frozen=True, slots=True)
class Cell:
    """A group of bytes that no access and no observation cuts."""

    physical: int
    size: int


@dataclass(frozen=True, slots=True)
class Spot:
    """One address that an access may have, and when it has it."""

    address: int
    physical: int
    when: Truth


class Accesses:
    """The memory operations of a structure and the bytes that they may touch."""

    def __init__(self, structure: Structure, domains: Domains, terms: Terms) -> None:
        self.structure = structure
        self.terms = terms
        self.memory = structure.memory
        self.operations = [e for e in structure.events if e.kind in (Kind.READ, Kind.WRITE) and e.index != INITIAL]
        self.spots: dict[int, tuple[Spot, ...]] = {e.index: self._spots(e, domains) for e in self.operations}
        self.cells = self._cut()

    def _spots(self, event: Event, domains: Domains) -> tuple[Spot, ...]:
        assert event.address is not None
        addresses = [event.address.payload] if event.address.is_const else sorted(domains.addresses[event.index])
        found = []
        for address in addresses:
            physical = self.memory.physical(address, event.size)
            if physical is not None:
                found.append(Spot(address, physical, self.terms.equals(event.address, address)))
        return tuple(found)

    def _cut(self) -> list[Cell]:
        ranges = {(spot.physical, e.size) for e in self.operations for spot in self.spots[e.index]}
        for name, variable in self.structure.test.variables.items():
            for region in self.memory.regions:
                if region.variable == name:
                    ranges.update(
                        (region.physical + i * variable.type.size, variable.type.size) for i in range(variable.count)
                    )
        edges = sorted({edge for start, size in ranges for edge in (start, start + size)})
        covered = {byte for start, size in ranges for byte in range(start, start + size)}
        return [Cell(low, high - low) for low, high in zip(edges, edges[1:], strict=False) if low in covered]

    def element(self, term: MemoryTerm) -> tuple[int, int]:
        """Physical address and size of what a memory term names."""
        size = self.structure.test.variables[term.variable].type.size
        regions = [r for r in self.memory.regions if r.variable == term.variable and term.cta in (None, r.cta)]
        return regions[0].physical + term.index * size, size

    def inside(self, physical: int, size: int) -> list[Cell]:
        """The cells of a range."""
        return [c for c in self.cells if physical <= c.physical and c.physical + c.size <= physical + size]

    def spots_at(self, event: int, cell: Cell) -> list[Spot]:
        """The spots of an access that have the cell."""
        size = self.structure.events[event].size
        return [s for s in self.spots[event] if s.physical <= cell.physical < s.physical + size]

    def covers(self, event: int, cell: Cell) -> Truth:
        """The access, if it happens, touches the cell. W0 touches all."""
        return True if event == INITIAL else disj_all(spot.when for spot in self.spots_at(event, cell))

    def cells_of(self, event: int) -> list[Cell]:
        return [cell for cell in self.cells if self.spots_at(event, cell)]

    def related(self, name: str, first: int, second: int) -> Truth:
        """loc, vloc, overlap or voverlap of two memory operations that happen."""
        if INITIAL in (first, second):
            return True
        one, two = self.structure.events[first].size, self.structure.events[second].size
        ways = []
        for a in self.spots[first]:
            for b in self.spots[second]:
                if _related(name, a, one, b, two):
                    ways.append(conj(a.when, b.when))
        return disj_all(ways)


def _related(name: str, a: Spot, size: int, b: Spot, other: int) -> bool:
    if name == "overlap":
        return a.physical < b.physical + other and b.physical < a.physical + size
    if name == "voverlap":
        return (
            a.address < b.address + other
            and b.address < a.address + size
            and a.physical - a.address == b.physical - b.address
        )
    same = a.physical == b.physical and size == other
    return same and (name == "loc" or a.address == b.address)
