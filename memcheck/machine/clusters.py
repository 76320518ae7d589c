"""Cluster barriers (ISA 9.7.15.3): all threads of a cluster that have not exited arrive, then wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memcheck.machine.fences import Release, needed, passed
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Operation
from memcheck.machine.state import ENDED, State
from memcheck.machine.units import Unit
from memcheck.ptx.instructions import ClusterBarrier, Instruction
from memcheck.ptx.qualifiers import Scope, Sem

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class ClusterBarriers(Unit):
    """Its part, by cluster, as bits: the threads that have arrived in this phase, those that have not waited since."""

    name = "cluster barriers"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        threads = machine.test.threads
        self.clusters = sorted({thread.place.cluster for thread in threads})
        self.members = [[t.index for t in threads if t.place.cluster == cluster] for cluster in self.clusters]
        self.cluster = [self.clusters.index(thread.place.cluster) for thread in threads]

    def initial(self) -> tuple[tuple[int, int], ...]:
        return ((0, 0),) * len(self.clusters)

    def bits(self, state: State, thread: int) -> tuple[int, int]:
        """Of a thread's cluster: who has arrived, and who has not waited since."""
        return cast("tuple[tuple[int, int], ...]", self.part(state))[self.cluster[thread]]

    def with_bits(self, state: State, thread: int, bits: tuple[int, int]) -> State:
        """The state with other bits for a thread's cluster."""
        part = cast("tuple[tuple[int, int], ...]", self.part(state))
        cluster = self.cluster[thread]
        return state.with_unit(self.number, (*part[:cluster], bits, *part[cluster + 1 :]))

    def complete(self, state: State, thread: int) -> State:
        """Begins the next phase if all threads of the cluster that have not exited have arrived."""
        arrived, unwaited = self.bits(state, thread)
        members = self.members[self.cluster[thread]]
        if not arrived or any(not arrived >> t & 1 and state.threads[t].mode != ENDED for t in members):
            return state
        return self.machine.settle(self.with_bits(state, thread, (0, unwaited)), members)

    def exited(self, state: State, thread: int) -> State:
        return self.complete(state, thread)


class ClusterArrive(Operation):
    """`barrier.cluster.arrive`, behind what the releases before it mark."""

    def __init__(self, unit: ClusterBarriers, level: int) -> None:
        self.unit = unit
        self.level = level

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        if any(entry.operation.is_marker for entry in state.threads[thread].window):
            return None
        if not machine.memory.released(state, thread, self.level):
            return None
        arrived, unwaited = self.unit.bits(state, thread)
        if unwaited >> thread & 1:
            return machine.trap(state, thread)
        state = self.unit.with_bits(state, thread, (arrived | 1 << thread, unwaited | 1 << thread))
        return self.unit.complete(passed(state, thread), thread)


class ClusterWait(Operation):
    """`barrier.cluster.wait`: the phase of the thread's arrival is complete."""

    def __init__(self, unit: ClusterBarriers, level: int) -> None:
        self.unit = unit
        self.level = level

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        arrived, unwaited = self.unit.bits(state, thread)
        if not unwaited >> thread & 1:
            return machine.trap(state, thread)
        if arrived >> thread & 1:
            return None
        state = self.unit.with_bits(passed(state, thread), thread, (arrived, unwaited & ~(1 << thread)))
        return machine.memory.acquire(state, thread, self.level)


def cluster_barriers(machine: Machine) -> ClusterBarriers | None:
    """The unit, for a test with cluster barriers."""
    found = any(isinstance(i, ClusterBarrier) for t in machine.test.threads for i in t.body)
    return ClusterBarriers(machine) if found else None


def cluster_barrier(lowering: Lowering, instruction: Instruction) -> None:
    """`barrier.cluster.arrive|wait`."""
    assert isinstance(instruction, ClusterBarrier)
    unit = lowering.machine.unit(ClusterBarriers)
    level = lowering.level(Scope.CLUSTER)
    if not instruction.arrive:
        lowering.add(ClusterWait(unit, level), instruction)
        return
    if instruction.sem is not Sem.RELAXED and needed(level):
        lowering.add(Release(level), instruction)
    lowering.add(ClusterArrive(unit, level), instruction)
