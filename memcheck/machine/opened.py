"""Generic accesses that a later write of an engine may still come before.

Without a proxy fence in between, a generic access is not ordered before what the async proxy writes to the same bytes,
whatever else orders the two: a load can return what is written, and a store can end up on top of it. Only a load whose
register nothing reads afterwards shows this here; a value that decides something does not come out of its own
consequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, cast

from memcheck.language.test import RegisterTerm
from memcheck.machine.accesses import Load
from memcheck.machine.commands import Flight, Opened
from memcheck.machine.footprints import Footprints, terms
from memcheck.machine.state import Location, State
from memcheck.ptx.asynchronous import GridDependency
from memcheck.ptx.qualifiers import Proxy

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Opening:
    """Keeps the open loads of a state, in the engine's part of it, which has a number."""

    def __init__(self, machine: Machine, places: Footprints) -> None:
        self.machine = machine
        self.places = places
        self.number = 0
        self.usable = False
        self.written = 0
        """The lines that engines may write, as bits."""

    def ready(self) -> None:
        """Notes the loads whose values nobody looks at before the end."""
        test, machine = self.machine.test, self.machine
        if test.grid_orders or any(isinstance(i, GridDependency) for t in test.threads for i in t.body):
            return
        written = 0
        self.usable = True
        for transfer in self.places.transfers:
            written |= self.places.written(transfer) if transfer.proxy is Proxy.ASYNC else 0
        self.written = written
        seen = [set[int]() for _ in test.threads]
        for term in terms(test):
            if isinstance(term, RegisterTerm) and term.name in machine.numbers[term.thread]:
                seen[term.thread].add(machine.numbers[term.thread][term.name])
        for thread, code in enumerate(machine.code):
            loops = [(operation.target, i) for i, operation in enumerate(code) if operation.target is not None]
            for i, load in enumerate(code):
                if type(load) is not Load or load.proxy is not Proxy.GENERIC or load.destination not in seen[thread]:
                    continue
                used = sum(load.destination in operation.needs for operation in code)
                if used == 1 and load.reads & written and not any(first <= i <= last for first, last in loops):
                    load.noted = self._noted

    def _noted(self, state: State, thread: int, load: Load, location: Location, value: int) -> State:
        part = cast(Flight, state.units[self.number])
        opened = (*part.opened, Opened(thread, load, location, value))
        opened = tuple(sorted(opened, key=lambda one: (one.thread, one.load.destination or 0)))
        return state.with_unit(self.number, part._replace(opened=opened))

    def close(self, state: State, lines: Iterable[int]) -> State:
        """A proxy fence: what the engine writes to lines from now on comes after the loads."""
        part = cast(Flight, state.units[self.number])
        closed = set(lines)
        opened = tuple(one for one in part.opened if one.location.line not in closed)
        unpublished = tuple(one for one in part.unpublished if one[0] not in closed)
        return state.with_unit(self.number, part._replace(opened=opened, unpublished=unpublished))

    def covered(self, state: State, lines: Iterable[int]) -> int:
        """Those of some lines, as bits, with a load or a store that a write of an engine may still come before."""
        part = cast(Flight, state.units[self.number])
        found = 0
        for line in (*(one.location.line for one in part.opened), *(one[0] for one in part.unpublished)):
            found |= 1 << line
        return found and found & sum(1 << line for line in lines)

    def stored(self, state: State, location: Location) -> State:
        """A generic write to a line."""
        if not self.usable or not self.written >> location.line & 1:
            return state
        return self._published(state, location.line, location.mask, 0)

    def landed(self, state: State, location: Location) -> State:
        """A write of an engine on top of others."""
        return self._published(state, location.line, 0, location.mask)

    def _published(self, state: State, line: int, more: int, fewer: int) -> State:
        part = cast(Flight, state.units[self.number])
        masks = dict(part.unpublished)
        masks[line] = masks.get(line, 0) & ~fewer | more
        kept = tuple(sorted((line, mask) for line, mask in masks.items() if mask))
        return state if kept == part.unpublished else state.with_unit(self.number, part._replace(unpublished=kept))

    def above(self, state: State, location: Location) -> int:
        """The bits of a line that stores can keep from a write of an engine; none while a store is on its way."""
        line = location.line
        kept = dict(cast(Flight, state.units[self.number]).unpublished).get(line, 0) & location.mask
        if not kept or self.machine.memory.home[line] is not None:
            return kept
        held = [one for level in (*state.sms, *state.gpus) for one in level.held]
        return 0 if any(one.location is not None and one.location.line == line for one in held) else kept

    def overtaken(self, state: State, target: int, size: int, value: int) -> list[tuple[int, ...]]:
        """The sets of open loads that a write may come before: they get what it writes."""
        opened = cast(Flight, state.units[self.number]).opened
        some = [i for i, one in enumerate(opened) if self._merged_into(one, target, size, value) != one.value]
        return [chosen for count in range(len(some) + 1) for chosen in combinations(some, count)]

    def _merged_into(self, one: Opened, target: int, size: int, value: int) -> int:
        """What an open load returns with bytes that are written."""
        place = one.location
        line = place.insert(0, one.value)
        for location, offset in self.places.segments(target, size, Proxy.ASYNC) or ():
            if location.line == place.line:
                part = value >> 8 * offset & location.mask >> location.shift
                line = location.insert(line, part)
        return place.extract(line)

    def reopened(self, state: State, before: Iterable[int], target: int, size: int, value: int) -> State:
        for number in before:
            part = cast(Flight, state.units[self.number])
            one = part.opened[number]
            one = one._replace(value=self._merged_into(one, target, size, value))
            opened = (*part.opened[:number], one, *part.opened[number + 1 :])
            state = state.with_unit(self.number, part._replace(opened=opened))
            here = state.threads[one.thread]
            destination = one.load.destination
            assert destination is not None
            registers = (*here.registers[:destination], one.load.keep(one.value), *here.registers[destination + 1 :])
            state = state.with_thread(one.thread, here._replace(registers=registers))
        return state
