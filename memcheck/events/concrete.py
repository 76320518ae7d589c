"""A candidate execution with all that follows from its choices: values, addresses, bytes, who ends or stops."""

from __future__ import annotations

from functools import cached_property, lru_cache

from memcheck.events.execution import Execution
from memcheck.events.generations import Meeting
from memcheck.events.structure import INITIAL, BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate


class _Lenient(dict[int, int]):
    """Values of reads; one that did not happen may be mentioned where it does not matter."""

    def __missing__(self, key: int) -> int:
        return 0


class Concrete:
    """An execution with everything that follows from its choices."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.structure: Structure = execution.structure
        self.events = self.structure.events
        self._reads = _Lenient(execution.reads)
        self._choices = _Lenient(execution.choices)
        self._memo: dict[Value, int] = {}

    def value(self, value: Value) -> int:
        return evaluate(value, self._reads, self._choices, self._memo)

    def address(self, event: Event) -> int | None:
        return None if event.address is None else self.value(event.address)

    @cached_property
    def bytes(self) -> dict[int, range]:
        """Physical bytes of each executed access but W0; none where it is outside memory."""
        found = {}
        for event in self.events:
            if event.index != INITIAL and event.index in self.execution.executed and event.address is not None:
                physical = self.structure.memory.physical(self.value(event.address), event.size)
                if event.kind in (Kind.READ, Kind.WRITE):
                    found[event.index] = range(0) if physical is None else range(physical, physical + event.size)
        return found

    def covers(self, write: int, byte: int) -> bool:
        return write == INITIAL or byte in self.bytes.get(write, range(0))

    def written(self, write: int, byte: int) -> int:
        """What an executed write puts into a physical byte that it covers."""
        if write == INITIAL:
            return self.structure.memory.initial_value(byte, 1)
        value = self.events[write].value
        assert value is not None
        return self.value(value) >> 8 * (byte - self.bytes[write].start) & 255

    @cached_property
    def circumstances(self) -> str:
        return f"{sorted(self.execution.executed)} {[(i, bytes.start) for i, bytes in self.bytes.items()]}"

    @cached_property
    def meetings(self) -> list[Meeting]:
        found = []
        for number, rendezvous in enumerate(self.structure.rendezvous):
            parties = tuple(
                a for a in rendezvous.arrivals if a.event in self.execution.executed and self.value(a.member)
            )
            generation = {e: k for (r, e), k in self.execution.generations.items() if r == number}
            found.append(Meeting(rendezvous, parties, generation, self.events, self.ended))
        return found

    def passed(self, point: BlockingPoint) -> bool:
        """Whether a blocking point that was met lets its thread go on."""
        if point.passed is not None:
            return bool(self.value(point.passed))
        if point.threads:
            return all(self.ended(thread) for thread in point.threads)
        taking_part = [
            (number, a.event)
            for number, rendezvous in enumerate(self.structure.rendezvous)
            for a in rendezvous.arrivals
            if a.event == point.barrier and self.value(a.member)
        ]
        return all(pair in self.execution.generations for pair in taking_part)

    def stopped(self, thread: int) -> BlockingPoint | None:
        """Where the thread stops for ever, None where nowhere."""
        for point in self.structure.blocking:
            if point.thread == thread and self.value(point.guard) and not self.passed(point):
                return point
        return None

    def ended(self, thread: int) -> bool:
        return self.stopped(thread) is None and bool(self.value(self.structure.ends[thread]))


@lru_cache(maxsize=4)
def concretely(execution: Execution) -> Concrete:
    """Questions about one execution come in a row."""
    return Concrete(execution)
