"""Memory locations as sets of bytes (8.2): which accesses overlap, at which virtual addresses.

Bytes that every access takes or leaves together make one cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memcheck.events.structure import INITIAL, Kind, Structure
from memcheck.language.test import VariableKind
from memcheck.ptx.qualifiers import Space
from memcheck.reference.domains import Domains
from memcheck.reference.pairs import Pair
from memcheck.reference.traces import Trace

Cell = tuple[int, int]
"""First physical byte and the one after the last."""


def find_cells(structure: Structure, domains: Domains) -> tuple[Cell, ...]:
    """The cells of a test: memory cut where an access that can happen, or an element of data, begins or ends."""
    memory = structure.memory
    stretches: set[Cell] = set()
    for event, addresses in domains.addresses.items():
        size = structure.events[event].size
        for address in addresses:
            physical = memory.physical(address, size)
            if physical is not None:
                stretches.add((physical, physical + size))
    for region in memory.regions:
        variable = memory.variables.get(region.variable)
        step = variable.type.size if variable is not None and variable.kind is VariableKind.DATA else region.size
        stretches.update((region.physical + i, region.physical + i + step) for i in range(0, region.size, step))
    cuts = sorted({c for stretch in stretches for c in stretch})
    return tuple(
        (low, high)
        for low, high in zip(cuts, cuts[1:])
        if any(first <= low and high <= last for first, last in stretches)
    )


@dataclass(frozen=True)
class Locations:
    """Where the accesses of one trace go. W0 has every cell."""

    trace: Trace
    cells: tuple[Cell, ...]

    @cached_property
    def _stretches(self) -> dict[int, Cell]:
        memory, result = self.trace.structure.memory, {}
        for e in self.trace.executed:
            event = self.trace.event(e)
            if event.kind in (Kind.READ, Kind.WRITE):
                physical = memory.physical(self.trace.addresses[e], event.size)
                # An access outside every variable touches nothing; it voids the verdict elsewhere.
                result[e] = (0, 0) if physical is None else (physical, physical + event.size)
        return result

    @cached_property
    def _cells_of(self) -> dict[int, frozenset[Cell]]:
        found = {
            e: frozenset(c for c in self.cells if low <= c[0] and c[1] <= high)
            for e, (low, high) in self._stretches.items()
        }
        found[INITIAL] = frozenset(self.cells)
        return found

    def of(self, access: int) -> frozenset[Cell]:
        """The cells of an executed access."""
        return self._cells_of[access]

    def overlap(self, a: int, b: int) -> bool:
        """8.2.1, on memory locations."""
        return bool(self.of(a) & self.of(b))

    @cached_property
    def overlapping(self) -> tuple[Pair, ...]:
        """All pairs of executed accesses that overlap, both ways."""
        accesses = list(self._stretches)
        return tuple((a, b) for a in accesses for b in accesses if a != b and self.overlap(a, b))

    def same_bytes(self, a: int, b: int) -> bool:
        """Complete overlap (8.2.1). W0 is of no location of its own."""
        return INITIAL not in (a, b) and self._stretches[a] == self._stretches[b]

    def same_address(self, a: int, b: int) -> bool:
        """Overlapping, and their common bytes are at one virtual address in both."""
        shift = self.trace.addresses[a] - self.trace.addresses[b]
        return self.overlap(a, b) and shift == self._stretches[a][0] - self._stretches[b][0]

    def same_location(self, a: int, b: int) -> bool:
        """On the same M (8.8): exactly the same bytes at the same virtual address."""
        return self.same_bytes(a, b) and self.same_address(a, b)

    def value_of(self, access: int, cell: Cell) -> int:
        """What a read returns, or a write writes, in a cell, little-endian."""
        low, high = cell
        if access == INITIAL:
            return self.trace.structure.memory.initial_value(low, high - low)
        number = self.trace.written[access] if access in self.trace.written else self.trace.reads[access]
        return number >> (8 * (low - self._stretches[access][0])) & ((1 << (8 * (high - low))) - 1)

    def shared_cta(self, access: int) -> int | None:
        """The CTA whose shared memory is accessed, None for other memory."""
        event = self.trace.event(access)
        region = self.trace.structure.memory.region(self.trace.addresses[access], event.size)
        if region is None or region.space not in (Space.SHARED_CTA, Space.SHARED_CLUSTER):
            return None
        return region.cta
