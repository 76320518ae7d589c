"""Tests with asynchronous copies, from a line a thread, and their events in words."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.events.structure import Event, Kind, Operation, Structure
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.source import SourceFile

GLOBALS = (
    ".global .align 16 .b32 x[16] = {1, 2, 3, 4}; .global .align 16 .b32 y[16]; .shared .align 16 .b32 s[16] = {0};"
    " .shared .align 16 .b32 t[16] = {0}; .shared .mbarrier m = 1; .shared .mbarrier n = 1; .multimem mm = {x, y};"
    " .global .b32 w;"
)
"""What every test here declares."""


def structure(*threads: str, places: Sequence[str] = (), more: str = "", end: str = "exists (w = 0)") -> Structure:
    """The structure of a test; every thread is in the CTA of its number, all of them in one cluster."""
    text = f"PTX made\n{{ {GLOBALS} {more} }}\n"
    for index, body in enumerate(threads):
        place = places[index] if places else f"cluster 0, cta {index}"
        text += f"P{index} @ {place} {{ {body} }}\n"
    return unfold(parse_test(SourceFile("made.litmus", text + end)))


def place(found: Structure, event: Event) -> str:
    """`s+4:8 @1`: 8 bytes at byte 4 of the instance of s in CTA 1."""
    assert event.address is not None
    assert event.address.is_const
    region = found.memory.region(event.address.payload, event.size)
    if region is None:
        return "nowhere"
    return f"{region.variable}+{event.address.payload - region.base}:{event.size}" + (
        "" if region.cta is None else f" @{region.cta}"
    )


def told(found: Structure, operation: Operation) -> list[str]:
    """The events of an operation: R or W, the place, and ` <- n` for a write of what event n of the list read."""
    lines = []
    for index in operation.events:
        event = found.events[index]
        line = f"{event.kind.value} {place(found, event)}"
        if event.kind is Kind.WRITE and event.rmw is None and event.value is not None:
            if event.value.is_const:
                line += f" = {event.value.payload}"
            elif event.value.op == "read":
                line += f" <- {operation.events.index(event.value.payload)}"
        lines.append(line)
    return lines


def misused(found: Structure) -> list[str]:
    """Undefined behaviour of every execution: the rule, and what is wrong."""
    certain = [m for m in found.misuses if m.condition is found.values.true]
    for misuse in certain:
        assert misuse.instruction is not None
        assert misuse.event is None or found.events[misuse.event].instruction is misuse.instruction
    return [f"{m.rule.removeprefix('undefined-behaviour: ')} ({m.detail})" for m in certain]


def numbered(operation: Operation, found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of events of an operation by their positions in it."""
    return [(operation.events.index(a), operation.events.index(b)) for a, b in found]
