"""How far the threads of a test are, and what their reads returned, while its traces are explored."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.events.structure import BlockingPoint, Event, Structure
from memcheck.events.value import Value
from memcheck.reference.assignments import choices_in

Item = Event | BlockingPoint


@dataclass(frozen=True, slots=True)
class Link:
    """One write in the order of all writes to an mbarrier, and the word that it leaves."""

    write: int
    word: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`position`: of each thread how many of its items are behind it. `stopped`: where threads wait for ever.

    `chains`: by mbarrier; `waits`: of each wait for one that has read how many links it has behind it. `pending`: reads
    of operations on mbarriers, waits, and ordinary writes of their bytes, that are in no chain yet.
    """

    position: tuple[int, ...]
    reads: dict[int, int]
    choices: dict[int, int]
    executed: tuple[int, ...]
    stopped: dict[int, BlockingPoint]
    chains: dict[int, tuple[Link, ...]]
    waits: dict[int, int]
    pending: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others; the events executed follow from the rest."""
        return (
            self.position,
            frozenset(self.reads.items()),
            frozenset(self.choices.items()),
            frozenset(self.stopped),
            frozenset(self.chains.items()),
            frozenset(self.waits.items()),
        )


class Programs:
    """The items of each thread in order: events, and each place where the thread may stop before what follows it."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._chosen: dict[Value, frozenset[int]] = {}
        self.threads: list[list[Item]] = [[] for _ in structure.test.threads]
        for event in structure.events[1:]:
            self.threads[event.thread].append(event)
        for point in reversed(structure.blocking):
            items = self.threads[point.thread]
            at = next((i for i, item in enumerate(items) if _starts(item) >= point.before), len(items))
            items.insert(at, point)

    def start(self) -> Progress:
        return Progress(tuple(0 for _ in self.threads), {}, {}, (), {}, {}, {})

    def following(self, progress: Progress, thread: int) -> Item | None:
        """The next item of a thread, None where it stopped or has none."""
        at = progress.position[thread]
        if thread in progress.stopped or at == len(self.threads[thread]):
            return None
        return self.threads[thread][at]

    def is_settled(self, progress: Progress, event: Event) -> bool:
        """Whether it is known if an event happens."""
        rest = [i for i in self.threads[event.thread][progress.position[event.thread] :] if isinstance(i, Event)]
        return event.thread in progress.stopped or not rest or event.index < rest[0].index

    def choices_in(self, *values: Value) -> frozenset[int]:
        """The free choices below values."""
        for value in values:
            if value not in self._chosen:
                self._chosen[value] = choices_in([value])
        return frozenset().union(*(self._chosen[value] for value in values))


def _starts(item: Item) -> int:
    return item.before if isinstance(item, BlockingPoint) else item.index


def looked_at(item: Item) -> list[Value]:
    """The values that say whether an item happens, and where."""
    values = [item.guard]
    if isinstance(item, BlockingPoint):
        return values + ([item.passed] if item.passed is not None else [])
    return values + ([item.address] if item.address is not None else [])
