"""Warp collectives: what lanes that have come to the same instruction give one another (ISA 9.7.10.6, 9.7.15.10 ff).

They order no memory: what is in the windows of the lanes stays there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck.machine import arithmetic
from memcheck.machine.lowering import Lowering
from memcheck.machine.machine import from_there_on
from memcheck.machine.operations import Move, Operation, Source
from memcheck.machine.state import ENDED, RUNNING, WAITING, State
from memcheck.machine.units import Unit
from memcheck.ptx.instructions import Collective, Instruction

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Lane(NamedTuple):
    """A lane that waits in a collective, with its operands."""

    lane: int
    thread: int
    sources: tuple[int, ...]


LANES = 32
Key = tuple[object, ...]
"""Which lanes wait for one another: warp, mask, operation, type."""
Part = tuple[tuple[Key, tuple[Lane, ...]], ...]


class Collectives(Unit):
    """Its part: the lanes that wait, by what they wait in."""

    name = "collectives"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.lanes = machine.levels.warps
        self.ahead: list[list[int]] = []
        """By thread and position: whether it may still come to an `activemask`."""

        self.first = 0
        """The lane that `elect.sync` would rather have than those before it; after the last comes lane 0."""

    def ready(self) -> None:
        self.ahead = [from_there_on(code, [_is_activemask(one) for one in code]) for code in self.machine.code]

    def moves(self, state: State) -> Sequence[Move]:
        """Lanes whose `activemask` nobody else can come to any more."""
        found = []
        for key, come in cast(Part, self.part(state)):
            operation = self.machine.code[come[0].thread][state.threads[come[0].thread].pc]
            assert isinstance(operation, Together)
            if operation.op == "activemask" and self._complete(state, operation, key) is not state:
                found.append(
                    Move(self.name, None, f"{operation.text} of those who are here", self._complete, (operation, key))
                )
        return found

    def come(self, state: State, operation: Together, lane: Lane, mask: int) -> State:
        """A lane comes to a collective and waits for the others of its mask."""
        part = dict(cast(Part, self.part(state)))
        key: Key = (operation.warp, mask, operation.kind)
        part[key] = tuple(sorted((*part.get(key, ()), lane)))
        here = state.threads[lane.thread]
        state = state.with_thread(lane.thread, here._replace(mode=WAITING))
        return self._complete(self._with(state, part), operation, key)

    def _with(self, state: State, part: dict[Key, tuple[Lane, ...]]) -> State:
        return state.with_unit(self.number, tuple(sorted(((k, v) for k, v in part.items() if v), key=repr)))

    def _complete(self, state: State, operation: Together, key: Key) -> State:
        part = dict(cast(Part, self.part(state)))
        come, mask = part[key], cast(int, key[1])
        waiting = {lane.thread for lane in come}
        for number, thread in self.lanes[operation.warp].items():
            here = state.threads[thread]
            expected = self.ahead[thread][here.pc] if operation.op == "activemask" else mask >> number & 1
            if expected and thread not in waiting and state.threads[thread].mode != ENDED:
                return state
        part[key] = ()
        state = self._with(state, part)
        by_lane = {lane.lane: lane for lane in come}
        for lane in come:
            here = state.threads[lane.thread]
            mine = self.machine.code[lane.thread][here.pc]
            assert isinstance(mine, Together)
            results = mine.results(lane, by_lane, mask)
            if results is None:
                return self.machine.trap(state, lane.thread)
            registers = list(here.registers)
            for (target, keep), result in zip(mine.targets, results, strict=False):
                if target is not None:
                    registers[target] = keep(result)
            here = here._replace(pc=here.pc + 1, mode=RUNNING, registers=tuple(registers))
            state = state.with_thread(lane.thread, here)
        return self.machine.settle(state, [lane.thread for lane in come])

    def exited(self, state: State, thread: int) -> State:
        for key, come in cast(Part, self.part(state)):
            if come and thread in self.lanes[cast("tuple[int, int]", key[0])].values():
                operation = self.machine.code[come[0].thread][state.threads[come[0].thread].pc]
                assert isinstance(operation, Together)
                state = self._complete(state, operation, key)
        return state


class Together(Operation):
    """A collective of one lane. `targets`: destination registers with what they keep."""

    def __init__(self, unit: Collectives, instruction: Collective, lowering: Lowering) -> None:
        place = lowering.thread.place
        self.unit = unit
        self.instruction = instruction
        self.op = instruction.op
        self.kind = f"{instruction.op} {instruction.type.name} {instruction.negated}"
        self.lane = place.lane
        self.warp = place.cta, place.warp
        width = 1 if self.op.startswith("vote") else instruction.type.bits
        self.sources: list[Source] = []
        for i, source in enumerate(instruction.sources):
            own = 32 if self.op.startswith("shfl") and i > 0 else width
            self.sources.append(lowering.source(source, own, instruction.type.signed))
        self.mask = lowering.source(instruction.mask, 32)
        self.targets = []
        for i, register in enumerate(instruction.destinations):
            wide = 1 if i == 1 or self.op in ("vote.all", "vote.any", "vote.uni") else 32
            self.targets.append((lowering.target(register), lowering.write(register, wide)))

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        registers = state.threads[thread].registers
        mask = 0xFFFFFFFF if self.op == "activemask" else self.mask(registers)
        if not mask >> self.lane & 1:
            return self.unit.machine.trap(state, thread)
        sources = tuple(source(registers) for source in self.sources)
        if self.instruction.negated:
            sources = (1 - sources[0], *sources[1:])
        return self.unit.come(state, self, Lane(self.lane, thread, sources), mask)

    def results(self, lane: Lane, lanes: Mapping[int, Lane], mask: int) -> Sequence[int] | None:
        """What the lane gets; None for undefined behaviour."""
        family, _, word = self.op.partition(".")
        firsts = {number: other.sources[0] for number, other in lanes.items() if other.sources}
        match family:
            case "activemask":
                return (sum(1 << number for number in lanes),)
            case "elect":
                leader = min(lanes, key=lambda number: (number - self.unit.first) % LANES)
                return leader, int(leader == lane.lane)
            case "shfl":
                return self._shuffle(lane, lanes, word)
            case "vote":
                return (_vote(word, firsts),)
            case "match":
                same = sum(1 << number for number, value in firsts.items() if value == lane.sources[0])
                if word == "any":
                    return (same,)
                every = all(value == lane.sources[0] for value in firsts.values())
                return mask if every else 0, int(every)
            case _:
                return (self._reduce(word, list(firsts.values())),)

    def _shuffle(self, lane: Lane, lanes: Mapping[int, Lane], mode: str) -> Sequence[int] | None:
        own, b, c = lane.sources
        number, bound, clamp, segment = lane.lane, b & 31, c & 31, c >> 8 & 31
        lowest = number & segment
        highest = lowest | clamp & ~segment & 31
        match mode:
            case "up":
                source, inside = number - bound, number - bound >= highest
            case "down":
                source, inside = number + bound, number + bound <= highest
            case "bfly":
                source, inside = number ^ bound, number ^ bound <= highest
            case _:
                source = lowest | bound & ~segment & 31
                inside = source <= highest
        if not inside:
            return own, 0
        other = lanes.get(source)
        return None if other is None else (other.sources[0], 1)

    def _reduce(self, word: str, values: list[int]) -> int:
        total = values[0]
        for value in values[1:]:
            total = arithmetic.compute(word, self.instruction.type, (total, value), self.instruction)
        return total


def _vote(word: str, values: Mapping[int, int]) -> int:
    match word:
        case "all":
            return int(all(values.values()))
        case "any":
            return int(any(values.values()))
        case "uni":
            return int(len(set(values.values())) == 1)
        case _:
            return sum(value << number for number, value in values.items())


def _is_activemask(operation: Operation) -> int:
    return int(isinstance(operation, Together) and operation.op == "activemask")


def collectives(machine: Machine) -> Collectives | None:
    """The unit, for a test with collectives."""
    found = any(isinstance(i, Collective) for t in machine.test.threads for i in t.body)
    return Collectives(machine) if found else None


def collective(lowering: Lowering, instruction: Instruction) -> None:
    """shfl, vote, match, redux, elect, activemask."""
    assert isinstance(instruction, Collective)
    lowering.add(Together(lowering.machine.unit(Collectives), instruction, lowering), instruction)
