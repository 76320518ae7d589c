"""Finite domains: the values a read can return, the addresses an access can have, and how these cut memory into cells.

The least fixed point from the initial values: a write contributes what it writes over the values that the reads it is
made from can have; a read everything that its bytes can be put together from (8.10.4: nothing out of thin air). A value
carries the sets of writes that it came through, and no write passes on a value that came through itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from memcheck.errors import TooLargeError
from memcheck.events.structure import INITIAL, BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.language.test import MemoryTerm

MAX_VALUES = 1024
MAX_ORIGINS = 64
MAX_ASSIGNMENTS = 1 << 16
NEVER = (0,)
"""The domain of a read that never happens; values that mention it do not really need it."""

Origins = tuple[int, ...]
"""Sets of writes as bit masks by event index, none a superset of another."""

Assignment = tuple[dict[int, int], dict[int, int]]
"""Values of reads and of choices."""


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


def spins_before(structure: Structure, event: Event) -> list[BlockingPoint]:
    """The spins that the thread of `event` may have to leave before it."""
    return [
        point
        for point in structure.blocking
        if point.passed is not None and point.thread == event.thread and point.before <= event.index
    ]


def conditions(structure: Structure, event: Event) -> list[tuple[Value, Value]]:
    """Pairs (a, b), for all of which `a implies b` is what makes the event happen if no barrier holds it up."""
    pairs = [] if event.guard is structure.values.true else [(structure.values.true, event.guard)]
    if structure.blocking:
        for point in spins_before(structure, event):
            assert point.passed is not None
            pairs.append((point.guard, point.passed))
    return pairs


def happens(pairs: Iterable[tuple[Value, Value]], assignment: Assignment, memo: dict[Value, int]) -> bool:
    """Whether the `conditions` hold."""
    reads, choices = assignment
    return all(not evaluate(a, reads, choices, memo) or evaluate(b, reads, choices, memo) for a, b in pairs)


def choices_below(values: Iterable[Value]) -> frozenset[int]:
    """Indices of the free choices in `values`."""
    found: set[int] = set()
    seen: set[Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            pending.extend(value.args)
            if value.op == "choice":
                found.add(value.payload)
    return frozenset(found)


def assignments(
    structure: Structure, values: Sequence[Value], reads: Mapping[int, Iterable[int]]
) -> Iterator[Assignment] | None:
    """All assignments to the reads and choices in `values`; None where they are more than MAX_ASSIGNMENTS."""
    support = sorted(frozenset[int]().union(*(value.support for value in values)))
    chosen = sorted(choices_below(values)) if structure.choice_domains else []
    options = [tuple(reads[r]) for r in support] + [structure.choice_domains[c] for c in chosen]
    count = 1
    for option in options:
        count *= len(option)
    if count > MAX_ASSIGNMENTS:
        return None
    n = len(support)
    return (
        (dict(zip(support, numbers, strict=False)), dict(zip(chosen, numbers[n:], strict=True)))
        for numbers in product(*options)
    )


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
        self.changed = False

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
        fixed = [e for e in self.stores if self._is_fixed(e)]
        moving = [e for e in self.stores if not self._is_fixed(e)]
        for event in fixed:
            self._write(event)
        # a chain of values goes through each of the other writes at most once
        for _ in range(len(moving) + len(self.loads) + 1):
            self.changed = False
            for event in self.loads:
                self._read(event)
            for event in moving:
                self._write(event)
            if not self.changed and not self._never():
                break

    def _never(self) -> bool:
        """Gives one read that cannot happen a value, so that what only mentions it can be evaluated."""
        for event in self.loads:
            if not self.reads[event.index]:
                self.reads[event.index] = dict.fromkeys(NEVER, (0,))
                return True
        return False

    def _is_fixed(self, event: Event) -> bool:
        assert event.address is not None
        assert event.value is not None
        constant = event.address.is_const and event.value.is_const
        return constant and not conditions(self.structure, event)

    def _assignments(self, event: Event, parts: Sequence[Value]) -> Iterator[Assignment]:
        """Assignments under which the event happens; where they are too many, all of `parts`, which is more."""
        pairs = conditions(self.structure, event)
        looked_at = [*parts, *(value for pair in pairs for value in pair)]
        every = assignments(self.structure, looked_at, self.reads)
        if every is not None:
            return (a for a in every if happens(pairs, a, {}))
        every = assignments(self.structure, parts, self.reads)
        if every is None:
            name = event.instruction.text if event.instruction is not None else "an event"
            raise TooLargeError(f"`{name}` depends on more than {MAX_ASSIGNMENTS} combinations of values read.")
        return every

    def _note(self, table: dict[int, Origins], value: int, origins: Origins) -> None:
        known = table.get(value)
        if known is None:
            if len(table) >= MAX_VALUES:
                raise TooLargeError(f"one access can have more than {MAX_VALUES} values.")
            table[value] = origins
            self.changed = True
        elif known != (0,) and known != origins:
            better = minimal((*known, *origins))
            if set(better) != set(known):
                table[value] = better
                self.changed = True

    def _write(self, event: Event) -> None:
        assert event.address is not None
        assert event.value is not None
        index, own = event.index, 1 << event.index
        made_from = sorted(event.address.support | event.value.support)
        for reads, choices in self._assignments(event, (event.address, event.value)):
            memo: dict[Value, int] = {}
            address = evaluate(event.address, reads, choices, memo)
            self.addresses[index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            if physical is None:
                continue
            number = evaluate(event.value, reads, choices, memo)
            origins: Origins = (0,)
            if made_from:
                through = joined([self.reads[r][reads[r]] for r in made_from])
                origins = minimal(origin | own for origin in through if not origin & own)
                if not origins:
                    continue
            self._note(self.writes[index], number, origins)
            self._note(self.written.setdefault((index, physical), {}), number, origins)

    def _read(self, event: Event) -> None:
        assert event.address is not None
        made_from = sorted(event.address.support)
        table = self.reads[event.index]
        for reads, choices in self._assignments(event, (event.address,)):
            address = evaluate(event.address, reads, choices)
            self.addresses[event.index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            if physical is None:
                self._note(table, 0, (0,))
                continue
            path = joined([self.reads[r][reads[r]] for r in made_from])
            for number, origins in self._assembled(event, physical).items():
                self._note(table, number, joined((path, origins)))

    def _assembled(self, event: Event, physical: int) -> dict[int, Origins]:
        """What the bytes from `physical` on can be put together to, cut where a write begins or ends."""
        end = physical + event.size
        events, memory = self.structure.events, self.structure.memory
        sources = [
            (at, events[w].size, values)
            for (w, at), values in self.written.items()
            if at < end and physical < at + events[w].size and events[w].rmw != event.index
        ]
        cuts = sorted({physical, end} | {c for at, size, _ in sources for c in (at, at + size) if physical < c < end})
        whole: dict[int, Origins] = {0: (0,)}
        for low, high in zip(cuts, cuts[1:], strict=False):
            size = high - low
            part: dict[int, Origins] = {memory.initial_value(low, size): (0,)}
            for at, length, values in sources:
                if at <= low and high <= at + length:
                    for number, origins in values.items():
                        piece = number >> (8 * (low - at)) & ((1 << (8 * size)) - 1)
                        known = part.get(piece)
                        part[piece] = origins if known is None else minimal((*known, *origins))
            shift = 8 * (low - physical)
            if len(whole) * len(part) > MAX_VALUES:
                raise TooLargeError(f"one read can return more than {MAX_VALUES} values.")
            whole = {done | piece << shift: joined((a, b)) for done, a in whole.items() for piece, b in part.items()}
        return whole


def _cells(structure: Structure, addresses: Mapping[int, Iterable[int]]) -> tuple[tuple[int, int], ...]:
    memory = structure.memory
    ranges: set[tuple[int, int]] = set()
    for index, places in addresses.items():
        size = structure.events[index].size
        for address in places:
            physical = memory.physical(address, size)
            if physical is not None:
                ranges.add((physical, physical + size))
    for term in structure.test.observed:
        if isinstance(term, MemoryTerm):
            ranges.add(location(structure, term))
    cuts = sorted({cut for pair in ranges for cut in pair})
    ordered = sorted(ranges)
    cells = []
    for low, high in zip(cuts, cuts[1:], strict=False):
        if any(start <= low and high <= end for start, end in ordered):
            cells.append((low, high - low))
    return tuple(cells)


def location(structure: Structure, term: MemoryTerm) -> tuple[int, int]:
    """First physical byte of an observed location, and the byte after its last."""
    variable = structure.test.variables[term.variable]
    region = instance(structure, term)
    first = region + term.index * variable.type.size
    return first, first + variable.type.size


def instance(structure: Structure, term: MemoryTerm) -> int:
    """Physical address of the variable of a term; of a shared one in a test of one CTA that CTA's."""
    for region in structure.memory.regions:
        if region.variable == term.variable and term.cta in (None, region.cta):
            return region.physical
    raise KeyError(term)


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
