"""What the machine is in at one moment: immutable and hashable, so that a search can tell states apart."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memcheck.machine.operations import WindowOperation

RUNNING = 0
ENDED = 1
WAITING = 2
"""Modes of a thread: it issues, it has exited, a unit holds it at its instruction."""


class Location(NamedTuple):
    """Where an access goes: a physical line, the bits of it, and the virtual line and proxy that it is seen through."""

    line: int
    view: int
    mask: int
    shift: int

    def extract(self, value: int) -> int:
        """The accessed bits of a line's value."""
        return (value & self.mask) >> self.shift

    def insert(self, value: int, bits: int) -> int:
        """A line's value with the accessed bits replaced."""
        return value & ~self.mask | bits << self.shift


class Entry(NamedTuple):
    """An operation in a thread's window. `values`: what a store writes, the operands of an atomic, else empty.

    `releases`: it is the strong write of a release pattern.
    """

    operation: WindowOperation
    location: Location | None
    values: tuple[int, ...] = ()
    releases: bool = False


class Thread(NamedTuple):
    """`registers` by number, None while a load that writes it is in flight. `window`: issued, not performed; oldest
    first.

    `released`: the views that it has released at, -1 for a fence: strong writes there release. `seen`: by view, what
    the releases that its strong loads have observed hand on to an acquire.
    """

    pc: int
    registers: tuple[int | None, ...]
    window: tuple[Entry, ...]
    mode: int = RUNNING
    released: frozenset[int] = frozenset()
    seen: tuple[tuple[int, int], ...] = ()

    def at(self, pc: int) -> Thread:
        """The thread at another operation."""
        return Thread(pc, self.registers, self.window, self.mode, self.released, self.seen)

    def having(self, registers: tuple[int | None, ...], window: tuple[Entry, ...]) -> Thread:
        """The thread with other registers and another window."""
        return Thread(self.pc, registers, window, self.mode, self.released, self.seen)

    def holding(self, number: int, value: int) -> Thread:
        """The thread with another value in a register."""
        registers = (*self.registers[:number], value, *self.registers[number + 1 :])
        return self.having(registers, self.window)


class Held(NamedTuple):
    """A write that has reached a level and not the one above; with no location the marker of a release.

    `strong`: it may not pass markers of its thread. A marker leaves when all before it have left, to the level above
    where `level` is higher. `releases`: as in the window.
    """

    thread: int
    location: Location | None
    value: int = 0
    strong: bool = False
    level: int = 0
    releases: bool = False


class Level(NamedTuple):
    """One SM, or the L2 of one of several GPUs.

    An SM has `views`: by view, the values that a line of its caches can still have, oldest first; each is twice the
    value, plus 1 where an acquire may not go behind it. An L2 has `lines`, its copy of memory.
    `held`: writes on their way up, in order of arrival. `floors`: see `stamps`.
    """

    views: tuple[tuple[int, ...], ...] = ()
    lines: tuple[int, ...] = ()
    held: tuple[Held, ...] = ()
    floors: int = 0


class State(NamedTuple):
    """`memory`: the value of every line at the end of all writing, of shared memory in the CTA that has it.

    `units`: what is each unit's own, by its number. `clock`, `order`: see `stamps`.
    """

    threads: tuple[Thread, ...]
    memory: tuple[int, ...]
    sms: tuple[Level, ...]
    gpus: tuple[Level, ...]
    units: tuple[Hashable, ...] = ()
    clock: int = 0
    order: int = 0

    def with_thread(self, index: int, thread: Thread) -> State:
        threads = (*self.threads[:index], thread, *self.threads[index + 1 :])
        return State(threads, self.memory, self.sms, self.gpus, self.units, self.clock, self.order)

    def with_unit(self, number: int, part: Hashable) -> State:
        units = self.units
        return self._replace(units=(*units[:number], part, *units[number + 1 :]))
