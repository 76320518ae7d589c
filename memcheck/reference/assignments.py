"""Assignments of values to reads and choices, and whether an event happens under one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from memcheck.errors import TooLargeError
from memcheck.events.structure import BlockingPoint, Event, Structure
from memcheck.events.value import Value, evaluate

MAX_ASSIGNMENTS = 20_000


def spins_before(structure: Structure, event: Event) -> list[BlockingPoint]:
    """The spins that the thread of `event` may have to leave before it."""
    return [
        point
        for point in structure.blocking
        if point.thread == event.thread and point.before <= event.index and point.passed is not None
    ]


def reached(structure: Structure, event: Event, reads: Mapping[int, int], choices: Mapping[int, int]) -> bool:
    """Whether the event happens when reads return `reads` and no barrier holds its thread up."""
    memo: dict[Value, int] = {}
    if not evaluate(event.guard, reads, choices, memo):
        return False
    for point in spins_before(structure, event):
        if evaluate(point.guard, reads, choices, memo) and not evaluate(_passed(point), reads, choices, memo):
            return False
    return True


def _passed(point: BlockingPoint) -> Value:
    assert point.passed is not None
    return point.passed


def control_values(structure: Structure, event: Event) -> list[Value]:
    """All values that `reached` looks at."""
    return [event.guard] + [v for p in spins_before(structure, event) for v in (p.guard, _passed(p))]


def choices_in(values: Iterable[Value]) -> frozenset[int]:
    """Indices of the free choices below `values`."""
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


def looked_at(values: Iterable[Value]) -> dict[int, int]:
    """For each read below `values` a mask of the bits that they look at."""
    bits: dict[int, int] = {}
    seen: set[Value] = set()
    pending = [(value, (1 << value.width) - 1) for value in values]
    while pending:
        value, mask = pending.pop()
        if value.op == "read":
            bits[value.payload] = bits.get(value.payload, 0) | mask
        elif value.op == "extract" and value.args[0].op == "read":
            read = value.args[0].payload
            bits[read] = bits.get(read, 0) | ((1 << value.width) - 1) << value.payload
        elif value not in seen:
            seen.add(value)
            pending.extend((arg, (1 << arg.width) - 1) for arg in value.args)
    return bits


def assignments(
    structure: Structure, values: Sequence[Value], read_values: Mapping[int, Iterable[int]]
) -> Iterator[tuple[dict[int, int], dict[int, int]]]:
    """All (reads, choices) for the reads and choices below `values`. TooLargeError beyond MAX_ASSIGNMENTS.

    Of the words of an mbarrier that differ only where no value looks, one stands for all.
    """
    bits = looked_at(values)
    reads = sorted(bits)
    choices = sorted(choices_in(values))
    options = [tuple(read_values[r]) for r in reads]
    for i, r in enumerate(reads):
        if "MBAR" in structure.events[r].tags:
            options[i] = tuple({number & bits[r]: number for number in options[i]}.values())
    options += [structure.choice_domains[c] for c in choices]
    count = 1
    for option in options:
        count *= len(option)
    if count > MAX_ASSIGNMENTS:
        raise TooLargeError(f"one event depends on {len(reads)} reads with {count} combinations of values.")
    for numbers in product(*options):
        yield dict(zip(reads, numbers)), dict(zip(choices, numbers[len(reads) :]))
