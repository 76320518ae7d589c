"""Which values a read can return at all, and which addresses an access can have (8.10.4: none out of thin air).

The least fixed point from the initial values: a write contributes what it writes over the values that the reads it is
made from can have, a read everything that its bytes can be put together from. A value carries the sets of writes it
came through, and no write passes on a value that came through itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memcheck.errors import TooLargeError
from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.value import evaluate
from memcheck.ptx.qualifiers import Proxy
from memcheck.reference.assignments import assignments, control_values, reached
from memcheck.reference.mbarriers import SIZE, objects
from memcheck.reference.words import Words

Origin = frozenset[int]
"""Writes that a value came through."""

MAX_VALUES = 256
MAX_ORIGINS = 64
MAX_UNIONS = 50_000


@dataclass(frozen=True, slots=True)
class Domains:
    """`values[r]`: of each read, ascending. `addresses[e]`: of each memory access, virtual."""

    values: Mapping[int, tuple[int, ...]]
    addresses: Mapping[int, frozenset[int]]


def _minimal(origins: Iterable[Origin]) -> list[Origin]:
    different = set(origins)
    if frozenset() in different or len(different) == 1:
        return [frozenset()] if frozenset() in different else list(different)
    kept: list[Origin] = []
    for origin in sorted(different, key=len):
        if not any(other <= origin for other in kept):
            kept.append(origin)
    if len(kept) > MAX_ORIGINS:
        raise TooLargeError(f"a value can arise in more than {MAX_ORIGINS} ways.")
    return kept


def _joined(parts: Sequence[Sequence[Origin]]) -> list[Origin]:
    """The union of one origin of each part, for every choice of them."""
    result: list[Origin] = [frozenset()]
    for part in parts:
        if part == [frozenset()]:
            continue
        result = _minimal(a | b for a in result for b in part)
    return result


class _Growing:
    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.accesses = [e for e in structure.events if e.kind in (Kind.READ, Kind.WRITE) and e.index != 0]
        self.reads: dict[int, dict[int, list[Origin]]] = {e.index: {} for e in structure.events if e.kind is Kind.READ}
        self.addresses: dict[int, set[int]] = {e.index: set() for e in self.accesses}
        self.written: dict[tuple[int, int], dict[int, list[Origin]]] = {}
        """By write and virtual address: the values written."""
        self.unions = 0
        self.words = [Words(structure, p, events) for p, events in objects(structure).items()]
        self.of_objects = {e.index for words in self.words for e in (*words.reads, *words.writes)}
        for words in self.words:
            for event in (*words.reads, *words.writes):
                assert event.address is not None
                self.addresses[event.index].add(event.address.payload)

    def _join(self, parts: Sequence[Sequence[Origin]]) -> list[Origin]:
        self.unions += 1
        if self.unions > MAX_UNIONS:
            raise TooLargeError("the values that reads can return come about in too many ways.")
        return _joined(parts)

    def round(self) -> None:
        for words in self.words:
            self._object(words)
        for event in self.accesses:
            if event.kind is Kind.WRITE and event.index not in self.of_objects:
                self._write(event)
        for event in self.accesses:
            if event.kind is Kind.READ and event.index not in self.of_objects:
                self._read(event)

    def _object(self, words: Words) -> None:
        """What operations on an mbarrier read and write; ordinary writes of its bytes may come between them."""
        others: dict[int, list[tuple[int, int, int]]] = {}
        for (w, at), values in self.written.items():
            if w in self.of_objects:
                continue
            write = self.structure.events[w]
            low = self.structure.memory.physical(at, write.size)
            assert low is not None
            if low < words.place + SIZE and words.place < low + write.size:
                others.setdefault(w, []).extend((low - words.place, write.size, number) for number in values)
        words.grow(others, self.reads)
        for read, numbers in words.before.items():
            self.reads[read].update((number, [frozenset()]) for number in numbers)
        for write in words.writes:
            assert write.address is not None
            known = self.written.setdefault((write.index, write.address.payload), {})
            known.update((number, [frozenset()]) for number in words.after[write.index])

    def _write(self, event: Event) -> None:
        assert event.address is not None
        assert event.value is not None
        made_from = sorted(event.address.support | event.value.support)
        looked_at = [*control_values(self.structure, event), event.address, event.value]
        for reads, choices in assignments(self.structure, looked_at, self.reads):
            if not reached(self.structure, event, reads, choices):
                continue
            address = evaluate(event.address, reads, choices)
            self.addresses[event.index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            if physical is None:
                continue
            number = evaluate(event.value, reads, choices)
            origins = [
                origin | {event.index}
                for origin in self._join([self.reads[r][reads[r]] for r in made_from])
                if event.index not in origin
            ]
            if origins:
                known = self.written.setdefault((event.index, address), {})
                known[number] = _minimal([*known.get(number, ()), *origins])

    def _read(self, event: Event) -> None:
        assert event.address is not None
        made_from = sorted(event.address.support)
        looked_at = [*control_values(self.structure, event), event.address]
        for reads, choices in assignments(self.structure, looked_at, self.reads):
            if not reached(self.structure, event, reads, choices):
                continue
            address = evaluate(event.address, reads, choices)
            self.addresses[event.index].add(address)
            physical = self.structure.memory.physical(address, event.size)
            if physical is None:
                self.reads[event.index].setdefault(0, [frozenset()])
                continue
            path = self._join([self.reads[r][reads[r]] for r in made_from])
            for number, origins in self._assembled(event, address, physical).items():
                known = self.reads[event.index]
                known[number] = _minimal([*known.get(number, ()), *self._join([path, origins])])
                if len(known) > MAX_VALUES:
                    raise TooLargeError(f"a read can return more than {MAX_VALUES} values.")

    def _assembled(self, event: Event, address: int, physical: int) -> dict[int, list[Origin]]:
        """What the bytes from `physical` on can be put together to, cut where a write begins or ends."""
        end = physical + event.size
        sources = []
        for (w, at), values in self.written.items():
            write = self.structure.events[w]
            low = self.structure.memory.physical(at, write.size)
            assert low is not None
            if (
                low < end
                and physical < low + write.size
                and not self._precedes(event, address - physical, write, at - low)
            ):
                sources.append((low, write.size, values))
        cuts = sorted({physical, end} | {c for at, size, _ in sources for c in (at, at + size) if physical < c < end})
        whole: dict[int, list[Origin]] = {0: [frozenset()]}
        for low, high in zip(cuts, cuts[1:]):
            size = high - low
            part: dict[int, list[Origin]] = {self.structure.memory.initial_value(low, size): [frozenset()]}
            for at, length, values in sources:
                if at <= low and high <= at + length:
                    for number, origins in values.items():
                        piece = number >> (8 * (low - at)) & ((1 << (8 * size)) - 1)
                        part[piece] = _minimal([*part.get(piece, ()), *origins])
            shift = 8 * (low - physical)
            whole = {
                done | piece << shift: self._join([a, b]) for done, a in whole.items() for piece, b in part.items()
            }
            if len(whole) > MAX_VALUES:
                raise TooLargeError(f"a read can return more than {MAX_VALUES} values.")
        return whole

    @staticmethod
    def _precedes(read: Event, shift: int, write: Event, other: int) -> bool:
        """8.10.6: the read is before a write of its own thread to the same address (`shift`: virtual less physical)."""
        generic = read.proxy is Proxy.GENERIC and write.proxy is Proxy.GENERIC
        together = read.unordered_group is not None and read.unordered_group == write.unordered_group
        together = together or (read.operation is not None and write.rmw != read.index)
        later = read.thread == write.thread and read.index < write.index
        return generic and later and shift == other and (not together or write.rmw == read.index)

    def state(self) -> tuple[object, ...]:
        return (
            {r: {v: frozenset(o) for v, o in values.items()} for r, values in self.reads.items()},
            {e: frozenset(a) for e, a in self.addresses.items()},
            {k: {v: frozenset(o) for v, o in values.items()} for k, values in self.written.items()},
        )


def find_domains(structure: Structure) -> Domains:
    """The values and addresses of all accesses that any execution can have."""
    growing = _Growing(structure)
    before: tuple[object, ...] = ()
    while True:
        while (now := growing.state()) != before:
            before = now
            growing.round()
        # A read that never happens still stands in values that do not really need it: any number will do.
        never = [r for r, values in growing.reads.items() if not values]
        if not never:
            break
        growing.reads[never[0]][0] = [frozenset()]
    return Domains(
        {r: tuple(sorted(values)) for r, values in growing.reads.items()},
        {e: frozenset(a) for e, a in growing.addresses.items()},
    )
