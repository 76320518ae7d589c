"""Finite domains: the values a read can return, the addresses an access can have, and how these cut memory into cells.

The least fixed point from the initial values: a write contributes what it writes over the values that the reads it is
made from can have; a read everything that its bytes can be put together from (8.10.4: nothing out of thin air). A value
carries the sets of writes that it came through, and no write passes on a value that came through itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memcheck.errors import TooLargeError
from memcheck.events.chains import unreadable
from memcheck.events.constraints import Assignment, Assignments, TooManyError, requirements
from memcheck.events.observed import location, looked_at
from memcheck.events.structure import INITIAL, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.language.test import MemoryTerm

MAX_VALUES = 1024
MAX_ORIGINS = 64
MAX_ASSIGNMENTS = 1 << 16
NEVER = (0,)
"""The domain of a read that never happens; values that mention it do not really need it."""

Origins = tuple[int, ...]
"""Sets of writes as bit masks by event index, none a superset of another."""


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """`reads[r]`: values of a read; `writes[w]`: values of a write; `addresses[e]`: virtual addresses; all ascending.

    `cells`: (physical address, size) of groups of bytes that are always accessed together, by every access at every
    address it may have and by the observed locations; ascending and disjoint.
    """

    reads: Mapping[int, tuple[int, ...]]
    writes: Mapping[int, tuple[int, ...]]
    addresses: Mapping[int, tuple[int, ...]]
    cells: tuple[tuple[int, int], ...]


def minimal(origins: Iterable[int]) -> Origins:
    """The sets that are no supersets of others; very many are replaced by what all share, which excludes less."""
    kept: list[int] = []
    for origin in sorted(set(origins), key=int.bit_count):
        if not any(other & origin == other for other in kept):
            kept.append(origin)
    if len(kept) > MAX_ORIGINS:
        shared = kept[0]
        for origin in kept:
            shared &= origin
        return (shared,)
    return tuple(kept)


def joined(parts: Sequence[Origins]) -> Origins:
    """Unions of one set of each part."""
    result: Origins = (0,)
    for part in parts:
        if part != (0,):
            result = minimal(a | b for a in result for b in part)
    return result


class _Growth:
    """The fixed point, one structure."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.reads: dict[int, dict[int, Origins]] = {}
        self.writes: dict[int, dict[int, Origins]] = {}
        self.addresses: dict[int, set[int]] = {}
        self.written: dict[tuple[int, int], dict[int, Origins]] = {}
        """By write and physical address: what it writes there."""
        self.stores: list[Event] = []
        self.loads: list[Event] = []
        self.required: dict[int, tuple[Value, ...]] = {}
        self.possible: set[int] = set()
        """Events whose requirements apart from their address and value were seen to hold together."""
        self.every = Assignments(structure, self.reads, MAX_ASSIGNMENTS)
        self.excluded = unreadable(structure)
        self.grown: dict[int, int] = {}
        """How often a read's table has grown."""
        self.stored: list[tuple[int, int]] = []
        """Writes and places whose tables have grown, in that order."""
        self.seen: dict[int, tuple[int, tuple[int, ...]]] = {}
        """How far an event has looked: into `stored`, and at the tables of the reads that it is made from."""

    def run(self) -> None:
        for event in self.structure.events:
            if event.kind is Kind.READ:
                self.loads.append(event)
                self.reads[event.index] = {}
            elif event.kind is Kind.WRITE and event.index != INITIAL:
                self.stores.append(event)
                self.writes[event.index] = {}
            else:
                continue
            self.addresses[event.index] = set()
            self.required[event.index] = requirements(self.structure, event)
        moving = [event for event in self.stores if not self._write_fixed(event)]
        wandering = [e for e in self.loads if e.address is not None and not self._is_fixed(e, e.address)]
        if not moving and not wandering:
            for event in self.loads:
                self._read(event)
            return
        # a chain of values goes through each of the other writes at most once
        for _ in range(len(moving) + len(self.loads) + 1):
            changed = False
            for event in self.loads:
                changed |= self._is_behind(event) and self._read(event)
            for event in moving:
                changed |= self._is_behind(event) and self._write(event)
            if not changed and not self._never():
                break

    def _is_behind(self, event: Event) -> bool:
        """Whether something that the event is made from has grown since this was last asked of it."""
        assert event.address is not None
        parts = [event.address, *self.required[event.index]]
        if event.kind is Kind.WRITE and event.value is not None:
            parts.append(event.value)
        made_from = sorted(frozenset[int]().union(*(part.support for part in parts)))
        now = len(self.stored), tuple(self.grown.get(read, 0) for read in made_from)
        before = self.seen.get(event.index)
        self.seen[event.index] = now
        if before is None or before[1] != now[1]:
            return True
        return event.kind is Kind.READ and any(self._may_meet(event, *entry) for entry in self.stored[before[0] :])

    def _may_meet(self, event: Event, write: int, physical: int) -> bool:
        """Whether the read may be of a byte that the write has put somewhere."""
        assert event.address is not None
        if not event.address.is_const:
            return True
        start = self.structure.memory.physical(event.address.payload, event.size)
        size = self.structure.events[write].size
        return start is not None and start < physical + size and physical < start + event.size

    def _never(self) -> bool:
        """Gives one read that cannot happen a value, so that what only mentions it can be evaluated."""
        for event in self.loads:
            if not self.reads[event.index]:
                self.reads[event.index] = dict.fromkeys(NEVER, (0,))
                self.grown[event.index] = self.grown.get(event.index, 0) + 1
                return True
        return False

    def _is_fixed(self, event: Event, *parts: Value) -> bool:
        return not self.required[event.index] and all(part.is_const for part in parts)

    def _write_fixed(self, event: Event) -> bool:
        """Puts in a write that always happens with one address and value; whether it is one."""
        assert event.address is not None
        assert event.value is not None
        if not self._is_fixed(event, event.address, event.value):
            return False
        index, address, number = event.index, event.address.payload, event.value.payload
        self.addresses[index].add(address)
        physical = self.structure.memory.physical(address, event.size)
        self.writes[index][number] = (0,)
        if physical is not None:
            self.written[index, physical] = {number: (0,)}
        return True

    def _assignments(self, event: Event, parts: Sequence[Value]) -> Iterator[Assignment]:
        """Assignments of what `parts` are made from under which the event happens."""
        required = self.required[event.index]
        if not required and all(part.is_const for part in parts):
            yield {}, {}
            return
        inside, apart = self.every.component(parts, required)
        if event.index not in self.possible:
            if apart and not self.every.possible(apart):
                return
            self.possible.add(event.index)
        try:
            yield from self.every.satisfying(parts, inside, once=True)
        except TooManyError:
            name = event.instruction.text if event.instruction is not None else "an event"
            raise TooLargeError(
                f"`{name}` depends on more than {MAX_ASSIGNMENTS} combinations of values read."
            ) from None

    def _note(self, table: dict[int, Origins], value: int, origins: Origins) -> bool:
        """Whether the table has grown by it."""
        known = table.get(value)
        if known is None:
            if len(table) >= MAX_VALUES:
                raise TooLargeError(f"one access can have more than {MAX_VALUES} values.")
            table[value] = origins
            return True
        if known != (0,) and known != origins:
            better = minimal((*known, *origins))
            if set(better) != set(known):
                table[value] = better
                return True
        return False

    def _write(self, event: Event) -> bool:
        assert event.address is not None
        assert event.value is not None
        index, own, changed = event.index, 1 << event.index, False
        made_from = sorted(event.address.support | event.value.support)
        for reads, choices in self._assignments(event, (event.address, event.value)):
            memo: dict[Value, int] = {}
            address = evaluate(event.address, reads, choices, memo)
            self.addresses[index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            number = evaluate(event.value, reads, choices, memo)
            origins: Origins = (0,)
            if made_from:
                through = joined([self.reads[r][reads[r]] for r in made_from])
                origins = minimal(origin | own for origin in through if not origin & own)
                if not origins:
                    continue
            changed |= self._note(self.writes[index], number, origins)
            if physical is None:
                continue
            if self._note(self.written.setdefault((index, physical), {}), number, origins):
                self.stored.append((index, physical))
                changed = True
        return changed

    def _read(self, event: Event) -> bool:
        found = False
        for number, origins in self._returned(event):
            found |= self._note(self.reads[event.index], number, origins)
        if found:
            self.grown[event.index] = self.grown.get(event.index, 0) + 1
        return found

    def _returned(self, event: Event) -> Iterator[tuple[int, Origins]]:
        """What the read can return, as far as is known."""
        assert event.address is not None
        made_from = sorted(event.address.support)
        if self._is_fixed(event, event.address):
            address = event.address.payload
            self.addresses[event.index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            yield from ({0: (0,)} if physical is None else self._assembled(event, physical)).items()
            return
        for reads, choices in self._assignments(event, (event.address,)):
            address = evaluate(event.address, reads, choices)
            self.addresses[event.index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            if physical is None:
                yield 0, (0,)
                continue
            path = joined([self.reads[r][reads[r]] for r in made_from])
            for number, origins in self._assembled(event, physical).items():
                yield number, joined((path, origins))

    def _assembled(self, event: Event, physical: int) -> dict[int, Origins]:
        """What the bytes from `physical` on can be put together to, cut where a write begins or ends."""
        end = physical + event.size
        events = self.structure.events
        excluded = self.excluded.get(event.index, ())
        sources = [
            (at, events[w].size, values)
            for (w, at), values in self.written.items()
            if at < end and physical < at + events[w].size and events[w].rmw != event.index and w not in excluded
        ]
        if INITIAL in excluded and not self.structure.bytewise:
            return self._part(physical, event.size, sources, initial=False)
        if self.structure.bytewise:
            cuts = list(range(physical, end + 1))
        elif all(at <= physical and end <= at + length for at, length, _ in sources):
            return self._part(physical, event.size, sources)
        else:
            cuts = sorted({physical, end} | {c for at, n, _ in sources for c in (at, at + n) if physical < c < end})
        whole: dict[int, Origins] = {0: (0,)}
        for low, high in zip(cuts, cuts[1:], strict=False):
            part = self._part(low, high - low, sources)
            shift = 8 * (low - physical)
            if len(whole) * len(part) > MAX_VALUES:
                raise TooLargeError(f"one read can return more than {MAX_VALUES} values.")
            whole = {done | piece << shift: joined((a, b)) for done, a in whole.items() for piece, b in part.items()}
        return whole

    def _part(
        self,
        low: int,
        size: int,
        sources: Sequence[tuple[int, int, dict[int, Origins]]],
        initial: bool = True,
    ) -> dict[int, Origins]:
        """What can stand in bytes that each of `sources` (place, size, values) covers as a whole or not at all."""
        part: dict[int, Origins] = {self.structure.memory.initial_value(low, size): (0,)} if initial else {}
        mask = (1 << 8 * size) - 1
        for at, length, values in sources:
            if at <= low and low + size <= at + length:
                for number, origins in values.items():
                    piece = number >> (8 * (low - at)) & mask
                    known = part.get(piece)
                    part[piece] = origins if known is None or known == origins else minimal((*known, *origins))
        return part


def _cells(structure: Structure, addresses: Mapping[int, Iterable[int]]) -> tuple[tuple[int, int], ...]:
    memory = structure.memory
    ranges: set[tuple[int, int]] = set()
    for index, places in addresses.items():
        size = structure.events[index].size
        for address in places:
            physical = memory.physical(address, size)
            if physical is not None:
                ranges.add((physical, physical + size))
    for term in looked_at(structure.test):
        if isinstance(term, MemoryTerm):
            first, size = location(structure, term)
            ranges.add((first, first + size))
    step = 1 if structure.bytewise else None
    cuts = sorted({cut for low, high in ranges for cut in (*range(low, high, step or high - low), high)})
    ordered = sorted(ranges)
    cells = []
    for low, high in zip(cuts, cuts[1:], strict=False):
        if any(start <= low and high <= end for start, end in ordered):
            cells.append((low, high - low))
    return tuple(cells)


def analyse(structure: Structure) -> Domains:
    """The domains of a structure. TooLargeError where they are far beyond enumeration."""
    found = structure.memo.get("domains")
    if isinstance(found, Domains):
        return found
    growth = _Growth(structure)
    growth.run()
    result = Domains(
        {r: tuple(sorted(values)) or NEVER for r, values in growth.reads.items()},
        {w: tuple(sorted(values)) for w, values in growth.writes.items()},
        {e: tuple(sorted(places)) for e, places in growth.addresses.items()},
        _cells(structure, growth.addresses),
    )
    structure.memo["domains"] = result
    return result
