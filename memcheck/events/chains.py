"""Operations on an mbarrier that their thread orders: which writes a read of the object's word cannot return.

The operations on one object are atomic to each other, and those of one thread follow its program order, asynchronous
ones what precedes their instruction. Every model that knows mbarriers says so; saying it before any literal is made
keeps the words that an object can have few.
"""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.events.structure import INITIAL, Event, Kind, Structure


def unreadable(structure: Structure) -> Mapping[int, frozenset[int]]:
    """For reads of mbarriers at known addresses: the writes, W0 among them, that cannot be what they return."""
    found = structure.memo.get("unreadable")
    if not isinstance(found, dict):
        found = structure.memo["unreadable"] = dict(_find(structure))
    return found


def _find(structure: Structure) -> Mapping[int, frozenset[int]]:
    words: dict[int, list[Event]] = {}
    for event in structure.events:
        if "MBAR" in event.tags and event.address is not None and event.address.is_const:
            words.setdefault(event.address.payload, []).append(event)
    result: dict[int, frozenset[int]] = {}
    for events in words.values():
        for read in events:
            if read.kind is Kind.READ:
                excluded = frozenset(_excluded(structure, events, read))
                if excluded:
                    result[read.index] = excluded
    return result


def _excluded(structure: Structure, events: list[Event], read: Event) -> set[int]:
    excluded: set[int] = set()
    true = structure.values.true
    for write in events:
        if write.kind is not Kind.WRITE:
            continue
        if _ordered(structure, read, write):
            excluded.add(write.index)
        elif write.guard is true and _ordered(structure, write, read):
            # where the read happens, this write has, and stands between it and all that precede it
            excluded.add(INITIAL)
            excluded.update(e.index for e in events if e.kind is Kind.WRITE and _ordered(structure, e, write))
    return excluded


def _ordered(structure: Structure, first: Event, second: Event) -> bool:
    """The first precedes the second in program order, or is what precedes the second's operation in its thread."""
    if first.thread != second.thread or first.operation is not None:
        return False
    if second.operation is None:
        return first.index < second.index
    return first.index < structure.operations[second.operation].after
