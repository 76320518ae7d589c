"""Loads, stores and atomics in a thread's window, and the order in which they leave it.

What is there to be performed is performed at any time, and never before something older that overlaps: a store not
before an older access to its bytes, a load not before an older strong load of them. A load is served by the newest
older store of the window where that has all its bytes. A load that is weak may be overtaken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memcheck.machine.levels import ALONE, GPU
from memcheck.machine.operations import Move, Source, WindowOperation, without
from memcheck.machine.state import Entry, Location, State, Thread
from memcheck.ptx.qualifiers import Proxy

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Access(WindowOperation):
    """An access to `size` bytes, served at `level`. `fixed`: where it goes, None where a register says."""

    def __init__(self, address: Source, size: int, level: int, proxy: Proxy, fixed: Location | None) -> None:
        lines = -1 if fixed is None else 1 << fixed.line
        self.reads = lines if self.is_load else 0
        self.writes = lines if self.is_store else 0
        self.fixed = fixed
        self.address = address
        self.size = size
        self.level = level
        self.proxy = proxy
        self.strong = level > ALONE
        self.hands_on = level >= GPU and not self.is_load
        self.check: Callable[[int], bool] = lambda _address: True
        """Whether the whole access, of which this is an element, may go to an address."""
        self.values: tuple[Source, ...] = ()

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        here = state.threads[thread]
        registers = here.registers
        address = self.address(registers)
        location = machine.layout.locate(address, self.size, self.proxy) if self.check(address) else None
        if location is None:
            return machine.trap(state, thread)
        values = tuple(value(registers) for value in self.values)
        releases = self.level >= GPU and not self.is_load and (self.releases or -1 in here.released)
        window = (*here.window, Entry(self, location, values, releases))
        claimed = self.claimed(registers)
        return state.with_thread(thread, Thread(here.pc + 1, claimed, window, here.mode, here.released, here.seen))

    def release_at(self, state: State, thread: int, location: Location) -> State:
        """What the thread writes there from now on belongs to the release that it has performed."""
        here = state.threads[thread]
        if not self.releases or self.level < GPU or location.view in here.released:
            return state
        return state.with_thread(thread, here._replace(released=here.released | {location.view}))

    def is_release(self, state: State, thread: int, entry: Entry) -> bool:
        """Whether a write ends a release pattern of its thread."""
        assert entry.location is not None
        return entry.releases or (self.level >= GPU and entry.location.view in state.threads[thread].released)

    def claimed(self, registers: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Registers while the operation is in flight."""
        return registers


class Load(Access):
    """`destination`: the register's number, None for the sink; `keep`: what it keeps of the bits.

    `noted`: what a unit makes of the load's having returned a value that no store of its thread's window served.
    """

    is_load = True
    noted: Callable[[State, int, Load, Location, int], State] | None = None
    returns = True

    def __init__(
        self,
        address: Source,
        size: int,
        level: int,
        proxy: Proxy,
        fixed: Location | None,
        destination: int | None,
        keep: Callable[[int], int],
        acquires: bool,
    ) -> None:
        super().__init__(address, size, level, proxy, fixed)
        self.destination = destination
        self.keep = keep
        self.observes = self.strong
        self.acquires = self.uses_seen = acquires and self.strong

    def claimed(self, registers: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return _set(registers, self.destination, None)

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        entry = state.threads[thread].window[position]
        location = entry.location
        assert location is not None
        own = forwarding(state.threads[thread].window, position)
        if own is not None:
            return (self._move(machine, state, thread, position, own, "is served by the thread's own store"),)
        memory = machine.memory
        if not memory.clear(state, memory.levels.sm[thread], location, self.level):
            return ()
        found = memory.read(state, thread, location, self.level)
        return [self._move(machine, after, thread, position, value, "returns") for value, after in found]

    def _move(self, machine: Machine, state: State, thread: int, position: int, value: int, what: str) -> Move:
        return Move("thread", thread, f"{self.text} {what}", self._returned, (machine, state, thread, position, value))

    def _returned(
        self, _before: State, machine: Machine, state: State, thread: int, position: int, value: int
    ) -> State:
        here = state.threads[thread]
        location = here.window[position].location
        assert location is not None
        registers = _set(here.registers, self.destination, self.keep(value))
        served = self.noted is not None and forwarding(here.window, position) is not None
        state = state.with_thread(thread, here.having(registers, without(here.window, position)))
        if self.acquires:
            state = machine.memory.acquire_at(state, thread, self.level, location)
        if self.noted is not None and not served:
            state = self.noted(state, thread, self, location, value)
        return machine.settle(state, (thread,))


class Store(Access):
    """`st`; its value is that of the one source."""

    is_store = True

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        del state
        return (Move("thread", thread, f"{self.text} leaves the thread", self._left, (machine, thread, position)),)

    def _left(self, state: State, machine: Machine, thread: int, position: int) -> State:
        here = state.threads[thread]
        entry = here.window[position]
        assert entry.location is not None
        state = state.with_thread(thread, here.having(here.registers, without(here.window, position)))
        location, memory = entry.location, machine.memory
        releases = self.is_release(state, thread, entry)
        state = memory.write(state, thread, location, entry.values[0], self.strong, self.level, releases)
        state = self.release_at(state, thread, location)
        return machine.settle(state, (thread,))


class Atomic(Access):
    """`atom`, `red`: `function` gives what is written from what is found and the operands, None for nothing.

    One whose scope holds no other thread is a load and a store that may come apart.
    """

    returns = True

    def __init__(
        self,
        address: Source,
        size: int,
        level: int,
        proxy: Proxy,
        fixed: Location | None,
        destination: int | None,
        keep: Callable[[int], int],
        function: Callable[[int, tuple[int, ...]], int | None],
        acquires: bool,
        is_red: bool,
    ) -> None:
        super().__init__(address, size, level, proxy, fixed)
        self.reads = self.writes = -1 if fixed is None else 1 << fixed.line
        self.destination = destination
        self.keep = keep
        self.function = function
        self.observes = self.strong and not is_red
        self.acquires = self.uses_seen = acquires and self.observes
        self.write = Store(address, size, ALONE, proxy, fixed)

    def claimed(self, registers: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return _set(registers, self.destination, None)

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        entry = state.threads[thread].window[position]
        location, operands = entry.location, entry.values
        assert location is not None
        memory = machine.memory
        if not memory.clear(state, memory.levels.sm[thread], location, self.level):
            return ()
        if not memory.released(state, thread, self.level):
            return ()
        if self.level == ALONE:
            return [
                self._move(machine, after, thread, position, old, self.function(old, operands))
                for old, after in memory.read(state, thread, location, ALONE)
            ]
        releases = self.is_release(state, thread, entry)
        found = memory.update(
            state, thread, location, self.level, lambda old: self.function(old, operands), releases, self.observes
        )
        return [
            self._move(machine, self._after(after, thread, entry, old), thread, position, old, None)
            for old, after in found
        ]

    def _after(self, state: State, thread: int, entry: Entry, old: int) -> State:
        """A cas that fails releases nothing."""
        assert entry.location is not None
        if self.function(old, entry.values) is None:
            return state
        return self.release_at(state, thread, entry.location)

    def _move(self, machine: Machine, state: State, thread: int, position: int, old: int, left: int | None) -> Move:
        arguments = (machine, state, thread, position, old, left)
        return Move("thread", thread, f"{self.text} is performed", self._performed, arguments)

    def _performed(
        self, _before: State, machine: Machine, state: State, thread: int, position: int, old: int, left: int | None
    ) -> State:
        here = state.threads[thread]
        window = here.window
        location = window[position].location
        assert location is not None
        if left is None:
            window = without(window, position)
        else:
            self.write.text = self.text
            entry = Entry(self.write, location, (left,))
            window = (*window[:position], entry, *window[position + 1 :])
        here = here.having(_set(here.registers, self.destination, self.keep(old)), window)
        state = state.with_thread(thread, here)
        if self.acquires:
            state = machine.memory.acquire_at(state, thread, self.level, location)
        return machine.settle(state, (thread,))


def _set(registers: tuple[int | None, ...], number: int | None, value: int | None) -> tuple[int | None, ...]:
    if number is None:
        return registers
    return (*registers[:number], value, *registers[number + 1 :])


def overlap(a: Location, b: Location) -> bool:
    """Whether two accesses share bytes at one virtual address of one proxy; others know nothing of each other."""
    return a.view == b.view and a.mask & b.mask != 0


def forwarding(window: tuple[Entry, ...], position: int) -> int | None:
    """What a load at `position` gets from a store of its own thread."""
    wanted = window[position].location
    assert wanted is not None
    for entry in reversed(window[:position]):
        location = entry.location
        if location is not None and overlap(location, wanted) and entry.operation.is_store:
            return location.insert(0, entry.values[0]) >> wanted.shift & wanted.mask >> wanted.shift
    return None


def held_up(window: tuple[Entry, ...], position: int) -> bool:
    """Whether something older in the window has to come first."""
    operation, wanted, _, _ = window[position]
    for i in range(position - 1, -1, -1):
        earlier, location, _, _ = window[i]
        if location is None:
            if earlier.is_marker and operation.strong and not operation.is_load:
                return True
        elif wanted is not None and overlap(location, wanted):
            if not operation.is_load or not (earlier.is_store or earlier.is_load):
                return True
            if earlier.is_store:
                # served by it, whatever is older still, where it has all bytes
                return location.mask & wanted.mask != wanted.mask
            if earlier.strong:
                return True
    return False
