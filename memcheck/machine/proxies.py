"""Proxy fences of asynchronous operations, and what engines' writes do to the caches (ISA 9.7.15.4).

Such a fence waits until all that its thread did is in memory, then lets the async proxy, or the tensormap proxy, see
nothing older. It does so for all SMs, which is more than it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memcheck.machine import instructions
from memcheck.machine.fences import passed
from memcheck.machine.levels import SYSTEM
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Operation, Source
from memcheck.machine.state import State
from memcheck.ptx.instructions import Instruction, ProxyFence
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Sem, Space

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


def clean(machine: Machine, state: State, proxy: Proxy, lines: Iterable[int]) -> State:
    """Nothing older than what memory has is left of the lines in the caches of a proxy."""
    memory, levels = machine.memory, machine.levels
    for line in lines:
        for gpu in range(len(levels.gpus)):
            state = memory.fill(state, gpu, line)
        for sm in range(len(levels.ctas)):
            for view, position in memory.over[sm].get(line, ()):
                versions = state.sms[sm].views[position]
                if len(versions) > 1 and machine.layout.views[view].proxy is proxy:
                    state = memory._with_versions(state, sm, position, (versions[-1] & ~1,))
    return state


def mark(machine: Machine, state: State, line: int) -> State:
    """Whoever acquires from now on does not find the line as it was before a write of an engine."""
    memory = machine.memory
    for sm in range(len(machine.levels.ctas)):
        for view, position in memory.over[sm].get(line, ()):
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and memory.is_generic(view):
                state = memory._with_versions(state, sm, position, (*versions[:-1], versions[-1] | 1))
    return state


def refresh(machine: Machine, state: State, thread: int, lines: int) -> State:
    """The SM of a thread sees what the engine has written to lines, given as bits."""
    memory, levels = machine.memory, machine.levels
    sm = levels.sm[thread]
    gpu = levels.gpu[sm]
    for line in range(lines.bit_length()):
        if not lines >> line & 1:
            continue
        if gpu is not None:
            state = memory.fill(state, gpu, line)
        for view, position in memory.over[sm].get(line, ()):
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and memory.is_generic(view):
                state = memory._with_versions(state, sm, position, (versions[-1] & ~1,))
    return state


class Publish(Operation):
    """Waits for all that the thread did; then a proxy sees nothing older of the lines that `covers` gives."""

    def __init__(self, proxy: Proxy, covers: Callable[[tuple[int | None, ...]], Iterable[int]]) -> None:
        self.proxy = proxy
        self.covers = covers

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        memory = machine.memory
        if state.threads[thread].window or not memory.flushed(state, memory.levels.sm[thread], SYSTEM):
            return None
        lines = self.covers(state.threads[thread].registers)
        return clean(machine, passed(state, thread), self.proxy, lines)


def fence(lowering: Lowering, instruction: Instruction) -> None:
    """`fence.proxy.*`. A one-directional fence of the async proxy does here what a full one does."""
    assert isinstance(instruction, ProxyFence)
    if instruction.proxy in (FenceProxy.ASYNC, FenceProxy.ASYNC_GENERIC):
        lines = _of_space(lowering, instruction.space)
        lowering.add(Publish(Proxy.ASYNC, lambda _registers: lines), instruction)
    elif instruction.proxy is FenceProxy.TENSORMAP_GENERIC:
        lowering.add(Publish(Proxy.TENSORMAP, _of_range(lowering, instruction)), instruction)
    else:
        instructions.proxy_fence(lowering, instruction)


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


def _of_range(lowering: Lowering, instruction: ProxyFence) -> Callable[[tuple[int | None, ...]], Iterable[int]]:
    """The lines that an acquire is for; none for a release."""
    if instruction.sem is not Sem.ACQUIRE or instruction.address is None:
        return lambda _registers: ()
    address: Source = lowering.address(instruction.address, Space.GENERIC)
    size = instruction.size or 0
    layout = lowering.layout

    def lines(registers: tuple[int | None, ...]) -> Iterable[int]:
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
