"""Asynchronous operations (8.9.1.1): what precedes them, the order inside them, and what reports that they are over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memcheck.events.structure import Event, Kind
from memcheck.ptx.asynchronous import CopyArrive, CopyAsync, WarpgroupMultiply
from memcheck.ptx.qualifiers import Proxy
from memcheck.reference.groups import Groups, find_groups
from memcheck.reference.mbarriers import is_operation
from memcheck.reference.pairs import Pair
from memcheck.reference.traces import Trace


def is_asynchronous(event: Event) -> bool:
    """In no program order."""
    return event.operation is not None


@dataclass(frozen=True)
class Asynchronous:
    """The asynchronous operations of a trace."""

    trace: Trace

    @cached_property
    def operations(self) -> dict[int, list[Event]]:
        """Their executed events, by operation."""
        found: dict[int, list[Event]] = {}
        for e in self.trace.executed:
            event = self.trace.event(e)
            if event.operation is not None:
                found.setdefault(event.operation, []).append(event)
        return found

    @cached_property
    def _groups(self) -> Groups:
        return find_groups(self.trace)

    @cached_property
    def issue(self) -> frozenset[Pair]:
        """From what comes before an instruction in its thread to the events of its operation.

        To the reads of wgmma only from what comes before a wgmma.fence.
        """
        fences = dict(self._groups.fenced) if self._has_wgmma else {}
        found = set()
        for events in self.operations.values():
            start = min(event.index for event in events)
            for event in events:
                for e in self.trace.executed:
                    other = self.trace.event(e)
                    if other.thread != event.thread or is_asynchronous(other):
                        continue
                    if e <= fences[event.index] if event.index in fences else e < start:
                        found.add((e, event.index))
        return frozenset(found)

    @property
    def _has_wgmma(self) -> bool:
        return any(isinstance(events[0].instruction, WarpgroupMultiply) for events in self.operations.values())

    @cached_property
    def within(self) -> frozenset[Pair]:
        """From a read to the write of what it returned, from that of a tensor map to all else, and inside an RMW."""
        found = set()
        for events in self.operations.values():
            for first in events:
                if first.kind is not Kind.READ:
                    continue
                for second in events:
                    if second is first or is_operation(second) != is_operation(first):
                        continue
                    moved = (
                        second.kind is Kind.WRITE and second.value is not None and first.index in second.value.support
                    )
                    if moved or second.rmw == first.index or first.proxy is Proxy.TENSORMAP:
                        found.add((first.index, second.index))
        return frozenset(found)

    @cached_property
    def reported(self) -> frozenset[Pair]:
        """From an access to the write of the complete-tx or arrive-on that says that it is over.

        Of the writes of a multicast each destination's complete-tx reports its own; all report the reads.
        """
        found = set()
        for events in self.operations.values():
            words = [e for e in events if is_operation(e) and e.kind is Kind.WRITE]
            if isinstance(events[0].instruction, CopyArrive):
                accesses = self._copies_before(events[0])
            else:
                accesses = [e for e in events if not is_operation(e)]
            for word in words:
                for access in accesses:
                    everywhere = len(words) == 1 or access.kind is Kind.READ
                    if everywhere or self._cta(access) == self._cta(word):
                        found.add((access.index, word.index))
        return frozenset(found)

    def _copies_before(self, arrival: Event) -> Sequence[Event]:
        return [
            event
            for events in self.operations.values()
            for event in events
            if isinstance(event.instruction, CopyAsync)
            and event.thread == arrival.thread
            and event.index < arrival.index
        ]

    def _cta(self, access: Event) -> int | None:
        """The CTA whose shared memory is accessed."""
        region = self.trace.structure.memory.region(self.trace.addresses[access.index], access.size)
        return None if region is None else region.cta

    @cached_property
    def grouped(self) -> frozenset[Pair]:
        """From an access to the waits that cover its group."""
        return self._groups.covered

    @cached_property
    def releasing(self) -> frozenset[int]:
        """The writes of complete-tx and arrive-on: releases of what they report."""
        return frozenset(
            e.index for events in self.operations.values() for e in events if is_operation(e) and e.kind is Kind.WRITE
        )
