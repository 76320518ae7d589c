"""The writes to each mbarrier in their order, and what the object goes through (ISA 9.7.15.16).

Operations on one object are atomic and totally ordered: each reads what the one before it left. Ordinary writes of its
bytes come between them, as if none raced with an operation; where one does, the verdict is outside (`lifetimes`) and
other values that it could bring do not matter. A wait reads what any of these writes left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from memcheck.events.structure import INITIAL, Event, Kind, Structure
from memcheck.events.value import evaluate
from memcheck.ptx.asynchronous import MbarrierWait
from memcheck.reference.domains import Domains
from memcheck.reference.mbarriers import (
    SIZE,
    Counters,
    Step,
    is_operation,
    is_true,
    objects,
    packed,
    perform,
    precedes,
    unpacked,
)
from memcheck.reference.progress import Link, Programs, Progress
from memcheck.reference.words import merged


@dataclass(frozen=True, slots=True)
class Chain:
    """All writes to one object in coherence order. `waits`: how many of them each wait has behind it.

    `sources`: of each read of an operation the writes behind its bytes.
    """

    place: int
    links: tuple[Link, ...]
    waits: Mapping[int, int]
    sources: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class History:
    """All objects of one execution: the writes that complete a phase, and the waits that return true."""

    completing: frozenset[int] = frozenset()
    true: frozenset[int] = frozenset()


class Chaining:
    """Puts what threads do to mbarriers into chains, in every order that program order and issue leave open."""

    def __init__(self, structure: Structure, domains: Domains, programs: Programs) -> None:
        self.structure = structure
        self.programs = programs
        self.words: dict[int, int] = {}
        """The object of each event of an operation, by the physical address of its word."""
        self.taking_part: dict[int, list[Event]] = {}
        """By object the events that may come into its chain."""
        for place, events in objects(structure).items():
            self.words.update((event.index, place) for event in events)
            self.taking_part[place] = [*events, *self._ordinary(domains, place)]

    def _ordinary(self, domains: Domains, place: int) -> Iterator[Event]:
        """The other writes that may be to the bytes of a word."""
        for event in self.structure.events[1:]:
            if event.kind is Kind.WRITE and not is_operation(event):
                lows = [self.structure.memory.physical(a, event.size) for a in domains.addresses[event.index]]
                if any(low is not None and _meets(place, low, event.size) for low in lows):
                    yield event

    def of(self, progress: Progress, event: Event) -> frozenset[int]:
        """The objects into whose chains an event comes."""
        if event.index in self.words:
            return frozenset((self.words[event.index],))
        if event.kind is not Kind.WRITE or not self.words:
            return frozenset()
        low = self._low(progress, event)
        return frozenset(p for p in self.taking_part if low is not None and _meets(p, low, event.size))

    def _low(self, progress: Progress, event: Event) -> int | None:
        """The physical address of an access."""
        assert event.address is not None
        address = evaluate(event.address, progress.reads, progress.choices)
        return self.structure.memory.physical(address, event.size)

    def is_stale(self, progress: Progress) -> bool:
        """Whether a spin that never ends has read an object that changed after that."""
        return any(
            r in progress.waits and progress.waits[r] < len(progress.chains.get(self.words[r], ()))
            for point in progress.stopped.values()
            for r in point.polled
        )

    def placements(self, progress: Progress) -> list[Progress]:
        """What can come next: in the chain of one object alone where all that may come into it is there."""
        events = [self.structure.events[e] for e in progress.pending]
        of = {event.index: self.of(progress, event) for event in events}
        moves: dict[int, list[Progress]] = {}
        blocked: set[int] = set()
        for event in events:
            if any(precedes(p, event) and of[p.index] & of[event.index] for p in events):
                continue
            found = self._placed(progress, event)
            if found is None:
                blocked |= of[event.index]
                continue
            for place in of[event.index]:
                moves.setdefault(place, []).extend(found)
        for place, found in moves.items():
            complete = all(self.programs.is_settled(progress, e) for e in self.taking_part[place])
            alone = all(places == {place} or place not in places for places in of.values())
            if complete and alone and place not in blocked:
                return found
        return [move for found in moves.values() for move in found]

    def _placed(self, progress: Progress, event: Event) -> list[Progress] | None:
        """With a pending event in its chain; None where its value is not known yet."""
        rest = replace(progress, pending=tuple(p for p in progress.pending if p != event.index))
        if not is_operation(event):
            number = self._number(progress, event)
            return None if number is None else [self._with_write(rest, event, number)]
        place = self.words[event.index]
        links = progress.chains.get(place, ())
        write = self._write_of(event)
        if write is None:
            return [
                replace(
                    rest,
                    reads={**progress.reads, event.index: self._word(place, links[:behind])},
                    waits={**progress.waits, event.index: behind},
                )
                for behind in range(self._seen(progress, event), len(links) + 1)
            ]
        rest = replace(rest, reads={**progress.reads, event.index: self._word(place, links)})
        number = self._number(rest, write)
        return None if number is None else [self._with_write(rest, write, number)]

    def _write_of(self, read: Event) -> Event | None:
        """The write of an operation; a wait has none."""
        following = self.structure.events[read.index + 1 : read.index + 2]
        return following[0] if following and following[0].rmw == read.index else None

    def _number(self, progress: Progress, write: Event) -> int | None:
        """What is written, None where it depends on something still open."""
        assert write.value is not None
        known = write.value.support <= progress.reads.keys()
        if not known or not self.programs.choices_in(write.value) <= progress.choices.keys():
            return None
        return evaluate(write.value, progress.reads, progress.choices)

    def _with_write(self, progress: Progress, write: Event, number: int) -> Progress:
        low = self._low(progress, write)
        assert low is not None
        chains = dict(progress.chains)
        for place in self.of(progress, write):
            links = chains.get(place, ())
            word = merged(self._word(place, links), low - place, write.size, number)
            chains[place] = (*links, Link(write.index, word))
        return replace(progress, chains=chains)

    def _word(self, place: int, links: tuple[Link, ...]) -> int:
        return links[-1].word if links else self.structure.memory.initial_value(place, SIZE)

    def _seen(self, progress: Progress, wait: Event) -> int:
        """How many links a wait has behind it at least: those that its own thread made or read from before."""
        events, place = self.structure.events, self.words[wait.index]
        positions = [0]
        for position, link in enumerate(progress.chains.get(place, ()), 1):
            if precedes(events[link.write], wait):
                positions.append(position)
        for earlier, position in progress.waits.items():
            if self.words[earlier] == place and precedes(events[earlier], wait):
                positions.append(position)
        return max(positions)

    def finished(self, progress: Progress) -> tuple[Chain, ...]:
        """The chains when everything is in them."""
        found = []
        for place in self.taking_part:
            links = progress.chains.get(place, ())
            waits = {w: k for w, k in progress.waits.items() if self.words[w] == place}
            found.append(Chain(place, links, waits, dict(self._sources(progress, place, links, waits))))
        return tuple(found)

    def _sources(
        self, progress: Progress, place: int, links: tuple[Link, ...], waits: Mapping[int, int]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        behind = [(INITIAL,) * SIZE]
        for link in links:
            event = self.structure.events[link.write]
            if event.rmw is not None and is_operation(event):
                yield event.rmw, behind[-1]
            low = self._low(progress, event)
            assert low is not None
            here = range(low - place, low - place + event.size)
            behind.append(tuple(link.write if i in here else w for i, w in enumerate(behind[-1])))
        for wait, position in waits.items():
            yield wait, behind[position]


def _meets(place: int, low: int, size: int) -> bool:
    return low < place + SIZE and place < low + size


def history(
    structure: Structure,
    chains: Iterable[Chain],
    written: Mapping[int, int],
    reads: Mapping[int, int],
    choices: Mapping[int, int],
) -> History:
    """Runs every object through its chain. AssertionError where the structure's words or marks say another thing."""
    completing: set[int] = set()
    true: set[int] = set()
    for chain in chains:
        now = unpacked(structure.memory.initial_value(chain.place, SIZE))
        states = [now]
        for link in chain.links:
            event = structure.events[link.write]
            if not is_operation(event):
                now = unpacked(link.word)
            else:
                step = perform(event, now, reads, choices)
                _compare(structure, event, step, written[link.write], reads, choices)
                if step.completes:
                    completing.add(link.write)
                now = unpacked(link.word) if step.misuse else step.after
            states.append(now)
        for wait, position in chain.waits.items():
            if _waited(structure.events[wait], states[position], reads, choices):
                true.add(wait)
    return History(frozenset(completing), frozenset(true))


def _compare(
    structure: Structure, write: Event, step: Step, word: int, reads: Mapping[int, int], choices: Mapping[int, int]
) -> None:
    named = any(m.event == write.index and evaluate(m.condition, reads, choices) for m in structure.misuses)
    if named != step.misuse:
        raise AssertionError(f"event {write.index} is {'no ' if named else ''}misuse of its mbarrier")
    if not step.misuse and packed(step.after) != word:
        raise AssertionError(f"event {write.index} leaves {step.after}, and not {unpacked(word)}")
    marked = write.marks is not None and "FLIP" in write.marks and evaluate(write.marks["FLIP"], reads, choices)
    if not step.misuse and bool(marked) != step.completes:
        raise AssertionError(f"event {write.index} completes {'a' if step.completes else 'no'} phase")


def _waited(wait: Event, now: Counters | None, reads: Mapping[int, int], choices: Mapping[int, int]) -> bool:
    assert isinstance(wait.instruction, MbarrierWait)
    assert wait.marks is not None
    marked = bool(evaluate(wait.marks["TRUE"], reads, choices))
    true = is_true(wait, now)
    # try_wait may return false at any time
    if true is not None and (marked != true if not wait.instruction.suspends else marked and not true):
        raise AssertionError(f"wait {wait.index} finds {now}, so it is {str(true).lower()}")
    return marked
