"""What caches and proxies may still show of the past, and what ends it.

Each SM keeps, for some lines, the values that they have had (see `memory`). A read through the async or the tensormap
proxy may find any of them until a proxy fence. So may a weak load of shared memory of what other CTAs and engines write
there, until its SM acquires: the load was issued early, before a wait that acquires nothing had returned. Only tests
with such a wait have this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memcheck.machine import clusters, instructions, mbarriers
from memcheck.machine.accesses import Access, Load, Store
from memcheck.machine.fences import passed
from memcheck.machine.levels import ALONE
from memcheck.machine.lowering import Lower, Lowering
from memcheck.machine.operations import Operation
from memcheck.machine.state import State
from memcheck.machine.units import Unit
from memcheck.ptx.asynchronous import MbarrierWait
from memcheck.ptx.instructions import ClusterBarrier, Fence, Instruction
from memcheck.ptx.qualifiers import Proxy, Sem

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


def stale(machine: Machine, state: State, proxy: Proxy, lines: Iterable[int]) -> int:
    """Those of some lines, as bits, of which a cache of a proxy has something older than memory."""
    memory, found = machine.memory, 0
    for line in lines:
        for sm in range(len(machine.levels.ctas)):
            for view, position in memory.over[sm].get(line, ()):
                if len(state.sms[sm].views[position]) > 1 and machine.layout.views[view].proxy is proxy:
                    found |= 1 << line
    return found


def mark(machine: Machine, state: State, proxy: Proxy, lines: Iterable[int], sms: Iterable[int]) -> State:
    """What the lines are now is released: who acquires from now on, for the proxy, finds nothing older."""
    memory = machine.memory
    for line in lines:
        for sm in sms:
            for view, position in memory.over[sm].get(line, ()):
                versions = state.sms[sm].views[position]
                if len(versions) > 1 and machine.layout.views[view].proxy is proxy:
                    state = memory._with_versions(state, sm, position, (*versions[:-1], versions[-1] | 1))
    return state


def acquire(machine: Machine, state: State, proxy: Proxy, lines: Iterable[int], sm: int) -> State:
    """An SM finds of the lines nothing older than what has been released."""
    memory = machine.memory
    for line in lines:
        for view, position in memory.over[sm].get(line, ()):
            versions = state.sms[sm].views[position]
            if len(versions) == 1 or machine.layout.views[view].proxy is not proxy:
                continue
            kept = next((i for i in range(len(versions) - 1, 0, -1) if versions[i] & 1), 0)
            if kept:
                state = memory._with_versions(state, sm, position, (versions[kept] & ~1, *versions[kept + 1 :]))
    return state


def refresh(machine: Machine, state: State, sm: int, lines: Iterable[int]) -> State:
    """The loads of an SM find nothing older than what memory has."""
    memory, gpu = machine.memory, machine.levels.gpu[sm]
    for line in lines:
        if gpu is not None:
            state = memory.fill(state, gpu, line)
        for view, position in memory.over[sm].get(line, ()):
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and memory.is_generic(view):
                state = memory._with_versions(state, sm, position, (versions[-1] & ~1,))
    return state


def renew(machine: Machine, state: State, line: int, address: int) -> State:
    """Generic loads find nothing older at an address of a line than what memory has, but for early ones."""
    memory = machine.memory
    early = next((unit.lines for unit in machine.units if isinstance(unit, Early)), {})
    for sm in range(len(machine.levels.ctas)):
        if line in early.get(sm, ()):
            continue
        for view, position in memory.over[sm].get(line, ()):
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and memory.is_generic(view) and machine.layout.views[view].address == address:
                state = memory._with_versions(state, sm, position, (versions[-1] & ~1,))
    return state


class Early(Unit):
    """Loads of shared memory that are issued early. `lines`: those of which a load may find the past, by SM."""

    name = "shared memory"

    def __init__(self, machine: Machine, sms: Iterable[int]) -> None:
        self.machine = machine
        self.lines: dict[int, list[int]] = {sm: [] for sm in sms}

    def ready(self) -> None:
        """Only lines that weak loads and stores alone access: what is strong is coherent."""
        machine = self.machine
        loaded: list[tuple[int, int, int]] = []
        excluded: set[int] = set()
        for thread, code in enumerate(machine.code):
            sm = machine.levels.sm[thread]
            for operation in code:
                if not isinstance(operation, Access):
                    continue
                if operation.fixed is None and isinstance(operation, mbarriers.Update | mbarriers.Wait):
                    continue
                weak = type(operation) in (Load, Store) and operation.level == ALONE
                for view in machine.places(operation):
                    line = machine.layout.views[view].line
                    if not weak:
                        excluded.add(line)
                    elif operation.is_load and sm in self.lines and machine.memory.home[line] is not None:
                        loaded.append((sm, line, view))
        for sm, line, view in loaded:
            if line not in excluded:
                machine.memory.track(sm, view)
                if line not in self.lines[sm]:
                    self.lines[sm].append(line)

    def freshen(self, state: State, sm: int) -> State:
        """The SM has acquired."""
        return refresh(self.machine, state, sm, self.lines.get(sm, ()))


class Freshen(Operation):
    """After what acquires: waits for the strong reads before it."""

    def __init__(self, unit: Early) -> None:
        self.unit = unit

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        if any(entry.operation.observes for entry in state.threads[thread].window):
            return None
        return self.unit.freshen(passed(state, thread), machine.levels.sm[thread])


def early(machine: Machine) -> Early | None:
    """The unit, for a test in which some wait for an mbarrier acquires nothing."""
    sms = {
        machine.levels.sm[thread.index]
        for thread in machine.test.threads
        for instruction in thread.body
        if isinstance(instruction, MbarrierWait) and not mbarriers.acquires(machine, thread, instruction)
    }
    return Early(machine, sorted(sms)) if sms else None


def fence(lowering: Lowering, instruction: Instruction) -> None:
    """`fence`; early loads are over where it acquires from someone."""
    assert isinstance(instruction, Fence)
    instructions.fence(lowering, instruction)
    if instruction.sem is not Sem.RELEASE and mbarriers.reaches(lowering.machine, lowering.thread, instruction.scope):
        _freshen(lowering, instruction)


def cluster_barrier(lowering: Lowering, instruction: Instruction) -> None:
    """`barrier.cluster`; its wait acquires."""
    assert isinstance(instruction, ClusterBarrier)
    clusters.cluster_barrier(lowering, instruction)
    if not instruction.arrive:
        _freshen(lowering, instruction)


def _freshen(lowering: Lowering, instruction: Instruction) -> None:
    for unit in lowering.machine.units:
        if isinstance(unit, Early):
            lowering.add(Freshen(unit), instruction)


def wait(lowering: Lowering, instruction: Instruction) -> None:
    """A wait for an mbarrier; one that acquires ends what early loads may find."""
    mbarriers.wait(lowering, instruction)
    operation = lowering.operations[-1]
    assert isinstance(operation, mbarriers.Wait)
    for unit in lowering.machine.units:
        if isinstance(unit, Early):
            operation.acquired = unit.freshen


LOWERINGS: dict[type[Instruction], Lower] = {
    Fence: fence,
    ClusterBarrier: cluster_barrier,
    MbarrierWait: wait,
}
