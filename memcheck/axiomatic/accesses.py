"""Where accesses lie: the cells of memory, and which accesses may touch which, before any literal is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memcheck.events.domains import Domains
from memcheck.events.structure import INITIAL, Event, Kind, Structure
from memcheck.language.test import MemoryTerm


class Footprint(NamedTuple):
    """One address that an access may have, virtual and physical, and the cells behind it by index."""

    event: int
    address: int
    physical: int
    cells: tuple[int, ...]


class Accesses:
    """All accesses of a structure. A cell is a group of bytes that are always accessed together."""

    def __init__(self, structure: Structure, domains: Domains) -> None:
        self.structure = structure
        self.events = structure.events
        self.domains = domains
        self.cells = domains.cells
        self.footprints = [self._footprints(e) for e in self.events]
        self._cells = [self._union(prints) for prints in self.footprints]
        self._writers = self._list_writers()

    def _footprints(self, event: Event) -> tuple[Footprint, ...]:
        if event.address is None or event.kind not in (Kind.READ, Kind.WRITE):
            return ()
        memory, found = self.structure.memory, []
        addresses = (event.address.payload,) if event.address.is_const else self.domains.addresses[event.index]
        for address in addresses:
            physical = memory.physical(address, event.size)
            if physical is not None:
                found.append(Footprint(event.index, address, physical, self.cells_in(physical, event.size)))
        return tuple(found)

    @staticmethod
    def _union(prints: tuple[Footprint, ...]) -> list[int]:
        return list(prints[0].cells) if len(prints) == 1 else sorted({c for f in prints for c in f.cells})

    def cells_in(self, physical: int, size: int) -> tuple[int, ...]:
        """The cells inside a range of physical bytes."""
        end = physical + size
        return tuple(i for i, (base, width) in enumerate(self.cells) if physical <= base and base + width <= end)

    def cells_of(self, event: int) -> list[int]:
        """The cells that the event may touch, ascending."""
        return self._cells[event]

    def surely_covers(self, event: int, cell: int) -> bool:
        """The event, if executed, accesses the cell, whatever is read."""
        address = self.events[event].address
        return address is not None and address.is_const and cell in self._cells[event]

    def _list_writers(self) -> list[list[int]]:
        """A write without a value in the domains could only happen out of thin air, which `Reads` forbids."""
        writers: list[list[int]] = [[INITIAL] for _ in self.cells]
        for event in self.events:
            if event.kind is Kind.WRITE and event.index != INITIAL and self.domains.writes[event.index]:
                for cell in self.cells_of(event.index):
                    writers[cell].append(event.index)
        return writers

    def writers(self, cell: int) -> Sequence[int]:
        """W0 and the writes that may touch the cell."""
        return self._writers[cell]

    def element(self, term: MemoryTerm) -> tuple[int, int]:
        """Physical address and size of a memory term."""
        memory = self.structure.memory
        size = memory.variables[term.variable].type.size
        regions = [r for r in memory.regions if r.variable == term.variable and (term.cta is None or r.cta == term.cta)]
        return regions[0].physical + term.index * size, size
