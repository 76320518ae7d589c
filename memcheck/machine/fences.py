"""Fences: what a thread waits for, what it marks, what it empties (ISA 9.7.15.4).

A release puts a marker into the window: strong operations behind it stay behind all that is before it. An acquire
waits for the strong loads before it and empties the caches below its scope. fence.sc waits until everything before it
is where its scope sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck.machine.levels import ALONE, GPU, SYSTEM
from memcheck.machine.operations import Move, Operation, WindowOperation
from memcheck.machine.state import Entry, State
from memcheck.ptx.qualifiers import Proxy

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


def passed(state: State, thread: int) -> State:
    """The thread goes on to its next operation."""
    here = state.threads[thread]
    return state.with_thread(thread, here.at(here.pc + 1))


class Release(WindowOperation):
    """The marker of a release at a level, in front of what is released or by itself."""

    is_marker = True

    def __init__(self, level: int, fence: bool = False) -> None:
        self.level = level
        self.releases = fence

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        state = passed(state, thread)
        here = state.threads[thread]
        if self.releases and self.level >= GPU:
            here = here._replace(released=here.released | {-1})
            state = state.with_thread(thread, here)
        if not here.window:
            return machine.memory.marker(state, thread, self.level)
        return state.with_thread(thread, here._replace(window=(*here.window, Entry(self, None))))


class RestrictedRelease(WindowOperation):
    """The marker of a release for the lines of `covers` alone, as bits: nothing else before it keeps it back."""

    is_marker = True

    def __init__(self, covers: int) -> None:
        self.covers = covers

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        here = state.threads[thread]
        if any(e.location is not None and self.covers >> e.location.line & 1 for e in here.window):
            here = here._replace(window=(*here.window, Entry(self, None)))
        return state.with_thread(thread, here.at(here.pc + 1))


class Acquire(Operation):
    """Waits for strong loads in flight, then empties the caches; of shared memory alone where it is `restricted`."""

    uses_seen = True

    def __init__(self, level: int, restricted: bool = False) -> None:
        self.level = level
        self.restricted = restricted

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        if any(entry.operation.observes for entry in state.threads[thread].window):
            return None
        if self.restricted:
            return machine.memory.acquire_shared(passed(state, thread), thread)
        return machine.memory.acquire_seen(passed(state, thread), thread, self.level)


class Everything(Operation):
    """fence.sc: the window is empty and nothing is held below the level."""

    uses_seen = True

    def __init__(self, level: int) -> None:
        self.level = level
        self.hands_on = self.in_order = level >= GPU

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        if not self._flushed(machine, state, thread) or (self.in_order and self._others(machine, state, thread)):
            return None
        return self._over(state, machine, thread)

    def moves(self, machine: Machine, state: State, thread: int) -> Sequence[Move]:
        if not self._flushed(machine, state, thread):
            return ()
        return (Move("thread", thread, f"{self.text} is over", self._over_and_on, (machine, thread)),)

    def _flushed(self, machine: Machine, state: State, thread: int) -> bool:
        memory = machine.memory
        return not state.threads[thread].window and memory.flushed(state, memory.levels.sm[thread], self.level)

    @staticmethod
    def _others(machine: Machine, state: State, thread: int) -> bool:
        """Whether the order of fences matters: another may come later, or sooner."""
        return machine.memory.orders and any(
            other != thread and machine.memory.may(state, other) & 4 for other in range(len(state.threads))
        )

    def _over_and_on(self, state: State, machine: Machine, thread: int) -> State:
        return machine.settle(self._over(state, machine, thread), (thread,))

    def _over(self, state: State, machine: Machine, thread: int) -> State:
        memory = machine.memory
        here = state.threads[thread]
        if self.level >= GPU:
            here = here._replace(released=here.released | {-1})
        return memory.acquire_in_order(passed(state.with_thread(thread, here), thread), thread, self.level)


class ProxyFence(Operation):
    """A fence between proxies, or between the addresses of aliases (GENERIC): waits for everything, down to memory."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        memory = machine.memory
        if state.threads[thread].window or not memory.flushed(state, memory.levels.sm[thread], SYSTEM):
            return None
        return memory.proxy_fence(passed(state, thread), thread, self.proxy)


def needed(level: int) -> bool:
    """Whether a fence of this level orders anything for anyone."""
    return level > ALONE
