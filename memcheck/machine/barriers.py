"""CTA barriers and warp barriers (ISA 9.7.15.1, .2).

A thread that arrives has nothing left in its window: its writes are in its SM. A CTA barrier counts warps, and a warp
has come when all its threads have, or have exited. The columns layout's barriers count threads, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck.machine.arithmetic import unsupported
from memcheck.machine.fences import passed
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move, Operation, Source
from memcheck.machine.state import ENDED, RUNNING, WAITING, State
from memcheck.machine.units import Unit
from memcheck.ptx.instructions import Barrier, BarrierKind, Instruction, WarpBarrier

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

IDS = 16
WARP = 32

Key = tuple[int, ...]
"""A barrier: SM or warp, then its number."""


class Arrival(NamedTuple):
    """A thread that has come. `value`: what it brings to a reduction, for the `reduction` it asks for."""

    thread: int
    waits: bool
    wanted: int | None
    value: int = 0
    reduction: str | None = None


class Gathering(NamedTuple):
    """Who has come to a barrier that is not complete; `passed` for one that was, and lets everyone through."""

    arrivals: tuple[Arrival, ...] = ()
    passed: bool = False


Part = tuple[tuple[Key, Gathering], ...]


class Barriers(Unit):
    """All barriers but those of clusters. Its part: the gatherings that are not empty, by barrier."""

    name = "barriers"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        threads = machine.test.threads
        self.warps: dict[int, list[list[int]]] = {}
        for sm, members in enumerate(machine.levels.threads_of_sm):
            by_warp: dict[int, list[int]] = {}
            for thread in members:
                by_warp.setdefault(threads[thread].place.warp, []).append(thread)
            self.warps[sm] = list(by_warp.values())

    def gathering(self, state: State, key: Key) -> Gathering:
        """Who has come to a barrier."""
        return dict(cast(Part, self.part(state))).get(key, Gathering())

    def _with(self, state: State, key: Key, gathering: Gathering) -> State:
        part = dict(cast(Part, self.part(state)))
        part[key] = gathering
        kept = tuple(sorted((k, g) for k, g in part.items() if g.arrivals or g.passed))
        return state.with_unit(self.number, kept)

    def arrive(self, state: State, operation: Meet, key: Key, arrival: Arrival) -> State:
        """A thread comes to a barrier, and waits there or goes on."""
        thread = arrival.thread
        gathering = self.gathering(state, key)
        if gathering.passed:
            return passed(state, thread)
        if any(operation.clashes(other, arrival) for other in gathering.arrivals):
            return self.machine.trap(state, thread)
        arrivals = tuple(sorted((*gathering.arrivals, arrival), key=lambda one: one.thread))
        state = self._with(state, key, Gathering(arrivals))
        if arrival.waits:
            state = state.with_thread(thread, state.threads[thread]._replace(mode=WAITING))
        else:
            state = passed(state, thread)
        return self._completed(state, operation, key)

    def _completed(self, state: State, operation: Meet, key: Key) -> State:
        """Lets the threads of a barrier go on if all have come."""
        gathering = self.gathering(state, key)
        together = operation.together(self, state, key, gathering.arrivals)
        if not together:
            return state
        rest = tuple(one for one in gathering.arrivals if one.thread not in together)
        state = self._with(state, key, Gathering(rest, operation.once))
        met = [one for one in gathering.arrivals if one.thread in together]
        waiting = [one.thread for one in met if one.waits]
        for thread in waiting:
            here = state.threads[thread]
            meet = self.machine.code[thread][here.pc]
            assert isinstance(meet, Meet)
            registers = meet.result(here.registers, met)
            state = state.with_thread(thread, here._replace(pc=here.pc + 1, mode=RUNNING, registers=registers))
        if operation.once:
            waiting += [one.thread for one in rest if one.waits]
            for one in rest:
                if one.waits:
                    here = state.threads[one.thread]
                    state = state.with_thread(one.thread, here._replace(pc=here.pc + 1, mode=RUNNING))
            state = self._with(state, key, Gathering((), True))
        return self.machine.settle(state, waiting)

    def exited(self, state: State, thread: int) -> State:
        sm = self.machine.levels.sm[thread]
        for key, gathering in cast(Part, self.part(state)):
            if key[0] == CTA and key[1] == sm:
                waiting = next((one for one in gathering.arrivals if one.waits), None)
                if waiting is not None:
                    operation = self.machine.code[waiting.thread][state.threads[waiting.thread].pc]
                    assert isinstance(operation, Meet)
                    state = self._completed(state, operation, key)
        return state

    def full_warps(self, state: State, sm: int, come: set[int]) -> list[list[int]]:
        """The warps of which a thread has come and every other has too, or has exited."""
        return [
            warp
            for warp in self.warps[sm]
            if any(t in come for t in warp) and all(t in come or state.threads[t].mode == ENDED for t in warp)
        ]


CTA, PEER, LANES = 0, 1, 2
"""Kinds of barriers, the first number of a key."""


class Meet(Operation):
    """An arrival at a barrier, or an arrival and a wait."""

    once = False
    """The barrier lets everyone through once it has been complete."""
    alone = False
    """No other thread is in the CTA: there is nobody whom memory has to be ready for."""
    plain = True
    """Which threads meet is the same in whatever order they come."""

    def __init__(self, unit: Barriers) -> None:
        self.unit = unit

    def where(self, registers: Sequence[int | None]) -> tuple[Key, int | None] | None:
        """The barrier and the count; None for undefined behaviour."""
        raise NotImplementedError

    def arrival(self, thread: int, registers: Sequence[int | None], count: int | None) -> Arrival:
        """The thread as it comes."""
        del registers
        return Arrival(thread, True, count)

    def clashes(self, other: Arrival, mine: Arrival) -> bool:
        """Whether two arrivals at one barrier are undefined behaviour."""
        return other.thread == mine.thread

    def together(self, unit: Barriers, state: State, key: Key, arrivals: Sequence[Arrival]) -> set[int]:
        """The threads that meet now, none while some are missing."""
        raise NotImplementedError

    def result(self, registers: tuple[int | None, ...], arrivals: Sequence[Arrival]) -> tuple[int | None, ...]:
        """A waiting thread's registers after the meeting."""
        del arrivals
        return registers

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        if not self._ready(state, thread) or not self.plain:
            return None
        return self._come(state, thread)

    def moves(self, machine: Machine, state: State, thread: int) -> Sequence[Move]:
        if self.plain or not self._ready(state, thread):
            return ()
        act = self._come_and_settle
        return (Move("barriers", thread, f"{self.text} arrives", act, (machine, thread)),)

    def _ready(self, state: State, thread: int) -> bool:
        return self.alone or not state.threads[thread].window

    def _come(self, state: State, thread: int) -> State:
        registers = state.threads[thread].registers
        found = self.where(registers)
        if found is None:
            return self.unit.machine.trap(state, thread)
        key, count = found
        return self.unit.arrive(state, self, key, self.arrival(thread, registers, count))

    def _come_and_settle(self, state: State, machine: Machine, thread: int) -> State:
        return machine.settle(self._come(state, thread), (thread,))


class CtaMeet(Meet):
    """`bar`, `barrier{.cta}` by number; `count` in threads."""

    def __init__(self, unit: Barriers, sm: int, number: Source, count: Source | None, waits: bool) -> None:
        super().__init__(unit)
        self.sm = sm
        self.barrier = number
        self.count = count
        self.waits = waits
        self.reduction: str | None = None
        self.source: Source = lambda _registers: 0
        self.destination: int | None = None

    def where(self, registers: Sequence[int | None]) -> tuple[Key, int | None] | None:
        number = self.barrier(registers)
        count = None if self.count is None else self.count(registers)
        if number >= IDS or (count is not None and (count % WARP or (count == 0 and not self.waits))):
            return None
        return (CTA, self.sm, number), None if count is None else count // WARP

    def arrival(self, thread: int, registers: Sequence[int | None], count: int | None) -> Arrival:
        return Arrival(thread, self.waits, count, self.source(registers), self.reduction)

    def clashes(self, other: Arrival, mine: Arrival) -> bool:
        mixed = (other.reduction is None) != (mine.reduction is None)
        # no count asks for the whole CTA
        whole = len(self.unit.warps[self.sm])
        return super().clashes(other, mine) or mixed or (other.wanted or whole) != (mine.wanted or whole)

    def together(self, unit: Barriers, state: State, key: Key, arrivals: Sequence[Arrival]) -> set[int]:
        sm = key[1]
        come = {one.thread for one in arrivals}
        if not come:
            return come
        count = next((one.wanted for one in arrivals if one.wanted is not None), None)
        full = unit.full_warps(state, sm, come)
        if count is None:
            everyone = unit.machine.levels.threads_of_sm[sm]
            return come if all(t in come or state.threads[t].mode == ENDED for t in everyone) else set()
        return {t for warp in full for t in warp if t in come} if len(full) == count else set()

    def result(self, registers: tuple[int | None, ...], arrivals: Sequence[Arrival]) -> tuple[int | None, ...]:
        if self.destination is None:
            return registers
        values = [one.value for one in arrivals]
        match self.reduction:
            case "popc":
                total = sum(values)
            case "and":
                total = int(all(values))
            case _:
                total = int(any(values))
        return (*registers[: self.destination], total, *registers[self.destination + 1 :])


class PeerMeet(Meet):
    """The columns layout's `bar.cta`: an instance of a barrier that is complete once; `count` in threads."""

    once = True

    def __init__(self, unit: Barriers, key: Key, count: int, waits: bool) -> None:
        super().__init__(unit)
        self.key = key
        self.needed = count
        self.waits = waits

    def where(self, registers: Sequence[int | None]) -> tuple[Key, int | None] | None:
        del registers
        return self.key, self.needed

    def arrival(self, thread: int, registers: Sequence[int | None], count: int | None) -> Arrival:
        del registers
        return Arrival(thread, self.waits, count)

    def together(self, unit: Barriers, state: State, key: Key, arrivals: Sequence[Arrival]) -> set[int]:
        del unit, state, key
        return {one.thread for one in arrivals} if len(arrivals) >= self.needed else set()


class LaneMeet(Meet):
    """`bar.warp.sync`: all lanes of the mask that there are."""

    def __init__(self, unit: Barriers, thread: int, mask: Source) -> None:
        super().__init__(unit)
        own = unit.machine.test.threads[thread].place
        self.lane = own.lane
        self.warp = own.warp
        self.cta = own.cta
        self.lanes = unit.machine.levels.warps[own.cta, own.warp]
        self.mask = mask

    def where(self, registers: Sequence[int | None]) -> tuple[Key, int | None] | None:
        mask = self.mask(registers)
        return ((LANES, self.cta, self.warp, mask), None) if mask >> self.lane & 1 else None

    def together(self, unit: Barriers, state: State, key: Key, arrivals: Sequence[Arrival]) -> set[int]:
        del unit, state
        come = {one.thread for one in arrivals}
        return come if all(t in come for lane, t in self.lanes.items() if key[3] >> lane & 1) else set()


def barriers(machine: Machine) -> Barriers | None:
    """The unit, for a test with barriers."""
    kinds = Barrier | WarpBarrier
    return Barriers(machine) if any(isinstance(i, kinds) for t in machine.test.threads for i in t.body) else None


def barrier(lowering: Lowering, instruction: Instruction) -> None:
    """`bar`, `barrier{.cta}` and the columns layout's `bar.cta`."""
    assert isinstance(instruction, Barrier)
    unit = lowering.machine.unit(Barriers)
    sm = lowering.levels.sm[lowering.thread.index]
    mates = lowering.levels.threads_of_sm[sm]
    waits = instruction.kind is not BarrierKind.ARRIVE
    if instruction.peer:
        peer = _peer(lowering, instruction, unit, sm)
        peer.alone = len(mates) == 1
        lowering.add(peer, instruction)
        return
    assert instruction.id is not None
    count = None if instruction.count is None else lowering.source(instruction.count, 32)
    meet = CtaMeet(unit, sm, lowering.source(instruction.id, 32), count, waits)
    meet.alone = len(mates) == 1
    if instruction.count is not None:
        known = lowering.constant(instruction.count)
        meet.plain = known == WARP * len(unit.warps[sm])
        own = next(warp for warp in unit.warps[sm] if lowering.thread.index in warp)
        meet.alone = meet.alone or (known == WARP and len(own) == 1)
    if instruction.kind is BarrierKind.RED:
        assert instruction.source is not None
        value = lowering.source(instruction.source, 1)
        meet.source = (lambda registers: 1 - value(registers)) if instruction.negated else value
        meet.reduction = instruction.reduction
        meet.destination = lowering.target(instruction.destination)
    lowering.add(meet, instruction)


def _peer(lowering: Lowering, instruction: Barrier, unit: Barriers, sm: int) -> PeerMeet:
    own = _peer_key(lowering, instruction, sm)
    mates = [lowering.test.threads[t] for t in lowering.levels.threads_of_sm[sm]]
    users = sum(
        any(isinstance(i, Barrier) and i.peer and _peer_key(lowering, i, sm) == own for i in thread.body)
        for thread in mates
    )
    count = users
    if instruction.count is not None:
        known = lowering.constant(instruction.count)
        if known is None:
            raise unsupported(instruction, "a count in a register")
        count = known
    meet = PeerMeet(unit, own, count, instruction.kind is not BarrierKind.ARRIVE)
    meet.plain = count == users
    return meet


def _peer_key(lowering: Lowering, instruction: Barrier, sm: int) -> Key:
    instance = lowering.constant(instruction.instance)
    number = -1 if instruction.id is None else lowering.constant(instruction.id)
    if instance is None or number is None:
        raise unsupported(instruction, "a barrier whose number is in a register")
    return PEER, sm, instance, number


def warp_barrier(lowering: Lowering, instruction: Instruction) -> None:
    """`bar.warp.sync`."""
    assert isinstance(instruction, WarpBarrier)
    mask = lowering.source(instruction.mask, 32)
    lowering.add(LaneMeet(lowering.machine.unit(Barriers), lowering.thread.index, mask), instruction)
