"""Grids in an order, and dependent launches (ISA 9.7.15.14).

A grid starts when those before it have ended and all that they and their units did is in memory, with nothing left in
its caches. One that depends on another may start as soon as every CTA of that has launched dependents, or exited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from memcheck.machine.fences import passed
from memcheck.machine.levels import SYSTEM
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move, Operation
from memcheck.machine.state import ENDED, RUNNING, WAITING, State
from memcheck.machine.units import Unit
from memcheck.ptx.asynchronous import GridDependency
from memcheck.ptx.instructions import Instruction

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Grids(Unit):
    """Its part: the grids that have started, and the CTAs that have launched dependents, as bits of grids and SMs."""

    name = "grids"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.grids = sorted({thread.place.grid for thread in machine.test.threads})
        self.members = [[t.index for t in machine.test.threads if t.place.grid == grid] for grid in self.grids]
        self.before: list[set[int]] = [set() for _ in self.grids]
        self.depends: list[set[int]] = [set() for _ in self.grids]
        for order in machine.test.grid_orders:
            table = self.depends if order.programmatic else self.before
            table[self.grids.index(order.after)].add(self.grids.index(order.before))

    def initial(self) -> tuple[int, int]:
        free = [g for g in range(len(self.grids)) if not self.before[g] and not self.depends[g]]
        return sum(1 << g for g in free), 0

    def begin(self, state: State) -> State:
        started, _ = cast("tuple[int, int]", self.part(state))
        for grid, members in enumerate(self.members):
            if not started >> grid & 1:
                for thread in members:
                    state = state.with_thread(thread, state.threads[thread]._replace(mode=WAITING))
        return state

    def over(self, state: State, grids: set[int]) -> bool:
        """Whether grids have ended, with nothing on its way."""
        if any(not self._ended(state, grid) for grid in grids):
            return False
        levels = self.machine.levels
        for grid in grids:
            for thread in self.members[grid]:
                if not self.machine.memory.flushed(state, levels.sm[thread], SYSTEM):
                    return False
        return all(unit.idle(state) for unit in self.machine.units)

    def _ended(self, state: State, grid: int) -> bool:
        threads = (state.threads[thread] for thread in self.members[grid])
        return all(thread.mode == ENDED and not thread.window for thread in threads) and all(
            self._ended(state, earlier) for earlier in self.before[grid]
        )

    def _launched(self, state: State, grid: int) -> bool:
        started, launched = cast("tuple[int, int]", self.part(state))
        if not started >> grid & 1:
            return False
        levels = self.machine.levels
        for sm in {levels.sm[thread] for thread in self.members[grid]}:
            if not launched >> sm & 1 and any(state.threads[t].mode != ENDED for t in levels.threads_of_sm[sm]):
                return False
        return True

    def moves(self, state: State) -> Sequence[Move]:
        started, _ = cast("tuple[int, int]", self.part(state))
        found = []
        for grid in range(len(self.grids)):
            if (
                not started >> grid & 1
                and self.over(state, self.before[grid])
                and all(self._launched(state, g) for g in self.depends[grid])
            ):
                found.append(Move("grids", None, f"grid {self.grids[grid]} starts", self._start, (grid,)))
        return found

    def _start(self, state: State, grid: int) -> State:
        started, launched = cast("tuple[int, int]", self.part(state))
        state = state.with_unit(self.number, (started | 1 << grid, launched))
        for thread in self.members[grid]:
            state = self.clean(state, thread)
            state = state.with_thread(thread, state.threads[thread]._replace(mode=RUNNING))
        return self.machine.settle(state, self.members[grid])

    def clean(self, state: State, thread: int) -> State:
        """Nothing stale is left in the caches on a thread's way to memory."""
        levels, memory = self.machine.levels, self.machine.memory
        sm = levels.sm[thread]
        gpu = levels.gpu[sm]
        if gpu is not None:
            for line in range(len(self.machine.layout.lines)):
                state = memory.fill(state, gpu, line)
        return memory.empty_caches(state, sm)

    def launch(self, state: State, thread: int) -> State:
        """A CTA has launched dependents."""
        started, launched = cast("tuple[int, int]", self.part(state))
        return state.with_unit(self.number, (started, launched | 1 << self.machine.levels.sm[thread]))


class Launch(Operation):
    """`griddepcontrol.launch_dependents`, behind what the releases before it mark."""

    def __init__(self, unit: Grids) -> None:
        self.unit = unit

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        marked = any(entry.operation.is_marker for entry in state.threads[thread].window)
        if marked or not machine.memory.released(state, thread, SYSTEM):
            return None
        return self.unit.launch(passed(state, thread), thread)


class Depend(Operation):
    """`griddepcontrol.wait`: the grids that the own one depends on have ended."""

    def __init__(self, unit: Grids, grids: set[int]) -> None:
        self.unit = unit
        self.grids = grids

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        return None if self.grids else passed(state, thread)

    def moves(self, machine: Machine, state: State, thread: int) -> Sequence[Move]:
        if not self.unit.over(state, self.grids):
            return ()
        return (Move("grids", thread, f"{self.text} is over", self._over, (machine, thread)),)

    def _over(self, state: State, machine: Machine, thread: int) -> State:
        return machine.settle(self.unit.clean(passed(state, thread), thread), (thread,))


def grids(machine: Machine) -> Grids | None:
    """The unit, for a test whose grids are in an order or control dependents."""
    depends = any(isinstance(i, GridDependency) for t in machine.test.threads for i in t.body)
    return Grids(machine) if depends or machine.test.grid_orders else None


def dependency(lowering: Lowering, instruction: Instruction) -> None:
    """`griddepcontrol`."""
    assert isinstance(instruction, GridDependency)
    unit = lowering.machine.unit(Grids)
    if instruction.launch:
        lowering.add(Launch(unit), instruction)
    else:
        own = unit.grids.index(lowering.thread.place.grid)
        lowering.add(Depend(unit, unit.depends[own]), instruction)
