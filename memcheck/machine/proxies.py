"""Proxy fences of asynchronous operations (ISA 9.7.15.4).

Each waits until all that its thread did is in memory. One of the async proxy then lets no SM's engine see anything
older, which is more than it has to. Those of tensor maps come in pairs: a release marks what an acquire finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memcheck.machine import instructions
from memcheck.machine.engine import Engine
from memcheck.machine.fences import passed
from memcheck.machine.levels import GPU, SYSTEM
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move, Operation, Source
from memcheck.machine.staleness import acquire, clean, mark
from memcheck.machine.state import State
from memcheck.ptx.instructions import Instruction, ProxyFence
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Proxied(Operation):
    """Waits for all that the thread did, down to memory."""

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        memory = machine.memory
        if state.threads[thread].window or not memory.flushed(state, memory.levels.sm[thread], SYSTEM):
            return None
        return self.act(machine, passed(state, thread), thread)

    def act(self, machine: Machine, state: State, thread: int) -> State:
        """What the fence does then."""
        raise NotImplementedError


class Asynchronous(Proxied):
    """`fence.proxy.async`: of `lines` the async proxy sees nothing older, nor do loads see what it writes later."""

    def __init__(self, lines: Sequence[int]) -> None:
        self.lines = lines

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        if any(isinstance(u, Engine) and u.may_come_first(state, thread, self.lines) for u in machine.units):
            return None
        return super().start(machine, state, thread)

    def moves(self, machine: Machine, state: State, thread: int) -> Sequence[Move]:
        if super().start(machine, state, thread) is None:
            return ()
        return (Move("thread", thread, f"{self.text} is over", self._over, (machine, thread)),)

    def _over(self, state: State, machine: Machine, thread: int) -> State:
        after = super().start(machine, state, thread)
        assert after is not None
        return machine.settle(after, (thread,))

    def act(self, machine: Machine, state: State, thread: int) -> State:
        del thread
        state = clean(machine, state, Proxy.ASYNC, self.lines)
        for unit in machine.units:
            if isinstance(unit, Engine):
                state = unit.close(state, self.lines)
        return state


class Publish(Proxied):
    """`fence.proxy.tensormap::generic.release`: of what memory has, for SMs in its scope that acquire."""

    def __init__(self, scope: Scope | None) -> None:
        self.scope = scope

    def act(self, machine: Machine, state: State, thread: int) -> State:
        reach = machine.levels.of(thread, self.scope)
        own, sms = machine.levels.sm[thread], range(len(machine.levels.ctas))
        return mark(machine, state, Proxy.TENSORMAP, range(len(machine.layout.lines)), sms if reach >= GPU else (own,))


class Subscribe(Proxied):
    """`fence.proxy.tensormap::generic.acquire`: of a range."""

    def __init__(self, covers: Callable[[Sequence[int | None]], Iterable[int]]) -> None:
        self.covers = covers

    def act(self, machine: Machine, state: State, thread: int) -> State:
        lines = self.covers(state.threads[thread].registers)
        return acquire(machine, state, Proxy.TENSORMAP, lines, machine.levels.sm[thread])


def fence(lowering: Lowering, instruction: Instruction) -> None:
    """`fence.proxy.*`. A one-directional fence of the async proxy does here what a full one does."""
    assert isinstance(instruction, ProxyFence)
    if instruction.proxy in (FenceProxy.ASYNC, FenceProxy.ASYNC_GENERIC):
        lowering.add(Asynchronous(_of_space(lowering, instruction.space)), instruction)
    elif instruction.proxy is not FenceProxy.TENSORMAP_GENERIC:
        instructions.proxy_fence(lowering, instruction)
    elif instruction.sem is Sem.ACQUIRE:
        lowering.add(Subscribe(_of_range(lowering, instruction)), instruction)
    else:
        lowering.add(Publish(instruction.scope), instruction)


def _of_space(lowering: Lowering, space: Space | None) -> list[int]:
    """The lines of a state space, as the thread has it."""
    own = lowering.thread.place.cta
    found = []
    for number, line in enumerate(lowering.layout.lines):
        inside = space is None or space is Space.GENERIC
        if space is Space.GLOBAL:
            inside = line.cta is None
        elif space is Space.SHARED_CTA:
            inside = line.cta == own
        elif space is Space.SHARED_CLUSTER:
            inside = line.cta is not None
        if inside:
            found.append(number)
    return found


def _of_range(lowering: Lowering, instruction: ProxyFence) -> Callable[[Sequence[int | None]], Iterable[int]]:
    """The lines that an acquire is for."""
    assert instruction.address is not None
    address: Source = lowering.address(instruction.address, Space.GENERIC)
    size = instruction.size or 0
    layout = lowering.layout

    def lines(registers: Sequence[int | None]) -> Iterable[int]:
        first = address(registers)
        region = layout.region(first, 1)
        if region is None:
            return ()
        last = min(first + size, region.base + region.size) - 1
        return range(
            layout.line_at(region.physical + first - region.base),
            layout.line_at(region.physical + last - region.base) + 1,
        )

    return lines
