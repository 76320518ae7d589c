"""What a test's asynchronous operations can touch, and where their copies have to be cut.

A piece is what anyone could tell apart: pieces end where lines do and where accesses of the program begin or end, and
what nobody looks at is not moved.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from memcheck.language.test import And, Compare, MemoryTerm, Not, NumberTerm, Observable, Or, Prop, Test, VariableKind
from memcheck.machine import mbarriers
from memcheck.machine.accesses import Access
from memcheck.machine.commands import MAP, Order, Piece, Run, Transfer
from memcheck.machine.state import Location
from memcheck.ptx.qualifiers import Proxy

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Footprints:
    """Of all transfers of a test. Ranges are of generic addresses unless called physical."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.layout = machine.layout
        self.transfers: list[Transfer] = []
        self._segments: dict[tuple[int, int, Proxy], tuple[tuple[Location, int], ...] | None] = {}
        self._looked_at: tuple[list[tuple[int, int]], list[int]] | None = None
        self._constant: int | None = None
        self._by_map: dict[Transfer, Order] | None = None

    def segments(self, address: int, size: int, proxy: Proxy) -> tuple[tuple[Location, int], ...] | None:
        """The parts of a range that lie in one line each, with their offsets; None where it is not in a variable."""
        key = (address, size, proxy)
        if key not in self._segments:
            self._segments[key] = self._cut_at_lines(*key)
        return self._segments[key]

    def _cut_at_lines(self, address: int, size: int, proxy: Proxy) -> tuple[tuple[Location, int], ...] | None:
        region = self.layout.region(address, size)
        if region is None:
            return None
        found = []
        offset = 0
        while offset < size:
            physical = region.physical + address + offset - region.base
            line = self.layout.lines[self.layout.line_at(physical)]
            length = min(size - offset, line.base + line.size - physical)
            location = self.layout.locate(address + offset, length, proxy)
            if location is None:
                return None
            found.append((location, offset))
            offset += length
        return tuple(found)

    def _physical(self, address: int) -> int:
        region = self.layout.region(address, 1)
        assert region is not None
        return region.physical + address - region.base

    def track(self, sm: int, transfer: Transfer) -> None:
        """Notes what the transfer may find stale in its proxy."""
        self.transfers.append(transfer)
        order = transfer.order
        if order is not None and order.map is None:
            transfer.reads, transfer.writes = self.lines(order)
        if transfer.proxy is Proxy.GENERIC:
            return
        ranges: Iterable[tuple[int, int, Proxy]]
        if order is None or order.map is not None:
            ranges = [(region.base, region.size, Proxy.ASYNC) for region in self.layout.regions]
        else:
            ranges = [(run.source, run.size, Proxy.ASYNC) for run in order.runs if run.source is not None]
        for address, size, proxy in ranges:
            self._track(sm, address, size, proxy)
        if order is not None and order.map is not None:
            self._track(sm, order.map, MAP, Proxy.TENSORMAP)
        elif order is None:
            for region in self.layout.regions:
                if region.size == MAP:
                    self._track(sm, region.base, MAP, Proxy.TENSORMAP)

    def _track(self, sm: int, address: int, size: int, proxy: Proxy) -> None:
        for location, _ in self.segments(address, size, proxy) or ():
            self.machine.memory.track(sm, location.view)

    def _look(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Physical ranges whose contents someone may look at, merged, and where accesses begin and end."""
        if self._looked_at is None:
            ranges: list[tuple[int, int]] = []
            points: set[int] = set()
            for code in self.machine.code:
                for operation in code:
                    if isinstance(operation, Access):
                        self._look_by(operation, ranges, points)
            for term in terms(self.machine.test):
                if isinstance(term, MemoryTerm):
                    self._look_at(term, ranges, points)
            for transfer in self.transfers:
                self._look_of(transfer, ranges, points)
            self._looked_at = _merged(ranges), sorted(points)
        return self._looked_at

    def _look_at(self, term: MemoryTerm, ranges: list[tuple[int, int]], points: set[int]) -> None:
        size = self.machine.test.variables[term.variable].type.size
        for region in self.layout.regions:
            if region.variable == term.variable and term.cta in (None, region.cta):
                first = region.physical + term.index * size
                ranges.append((first, first + size))
                points.update(ranges[-1])

    def _look_by(self, access: Access, ranges: list[tuple[int, int]], points: set[int]) -> None:
        if access.fixed is not None:
            first = self.layout.lines[access.fixed.line].base + access.fixed.shift // 8
            ranges.append((first, first + access.size))
            points.update(ranges[-1])
            return
        for region in self.layout.regions:
            ranges.append((region.physical, region.physical + region.size))
            points.update(range(region.physical, region.physical + region.size + 1, access.size))

    def _look_of(self, transfer: Transfer, ranges: list[tuple[int, int]], points: set[int]) -> None:
        order = self.known_order(transfer)
        if order is None:
            for region in self.layout.regions:
                ranges.append((region.physical, region.physical + region.size))
            return
        for run in order.runs:
            for address in (run.source, *run.targets):
                if address is not None and self.layout.region(address, run.size) is not None:
                    first = self._physical(address)
                    points.update((first, first + run.size))
                    if address == run.source:
                        ranges.append((first, first + run.size))

    def known_order(self, transfer: Transfer) -> Order | None:
        """What a transfer asks for, where no register and nothing that is written decides that."""
        order = transfer.order
        if order is None or order.map is None:
            return order
        if self._by_map is None:
            self._by_map = self._of_maps()
        return self._by_map.get(transfer)

    def _of_maps(self) -> dict[Transfer, Order]:
        """The orders of tensor copies, if nothing ever writes a descriptor that one of them reads."""
        written, maps = 0, 0
        found: dict[Transfer, Order] = {}
        for code in self.machine.code:
            for operation in code:
                if not isinstance(operation, Transfer):
                    written |= operation.writes
                    continue
                order = operation.order
                if order is None:
                    return {}
                if order.map is not None:
                    segments = self.segments(order.map, MAP, Proxy.GENERIC) or ()
                    raw = 0
                    for location, offset in segments:
                        raw |= location.extract(self.layout.initial[location.line]) << 8 * offset
                    order = operation.expand(order, raw.to_bytes(MAP, "little"))
                    if order is None:
                        return {}
                    found[operation] = order
                    for location, _ in segments:
                        maps |= 1 << location.line
                written |= self.lines(order)[1]
        return {} if written & maps else found

    def written_views(self) -> Iterator[int]:
        """The views at which generic loads find what transfers write: all, where registers decide on that."""
        orders = [self.known_order(transfer) for transfer in self.transfers]
        ranges = [(address, run.size) for order in orders if order for run in order.runs for address in run.targets]
        if None in orders:
            plain = [one for one in self.layout.regions if one.kind is not VariableKind.MULTIMEM and not one.target]
            ranges += [(region.base, region.size) for region in plain]
        for address, size in ranges:
            for location, _ in self.segments(address, size, Proxy.GENERIC) or ():
                yield location.view

    def lines(self, order: Order) -> tuple[int, int]:
        """The lines that a known order reads and writes, as bits."""
        reads = writes = 0
        for run in order.runs:
            for address in (run.source, *run.targets):
                for location, _ in self.segments(address, run.size, Proxy.GENERIC) or () if address is not None else ():
                    if address == run.source:
                        reads |= 1 << location.line
                    else:
                        writes |= 1 << location.line
        for notice in order.notices:
            for location, _ in self.segments(notice.word, mbarriers.SIZE, Proxy.GENERIC) or ():
                reads |= 1 << location.line
                writes |= 1 << location.line
        return reads, writes

    def pieces(self, run: Run) -> Iterator[Piece]:
        """A run cut where it can be told apart, without what nobody looks at."""
        ranges, points = self._look()
        offsets = {0, run.size}
        if not run.whole:
            for address in (run.source, *run.targets):
                if address is None:
                    continue
                first = self._physical(address)
                offsets.update(
                    p - first for p in points[bisect_right(points, first) : bisect_left(points, first + run.size)]
                )
                offsets.update(offset for _, offset in self.segments(address, run.size, Proxy.GENERIC) or ())
        bounds = sorted(offsets)
        for low, high in zip(bounds, bounds[1:], strict=False):
            targets = tuple(t + low for t in run.targets if _meets(ranges, self._physical(t) + low, high - low))
            if targets:
                fill = None if run.fill is None else run.fill >> 8 * low & (1 << 8 * (high - low)) - 1
                source = None if run.source is None else run.source + low
                yield Piece(source, targets, high - low, fill)

    def is_constant(self, address: int, size: int) -> bool:
        """Whether nothing ever writes a range."""
        if self._constant is None:
            written = 0
            for code in self.machine.code:
                for operation in code:
                    if isinstance(operation, Transfer):
                        written |= self.written(operation)
                    else:
                        written |= operation.writes
            self._constant = ~written
        lines = self.segments(address, size, Proxy.GENERIC) or ()
        return all(self._constant >> location.line & 1 for location, _ in lines)

    def written(self, transfer: Transfer) -> int:
        """The lines that a transfer may write, as bits."""
        order = self.known_order(transfer)
        return -1 if order is None else self.lines(order)[1]


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint ranges, ascending."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _meets(ranges: Sequence[tuple[int, int]], first: int, size: int) -> bool:
    """Whether a range meets one of several."""
    number = bisect_left(ranges, (first + size, 0)) - 1
    return number >= 0 and ranges[number][1] > first


def terms(test: Test) -> Iterator[Observable]:
    """What of a final state anything looks at."""
    pending: list[Prop | None] = [test.filter, None if test.condition is None else test.condition.prop]
    yield from test.observed
    while pending:
        match pending.pop():
            case Compare(left=left, right=right):
                yield from (term for term in (left, right) if not isinstance(term, NumberTerm))
            case Not(body=body):
                pending.append(body)
            case And(parts=parts) | Or(parts=parts):
                pending += parts
            case _:
                pass
