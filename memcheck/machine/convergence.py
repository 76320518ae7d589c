"""Independent thread scheduling: convergence barriers B0 to B14, which lanes of a warp wait at for one another.

BSSY makes a lane a member of a barrier in front of a divergent region, BSYNC holds it behind the region until all
members have come. BREAK takes a lane out that leaves the region by an exit. A lane that has executed YIELD, in a loop
that waits for something, or that a barrier or a collective holds, is not waited for: so a lane that spins never keeps
back the one that it waits for. BMOV keeps a barrier in a register where there are too few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck.language.test import Thread
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move
from memcheck.machine.regions import BARRIERS, Region, sleeps, yields
from memcheck.machine.registers import Jump
from memcheck.machine.state import RUNNING, WAITING, State
from memcheck.machine.warps import Mark, Warps, lanes
from memcheck.ptx.instructions import Branch, Exit

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Barrier(NamedTuple):
    """A convergence barrier: lanes as bits. `aside`: members that the others do not wait for."""

    members: int = 0
    waiting: int = 0
    aside: int = 0


Part = tuple[tuple[Barrier, ...], ...]
_EMPTY = (Barrier(),) * BARRIERS


class Convergence(Warps):
    """Its part: for each warp its barriers."""

    name = "convergence"

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.kept: dict[tuple[int, Region], int] = {}
        """By thread and region: the register that keeps the barrier of the region around it."""

    @property
    def matters(self) -> bool:
        return any(self.regions.values())

    def initial(self) -> Part:
        return (_EMPTY,) * len(self.warps)

    def before(self, lowering: Lowering, index: int) -> None:
        thread = lowering.thread
        found = self.regions.get(thread.index, ())
        if not found:
            return
        for region in reversed(found):
            if region.end == index:
                lowering.operations.append(Bsync(self, region.barrier))
                if region.spills:
                    lowering.operations.append(Restore(self, region.barrier, self._register(lowering, region)))
        for region in found:
            if region.entry == index:
                if region.spills:
                    lowering.operations.append(Spill(self, region.barrier, self._register(lowering, region)))
                lowering.operations.append(Bssy(self, region.barrier))
        instruction = thread.body[index]
        inside = [region.barrier for region in reversed(found) if index in region.body]
        if isinstance(instruction, Exit):
            for barrier in inside:
                lowering.add(Break(self, barrier), instruction)
        elif inside and sleeps(instruction):
            lowering.add(Yield(self, "NANOSLEEP"), instruction)

    def branch(self, thread: Thread, instruction: Branch, jump: Jump) -> Jump:
        index = thread.body.index(instruction)
        inside = any(index in region.body for region in self.regions.get(thread.index, ()))
        return Back(self, jump) if inside and yields(thread, index) else jump

    def _register(self, lowering: Lowering, region: Region) -> int:
        key = lowering.thread.index, region
        if key not in self.kept:
            number = lowering.target(lowering.hidden(32))
            assert number is not None
            lowering.needs.discard(number)
            self.kept[key] = number
        return self.kept[key]

    def barrier(self, state: State, thread: int, number: int) -> Barrier:
        """A barrier of a thread's warp."""
        return cast(Part, self.part(state))[self.warp_of[thread]][number]

    def set(self, state: State, warp: int, number: int, barrier: Barrier) -> State:
        """The state with another barrier, whose lanes go on if no member is missing."""
        released = barrier.waiting if barrier.waiting and not barrier.members & ~barrier.waiting else 0
        if released:
            barrier = Barrier(aside=barrier.aside)
        part = cast(Part, self.part(state))
        file = part[warp]
        file = (*file[:number], barrier, *file[number + 1 :])
        state = state.with_unit(self.number, (*part[:warp], file, *part[warp + 1 :]))
        threads = self.threads(warp, released)
        for thread in threads:
            here = state.threads[thread]
            state = state.with_thread(thread, here._replace(pc=here.pc + 1, mode=RUNNING))
        return self.machine.settle(state, threads) if threads else state

    def pass_by(self, state: State, warp: int, mask: int) -> State:
        """Nobody waits for some lanes any longer."""
        for number in range(BARRIERS):
            barrier = cast(Part, self.part(state))[warp][number]
            aside = barrier.members & mask & ~barrier.waiting
            if aside:
                state = self.set(
                    state, warp, number, Barrier(barrier.members & ~aside, barrier.waiting, barrier.aside | aside)
                )
        return state

    def moves(self, state: State) -> Sequence[Move]:
        """Lanes that something else holds are passed by."""
        found = []
        for warp, file in enumerate(cast(Part, self.part(state))):
            waiting = held = 0
            for barrier in file:
                waiting |= barrier.waiting
                held |= barrier.members if barrier.waiting else 0
            mask = self.mask([t for t in self.threads(warp, held & ~waiting) if state.threads[t].mode == WAITING])
            if mask:
                text = f"{lanes(mask)} waiting elsewhere: the others go on"
                found.append(Move(self.name, None, text, self.pass_by, (warp, mask)))
        return found

    def shown(self, state: State) -> Mapping[str, str]:
        return {
            f"B{number}{self.name_of(warp)}": _words(barrier)
            for warp, file in enumerate(cast(Part, self.part(state)))
            for number, barrier in enumerate(file)
            if barrier != Barrier()
        }


def _words(barrier: Barrier) -> str:
    parts = [f"for {lanes(barrier.members)}"] if barrier.members else []
    parts += [f"{lanes(barrier.waiting)} waiting"] if barrier.waiting else []
    return ", ".join([*parts, f"{lanes(barrier.aside)} aside"] if barrier.aside else parts)


class BarrierMark(Mark):
    """An operation on a convergence barrier."""

    unit: Convergence
    name = ""

    def __init__(self, unit: Convergence, barrier: int) -> None:
        super().__init__(unit, f"{self.name} B{barrier}")
        self.barrier = barrier


class Bssy(BarrierMark):
    """The lane becomes a member; in a loop it is one already."""

    name = "BSSY"

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit, bit = self.unit, self.unit.bit(thread)
        barrier = unit.barrier(state, thread, self.barrier)
        if not (barrier.members | barrier.aside) & bit:
            barrier = barrier._replace(members=barrier.members | bit)
            state = unit.set(state, unit.warp_of[thread], self.barrier, barrier)
        return self.next(state, thread)


class Bsync(BarrierMark):
    """A member waits until every other has come; who is none, or stands aside, goes on."""

    name = "BSYNC"

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit, bit = self.unit, self.unit.bit(thread)
        barrier = unit.barrier(state, thread, self.barrier)
        if not barrier.members & bit:
            barrier = barrier._replace(aside=barrier.aside & ~bit)
            return self.next(unit.set(state, unit.warp_of[thread], self.barrier, barrier), thread)
        state = state.with_thread(thread, state.threads[thread]._replace(mode=WAITING))
        barrier = barrier._replace(waiting=barrier.waiting | bit)
        return unit.set(state, unit.warp_of[thread], self.barrier, barrier)


class Break(BarrierMark):
    """The lane is no member any more."""

    name = "BREAK"

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit, bit = self.unit, self.unit.bit(thread)
        members, waiting, aside = unit.barrier(state, thread, self.barrier)
        state = self.next(state, thread)
        return unit.set(state, unit.warp_of[thread], self.barrier, Barrier(members & ~bit, waiting, aside & ~bit))


class Back(Jump):
    """A branch back with its YIELD: the lane that takes it stands aside."""

    def __init__(self, unit: Convergence, jump: Jump) -> None:
        super().__init__(jump.taken)
        self.unit = unit
        self.falls_through = jump.falls_through

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        after = super().start(machine, state, thread)
        if after is None or after.threads[thread].pc != self.target:
            return after
        return self.unit.pass_by(after, self.unit.warp_of[thread], self.unit.bit(thread))


class Yield(Mark):
    """NANOSLEEP, which yields: the lane stands aside."""

    unit: Convergence

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit = self.unit
        return unit.pass_by(self.next(state, thread), unit.warp_of[thread], unit.bit(thread))


class Spill(BarrierMark):
    """BMOV.32.CLEAR: the lane's membership goes into a register, if that keeps none yet."""

    name = "BMOV.32.CLEAR"

    def __init__(self, unit: Convergence, barrier: int, register: int) -> None:
        super().__init__(unit, barrier)
        self.register = register

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit, bit, here = self.unit, self.unit.bit(thread), state.threads[thread]
        state = self.next(state, thread)
        barrier = unit.barrier(state, thread, self.barrier)
        if here.registers[self.register] or not barrier.members & bit:
            return state
        state = state.with_thread(thread, state.threads[thread].holding(self.register, bit))
        return unit.set(state, unit.warp_of[thread], self.barrier, barrier._replace(members=barrier.members & ~bit))


class Restore(Spill):
    """BMOV.32: the lane is a member again."""

    name = "BMOV.32"

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        unit, kept = self.unit, state.threads[thread].registers[self.register] or 0
        state = self.next(state, thread)
        if not kept:
            return state
        state = state.with_thread(thread, state.threads[thread].holding(self.register, 0))
        barrier = unit.barrier(state, thread, self.barrier)
        return unit.set(state, unit.warp_of[thread], self.barrier, barrier._replace(members=barrier.members | kept))
