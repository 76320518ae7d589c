"""The scheduling of GPUs before Volta: one program counter for a warp, and a stack of lanes that wait for their turn.

A divergent branch goes on with the lanes of one side; those of the other have their turn when these have come to where
the two meet again, or have exited. Lanes that wait for what a lane with a later turn would do wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck.language.test import Thread
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move
from memcheck.machine.registers import Jump
from memcheck.machine.state import RUNNING, State
from memcheck.machine.warps import Mark, Warps, lanes
from memcheck.ptx.instructions import Branch

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

HELD = 4
"""Mode of a thread: it is not its lane's turn, or its warp is not complete at a branch."""


class Entry(NamedTuple):
    """Lanes of a stack: those of a branch's other side, or with a `region` all that meet again at its end."""

    lanes: int
    region: int | None = None


class Turn(NamedTuple):
    """A warp: the lanes whose turn it is; of them those that have come to a branch, and those that take it.

    `stack`: who has a turn later, the next one last. `bodies`: lanes that have not started, by body.
    """

    active: int = 0
    come: int = 0
    taken: int = 0
    stack: tuple[Entry, ...] = ()
    bodies: tuple[int, ...] = ()


Part = tuple[Turn, ...]


class Stack(Warps):
    """Its part: for each warp whose turn it is."""

    name = "stack"

    def initial(self) -> Part:
        return tuple(
            Turn(self.mask(groups[0])) if len(groups) == 1 else Turn(bodies=tuple(self.mask(group) for group in groups))
            for groups in self.alike
        )

    def before(self, lowering: Lowering, index: int) -> None:
        thread = lowering.thread.index
        if index == 0 and thread in self.warp_of:
            lowering.operations.append(Begin(self, "its turn"))
        found = list(enumerate(self.regions.get(thread, ())))
        for number, region in reversed(found):
            if region.end == index:
                lowering.operations.append(Meet(self, number))
        for number, region in found:
            if region.entry == index:
                lowering.operations.append(Push(self, number))

    def branch(self, thread: Thread, instruction: Branch, jump: Jump) -> Jump:
        del instruction
        parts = jump.falls_through and len(self.mates(thread.index)) > 1
        return Divide(self, jump) if parts else jump

    def turn(self, state: State, warp: int) -> Turn:
        """Whose turn it is in a warp."""
        return cast(Part, self.part(state))[warp]

    def set(self, state: State, warp: int, turn: Turn) -> State:
        """The state with another turn."""
        part = cast(Part, self.part(state))
        return state.with_unit(self.number, (*part[:warp], turn, *part[warp + 1 :]))

    def _with_mode(self, state: State, threads: Sequence[int], mode: int) -> State:
        for thread in threads:
            state = state.with_thread(thread, state.threads[thread]._replace(mode=mode))
        return state

    def come(self, state: State, thread: int, takes: bool = False) -> State:
        """A lane has come to where the warp does something together."""
        warp, bit = self.warp_of[thread], self.bit(thread)
        turn = self.turn(state, warp)
        turn = turn._replace(come=turn.come | bit, taken=turn.taken | bit if takes else turn.taken)
        state = self._with_mode(self.set(state, warp, turn), [thread], HELD)
        return self._together(state, warp)

    def _together(self, state: State, warp: int) -> State:
        """What follows when all lanes have come; a branch with lanes on both sides is a move."""
        turn = self.turn(state, warp)
        if not turn.active:
            return self._next(state, warp)
        if turn.come != turn.active:
            return state
        thread = self.threads(warp, turn.come)[0]
        mark = self.machine.code[thread][state.threads[thread].pc]
        state = self.set(state, warp, turn._replace(come=0, taken=0))
        if isinstance(mark, Push):
            if not any(entry.region == mark.region and entry.lanes & turn.active for entry in turn.stack):
                stack = (*turn.stack, Entry(turn.active, mark.region))
                state = self.set(state, warp, Turn(turn.active, stack=stack, bodies=turn.bodies))
            return self.go(state, warp, turn.active)
        if isinstance(mark, Meet):
            return self._next(state, warp)
        if turn.taken in (0, turn.active):
            return self.go(state, warp, turn.active, turn.taken)
        return self.set(state, warp, turn)

    def go(self, state: State, warp: int, mask: int, taken: int = 0) -> State:
        """Lanes go on behind the operation that they stand at, or where it jumps to."""
        threads = self.threads(warp, mask)
        for thread in threads:
            here = state.threads[thread]
            state = state.with_thread(thread, here._replace(pc=self._behind(here.pc, thread, taken), mode=RUNNING))
        return self.machine.settle(state, threads)

    def _behind(self, pc: int, thread: int, taken: int) -> int:
        """Where a lane goes on from an operation, which it may be one of those to take."""
        target = self.machine.code[thread][pc].target
        return target if taken & self.bit(thread) and target is not None else pc + 1

    def _next(self, state: State, warp: int) -> State:
        """The turn of those on top of the stack: the other side of a branch, or all that have met."""
        turn = self.turn(state, warp)
        if not turn.stack:
            return self.set(state, warp, Turn(bodies=turn.bodies))
        entry = turn.stack[-1]
        turn = Turn(entry.lanes, stack=turn.stack[:-1], bodies=turn.bodies)
        state = self.set(state, warp, turn)
        if not entry.lanes:
            return self._next(state, warp)
        if entry.region is not None:
            return self.go(state, warp, entry.lanes)
        threads = self.threads(warp, entry.lanes)
        return self.machine.settle(self._with_mode(state, threads, RUNNING), threads)

    def moves(self, state: State) -> Sequence[Move]:
        """Which side of a branch comes first, and which body."""
        found = []
        for warp, turn in enumerate(cast(Part, self.part(state))):
            if turn.active and turn.come == turn.active:
                for first in (turn.taken, turn.active & ~turn.taken):
                    found.append(Move(self.name, None, f"{lanes(first)} first", self._divide, (warp, first)))
            elif not turn.active and not turn.stack:
                for mask in turn.bodies:
                    found.append(Move(self.name, None, f"{lanes(mask)} next", self._start, (warp, mask)))
        return found

    def _divide(self, state: State, warp: int, first: int) -> State:
        turn = self.turn(state, warp)
        later = turn.active & ~first
        for thread in self.threads(warp, later):
            here = state.threads[thread]
            state = state.with_thread(thread, here.at(self._behind(here.pc, thread, turn.taken)))
        state = self.set(state, warp, Turn(first, stack=(*turn.stack, Entry(later)), bodies=turn.bodies))
        return self.go(state, warp, first, turn.taken)

    def _start(self, state: State, warp: int, mask: int) -> State:
        bodies = tuple(one for one in self.turn(state, warp).bodies if one != mask)
        return self.machine.settle(self.set(state, warp, Turn(mask, bodies=bodies)), self.threads(warp, mask))

    def exited(self, state: State, thread: int) -> State:
        warp = self.warp_of.get(thread)
        if warp is None:
            return state
        turn, bit = self.turn(state, warp), self.bit(thread)
        stack = tuple(entry._replace(lanes=entry.lanes & ~bit) for entry in turn.stack)
        bodies = tuple(mask & ~bit for mask in turn.bodies if mask & ~bit)
        state = self.set(state, warp, turn._replace(active=turn.active & ~bit, stack=stack, bodies=bodies))
        return self._together(state, warp)

    def shown(self, state: State) -> Mapping[str, str]:
        return {
            f"turn{self.name_of(warp)}": lanes(turn.active)
            + "".join(f", then {lanes(entry.lanes)}" for entry in reversed(turn.stack) if entry.lanes)
            for warp, turn in enumerate(cast(Part, self.part(state)))
        }


class Begin(Mark):
    """In front of a body: it starts when it is its lanes' turn."""

    unit: Stack

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        active = self.unit.turn(state, self.unit.warp_of[thread]).active
        return self.next(state, thread) if active & self.unit.bit(thread) else None


class Push(Mark):
    """SSY: the warp puts on the stack who is to meet again."""

    unit: Stack

    def __init__(self, unit: Stack, region: int) -> None:
        super().__init__(unit, "SSY")
        self.region = region

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        return self.unit.come(state, thread)


class Meet(Mark):
    """.S: the lanes have come to the end of a region; who has not been in it goes on."""

    unit: Stack

    def __init__(self, unit: Stack, region: int) -> None:
        super().__init__(unit, "SYNC")
        self.region = region

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        turn, bit = self.unit.turn(state, self.unit.warp_of[thread]), self.unit.bit(thread)
        if not any(entry.region == self.region and entry.lanes & bit for entry in turn.stack):
            return self.next(state, thread)
        return self.unit.come(state, thread)


class Divide(Jump):
    """A branch of a warp: all lanes of the turn come to it, and those that take it part from the others."""

    def __init__(self, unit: Stack, jump: Jump) -> None:
        super().__init__(jump.taken)
        self.unit = unit
        self.condition: tuple[int, bool] | None = None

    def guarded(self, register: int, negated: bool) -> None:
        self.condition = register, negated

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        registers = state.threads[thread].registers
        takes = self.taken is None or bool(self.taken(registers))
        if self.condition is not None:
            register, negated = self.condition
            takes = takes and bool(registers[register]) is not negated
        return self.unit.come(state, thread, takes)
