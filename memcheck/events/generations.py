"""The barrier generations of an execution: the rules they obey and the relations they make (ISA 9.7.15.1 to .3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memcheck.events.structure import Arrival, Event, Rendezvous, RendezvousKind

SYNCHRONIZES = {
    "syncbar": (RendezvousKind.CTA, RendezvousKind.PEER),
    "warpbar": (RendezvousKind.WARP,),
    "clusterbar": (RendezvousKind.CLUSTER,),
}


@dataclass(frozen=True, slots=True)
class Meeting:
    """A rendezvous in one execution: the executed operations that take part, and the generation of each, by event."""

    rendezvous: Rendezvous
    parties: tuple[Arrival, ...]
    generation: Mapping[int, int]
    events: Sequence[Event]
    ended: Callable[[int], bool]

    def thread(self, arrival: Arrival) -> int:
        return self.events[arrival.event].thread

    def of_thread(self, thread: int) -> list[Arrival]:
        """The counting operations of a thread, in program order."""
        return [a for a in self.parties if a.counts and self.thread(a) == thread]

    def left_over(self, arrival: Arrival) -> bool:
        return arrival.event not in self.generation

    def gone(self, thread: int, number: int) -> bool:
        """The thread has ended, with all its operations in generations before `number`."""
        earlier = all(self.generation.get(a.event, number) < number for a in self.of_thread(thread))
        return earlier and self.ended(thread)

    def problems(self) -> Iterator[str]:
        """What breaks the rules of this kind of barrier."""
        if self.rendezvous.kind is RendezvousKind.PEER:
            yield from self._peer_problems()
            return
        counting = [a for a in self.parties if a.counts]
        name = self.rendezvous.name
        for thread in {self.thread(a) for a in counting}:
            numbers = [self.generation.get(a.event) for a in self.of_thread(thread)]
            known = [n for n in numbers if n is not None]
            if numbers[: len(known)] != known or any(a >= b for a, b in zip(known, known[1:], strict=False)):
                yield f"{name}: generations of thread {thread} do not increase: {numbers}"
        occupied = sorted({self.generation[a.event] for a in counting if not self.left_over(a)})
        if occupied != list(range(len(occupied))):
            yield f"{name}: generations {occupied} have gaps"
        for number in occupied:
            yield from self._fullness(counting, number)
        yield from self._maximality(counting, len(occupied))
        for wait in self.parties:
            if not wait.counts:
                before = [a for a in self.of_thread(self.thread(wait)) if a.event < wait.event]
                expected = self.generation.get(before[-1].event) if before else None
                if self.generation.get(wait.event) != expected:
                    yield f"{name}: event {wait.event} does not wait for its thread's latest arrive"

    def _fullness(self, counting: Sequence[Arrival], number: int) -> Iterator[str]:
        name = self.rendezvous.name
        here = [a for a in counting if self.generation.get(a.event) == number]
        threads = {self.thread(a) for a in here}
        present = [unit for unit in self.rendezvous.units if threads & set(unit)]
        for unit in present:
            if any(t not in threads and not self.gone(t, number) for t in unit):
                yield f"{name}: a thread of unit {unit} is missing in generation {number}"
        for needed in {a.needed for a in here}:
            if needed is None:
                absent = [unit for unit in self.rendezvous.units if unit not in present]
                if any(not self.gone(t, number) for unit in absent for t in unit):
                    yield f"{name}: generation {number} lacks units that have not exited"
            elif needed != len(present):
                yield f"{name}: generation {number} has {len(present)} units, not {needed}"

    def _maximality(self, counting: Sequence[Arrival], number: int) -> Iterator[str]:
        """Neither units that ask for one count, nor all units still there, could fill generation `number`."""
        heads: dict[int, Arrival] = {}
        for arrival in counting:
            if self.left_over(arrival):
                heads.setdefault(self.thread(arrival), arrival)
        needs = {a.needed for a in heads.values()}
        for needed in needs - {None}:
            alike = {t for t, a in heads.items() if a.needed == needed}
            if sum(self._ready(unit, alike, number) for unit in self.rendezvous.units) >= max(needed or 0, 1):
                yield f"{self.rendezvous.name}: operations of count {needed} left over could fill another generation"
        ready = sum(self._ready(unit, set(heads), number) for unit in self.rendezvous.units)
        over = all(t in heads or self.gone(t, number) for unit in self.rendezvous.units for t in unit)
        if ready and over and needs <= {None, ready}:
            yield f"{self.rendezvous.name}: all operations left over could fill another generation"

    def _ready(self, unit: Sequence[int], waiting: set[int], number: int) -> bool:
        """Some thread of the unit waits, and every other does or is gone."""
        return bool(waiting & set(unit)) and all(t in waiting or self.gone(t, number) for t in unit)

    def _peer_problems(self) -> Iterator[str]:
        """One generation 0 of exactly the threads needed; other operations come after it, in generation 1."""
        name = self.rendezvous.name
        for needed in {a.needed for a in self.parties}:
            group = [a for a in self.parties if a.needed == needed]
            threads = {self.thread(a) for a in group}
            full = len(threads) >= (len(threads) if needed is None else needed)
            first = [self.thread(a) for a in group if self.generation.get(a.event) == 0]
            if not full:
                if any(not self.left_over(a) for a in group):
                    yield f"{name}: passed with {len(threads)} threads of {needed}"
                continue
            if len(first) != (len(threads) if needed is None else needed) or len(set(first)) != len(first):
                yield f"{name}: generation 0 has the threads {first}, and needs {needed}"
            if any(self.generation.get(a.event) not in (0, 1) for a in group):
                yield f"{name}: an operation is left over although a generation is full"

    def synchronizes(self) -> Iterator[tuple[int, int]]:
        """From an arrival to each other operation that waits for its generation."""
        peer = self.rendezvous.kind is RendezvousKind.PEER
        for first in self.parties:
            number = self.generation.get(first.event)
            if number is None or not first.counts or (peer and number > 0):
                continue
            for second in self.parties:
                other = self.generation.get(second.event)
                if second.event == first.event or not second.waits or other is None:
                    continue
                if peer or other == number:
                    yield first.event, second.event

    def ordered(self, same: bool) -> Iterator[tuple[int, int]]:
        """Operations of a CTA barrier in one generation, or the first in an earlier one; the left over come last."""
        if self.rendezvous.kind is RendezvousKind.CTA:
            left = [a.event for a in self.parties if self.left_over(a)]
            for first, number in self.generation.items():
                if not same:
                    yield from ((first, second) for second in left)
                for second, other in self.generation.items():
                    if number == other if same else number < other:
                        yield first, second

    def together(self, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Those of the pairs of which both take part in this CTA barrier."""
        if self.rendezvous.kind is RendezvousKind.CTA:
            for first in self.parties:
                for second in self.parties:
                    if rows[first.event] >> second.event & 1:
                        yield first.event, second.event

    def exited(self, threads: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, int]]:
        """From the events of a thread that a generation did not count, as it had ended, to the generation's waits."""
        if self.rendezvous.kind not in (RendezvousKind.CTA, RendezvousKind.CLUSTER):
            return
        for wait in self.parties:
            number = self.generation.get(wait.event)
            if not wait.waits or number is None:
                continue
            here = [a for a in self.parties if a.counts and self.generation.get(a.event) == number]
            everybody = wait.needed is None or any(a.needed is None for a in here)
            for unit in self.rendezvous.units:
                if everybody or any(self.thread(a) in unit for a in here):
                    for thread in unit:
                        if thread != self.thread(wait) and self.gone(thread, number):
                            yield from ((event, wait.event) for event in threads.get(thread, ()))


def by_thread(events: Sequence[Event]) -> dict[int, list[int]]:
    """The events in program order of each thread, by index; an exit completes no asynchronous operation."""
    found: dict[int, list[int]] = defaultdict(list)
    for event in events:
        if event.operation is None:
            found[event.thread].append(event.index)
    return found
