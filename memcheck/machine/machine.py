"""The machine: a test lowered, its units, and the steps that are possible in a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from memcheck.language.condition import satisfies
from memcheck.language.test import Observable, RegisterTerm, Test
from memcheck.machine.accesses import Access, held_up
from memcheck.machine.fences import Release, RestrictedRelease
from memcheck.machine.instructions import widest
from memcheck.machine.layout import Layout, lay_out
from memcheck.machine.levels import GPU, Levels
from memcheck.machine.lowering import Lower, Lowering, lower
from memcheck.machine.memory import Memory
from memcheck.machine.operations import Move, Operation, without
from memcheck.machine.registers import End
from memcheck.machine.stamps import StampedMemory
from memcheck.machine.state import ENDED, RUNNING, State, Thread
from memcheck.machine.units import Unit
from memcheck.machine.warps import INDEPENDENT, Warps
from memcheck.machine.windows import SHARED_SPACES
from memcheck.ptx.asynchronous import GridDependency
from memcheck.ptx.instructions import Instruction

TRAPPED = 3
"""Mode of a thread whose instruction is undefined behaviour: the run ends."""
Kind = TypeVar("Kind", bound=Unit)
_WINDOW = 64
"""Accesses of a thread that are in flight together: it issues no more before one of them is performed."""
TIRED = 5
"""Mode of a thread that has gone round for too long without a step that another could see: the run is given up."""
_LONG, _TURNS = 100_000, 5_000
"""Operations of a thread, and turns of threads that let one another go on, after which that is so."""


class Machine:
    """`scheduling` of the lanes of a warp, one of SCHEDULINGS; None: nothing holds them together.

    UnsupportedError for a test with an instruction that no unit has.
    """

    def __init__(self, test: Test, scheduling: str | None = INDEPENDENT) -> None:
        from memcheck.machine.parts import LOWERINGS, SIZES, UNITS, word

        self.test = test
        self.scheduling = scheduling
        self._due: list[int] = []
        self._settling = False
        self.levels = Levels(test)
        self.layout: Layout = lay_out(test, widest(test, SIZES), word)
        self.memory = Memory(self.levels, self.layout)
        self._connect()
        self.units: list[Unit] = []
        for make in UNITS:
            unit = make(self)
            if unit is not None:
                unit.number = len(self.units)
                self.units.append(unit)
        self.warps = next((unit for unit in self.units if isinstance(unit, Warps)), None)
        self._lowered = [self._lower(index, LOWERINGS) for index in range(len(test.threads))]
        self.code: tuple[tuple[Operation, ...], ...] = tuple(code for code, _, _ in self._lowered)
        self.numbers = tuple(numbers for _, numbers, _ in self._lowered)
        self.reads, self.writes, self.uses = _futures(self.code)
        for index, code in enumerate(self.code):
            if any(o.target is not None and o.target <= i for i, o in enumerate(code)):
                self.memory.spins[self.levels.sm[index]] = True
        kinds = {type(i) for thread in test.threads for i in thread.body}
        self.synchronous = all(k.__module__ == Instruction.__module__ or k is GridDependency for k in kinds)
        """Nothing in the test is asynchronous."""
        self.several = 0
        """The lines with aliases, or that several proxies access, as bits."""
        self._track()
        for unit in self.units:
            unit.ready()

    def unit(self, kind: type[Kind]) -> Kind:
        """The unit of a kind; KeyError where the test needs none."""
        for unit in self.units:
            if isinstance(unit, kind):
                return unit
        raise KeyError(kind)

    def _lower(
        self, index: int, table: dict[type[Instruction], Lower]
    ) -> tuple[tuple[Operation, ...], dict[str, int], tuple[int | None, ...]]:
        thread = self.test.threads[index]
        lowering = Lowering(self, thread)
        for name, width in thread.widths.items():
            lowering.number(name, width)
        for term in self.test.observed:
            if isinstance(term, RegisterTerm) and term.thread == index:
                lowering.number(term.name, 32)
        initial = {
            lowering.number(name, 32): lowering.source(operand, thread.widths.get(name, 32))(())
            for name, operand in thread.initial.items()
        }
        lowering.needs.clear()
        starts, end = lower(lowering, table, thread.body)
        for jump, label in lowering.jumps:
            jump.target = starts[thread.labels[label]]
        lowering.operations.append(End())
        assert end == len(lowering.operations) - 1
        registers = tuple(initial.get(number, 0) for number in range(len(lowering.widths)))
        return tuple(lowering.operations), lowering.numbers, registers

    def _track(self) -> None:
        """Notes which views of which lines can be stale in the cache of an SM, and takes the memory for them."""
        accesses = [(self.levels.sm[t], access) for t, code in enumerate(self.code) for access in code]
        places = [(sm, access, self.places(access)) for sm, access in accesses if isinstance(access, Access)]
        views = {view for _, _, seen in places for view in seen}
        views.update(view for unit in self.units for view in unit.views())
        line_of = {view: self.layout.views[view].line for view in views}
        several = {line for line, count in Counter(line_of.values()).items() if count > 1}
        self.several = sum(1 << line for line in several)
        stamped = {
            line
            for view, line in line_of.items()
            if self.memory.home[line] is None and self.memory.is_generic(view) and line not in several
        }
        exact = self.synchronous and not self.levels.single and not self.levels.gpus
        exact = exact and all(
            line_of[view] in stamped
            for _, access, seen in places
            if access.observes and access.level >= GPU
            for view in seen
        )
        if exact:
            loops = any(self.memory.spins)
            carries = any(operation.uses_seen for code in self.code for operation in code)
            spins = self.memory.spins
            self.memory = StampedMemory(self.levels, self.layout, sorted(stamped), carries, 12 if loops else 40)
            self.memory.spins = spins
            self._connect()
        self.memory.several = self.several
        for sm, access, seen in places:
            for view in seen if access.reads else ():
                line = line_of[view]
                far = self.memory.home[line] is None and not self.levels.single and (exact or access.level < GPU)
                if far or line in several:
                    self.memory.track(sm, view)

    def _connect(self) -> None:
        self.memory.settle = self.settle
        self.memory.alive = self._alive
        self.memory.wanted = self._wanted
        self.memory.written = self._written
        self.memory.may = self._may
        self.memory.future = self.future

    def places(self, access: Access) -> set[int]:
        """The views that an access may go to."""
        return {access.fixed.view} if access.fixed else self._everywhere(access)

    def _everywhere(self, access: Access) -> set[int]:
        """The views of an access whose address is in a register."""
        size, proxy = access.size, access.proxy
        found = set()
        for region in self.layout.regions:
            for address in range(region.base // size * size, region.base + region.size, size):
                location = self.layout.locate(address, size, proxy)
                if location is not None:
                    found.add(location.view)
        return found

    # ---- states

    def initial(self) -> State:
        """Before anything has happened; threads already stand where they have to wait."""
        sms, gpus = self.memory.initial()
        threads = tuple(Thread(0, registers, ()) for _, _, registers in self._lowered)
        units: tuple[Hashable, ...] = tuple(unit.initial() for unit in self.units)
        state = State(threads, self.layout.initial, sms, gpus, units)
        for unit in self.units:
            state = unit.begin(state)
        return self.settle(state, range(len(threads)))

    def moves(self, state: State) -> list[Move]:
        """Every step that is possible."""
        if any(thread.mode in (TRAPPED, TIRED) for thread in state.threads):
            return []
        found: list[Move] = []
        for index in range(len(state.threads)):
            found += self.thread_moves(state, index)
        found += self.memory.moves(state)
        for unit in self.units:
            found += unit.moves(state)
        return found

    def thread_moves(self, state: State, thread: int) -> list[Move]:
        """What may leave a thread's window, and what its next operation may do."""
        here = state.threads[thread]
        found: list[Move] = []
        window = here.window
        for position, entry in enumerate(window):
            if not entry.operation.is_marker and not held_up(window, position):
                found += entry.operation.perform(self, state, thread, position)
        if here.mode == RUNNING and not (window and window[-1].operation.acquires):
            operation = self.code[thread][here.pc]
            if all(here.registers[number] is not None for number in operation.needs):
                found += operation.moves(self, state, thread)
        return found

    def settle(self, state: State, threads: Iterable[int]) -> State:
        """Lets threads go on by themselves until each stands where something else has to happen first."""
        self._due.extend(thread for thread in threads if thread not in self._due)
        if self._settling:  # who lets others go on is going on itself
            return state
        self._settling = True
        turns, once = 0, None
        try:
            while self._due:
                now = state, tuple(self._due)
                turns += 1
                if turns & (turns - 1) == 0:
                    once = now
                elif now == once:  # nothing new will ever come of it
                    break
                thread = self._due.pop(0)
                if turns > _TURNS:
                    return self._tire(state, thread)
                state = self._retire(state, thread)
                state = self._run(state, thread)
        finally:
            self._settling = False
            self._due.clear()
        return state

    def _run(self, state: State, index: int) -> State:
        code = self.code[index]
        count, once = 0, None
        while True:
            here = state.threads[index]
            if count & (count - 1) == 0:
                once = state
            elif state == once:  # it goes round for ever
                break
            if here.mode != RUNNING or (here.window and here.window[-1].operation.acquires):
                break
            if len(here.window) >= _WINDOW:
                break
            operation, registers = code[here.pc], here.registers
            if any(registers[number] is None for number in operation.needs):
                break
            if operation.guard is not None and bool(registers[operation.guard[0]]) is operation.guard[1]:
                state = state.with_thread(index, here.at(here.pc + 1))
            else:
                after = operation.start(self, state, index)
                if after is None:
                    break
                state = after
            count += 1
            if count > _LONG:
                return self._tire(state, index)
            if state.threads[index].mode == ENDED:
                for unit in self.units:
                    state = unit.exited(state, index)
        return self.memory.forget(state, self.levels.sm[index])

    def _retire(self, state: State, index: int) -> State:
        """Markers that nothing before them keeps back leave the window."""
        here = state.threads[index]
        while here.window and here.window[0].operation.is_marker:
            marker = here.window[0].operation
            here = here._replace(window=here.window[1:])
            state = state.with_thread(index, here)
            if isinstance(marker, Release):
                state = self.memory.marker(state, index, marker.level)
            here = state.threads[index]
        before = 0
        for position, entry in enumerate(here.window):
            if isinstance(entry.operation, RestrictedRelease) and not before & entry.operation.covers:
                window = without(here.window, position)
                return self._retire(state.with_thread(index, here._replace(window=window)), index)
            before |= 0 if entry.location is None else 1 << entry.location.line
        return state

    def _tire(self, state: State, thread: int) -> State:
        """The run is given up: whether the thread ever comes to a step is not known."""
        return state.with_thread(thread, state.threads[thread]._replace(mode=TIRED))

    def tired(self, state: State) -> bool:
        """Whether the run has been given up."""
        return any(thread.mode == TIRED for thread in state.threads)

    def trap(self, state: State, thread: int) -> State:
        """The thread does what is undefined: nothing happens any more."""
        return state.with_thread(thread, state.threads[thread]._replace(mode=TRAPPED))

    def trapped(self, state: State) -> bool:
        """Whether the run has ended in undefined behaviour."""
        return any(thread.mode == TRAPPED for thread in state.threads)

    def final(self, state: State) -> bool:
        """Whether all threads have exited and every write has reached memory."""
        return (
            all(thread.mode == ENDED and not thread.window for thread in state.threads)
            and not any(level.held for level in state.sms)
            and not any(level.held for level in state.gpus)
            and all(unit.idle(state) for unit in self.units)
        )

    def outcome(self, state: State) -> tuple[int, ...]:
        """The values of what the test observes in a final state."""
        return tuple(self._final_value(state, term) for term in self.test.observed)

    def kept(self, state: State) -> bool:
        """Whether the test's filter lets a final state through."""
        if self.test.filter is None:
            return True

        def value(term: Observable) -> tuple[int, int]:
            if isinstance(term, RegisterTerm):
                return self._final_value(state, term), self.test.threads[term.thread].widths[term.name]
            return self._final_value(state, term), 8 * self.test.variables[term.variable].type.size

        return satisfies(self.test.filter, value)

    def _final_value(self, state: State, term: Observable) -> int:
        if isinstance(term, RegisterTerm):
            return state.threads[term.thread].registers[self.numbers[term.thread][term.name]] or 0
        variable = self.test.variables[term.variable]
        shared = variable.space in SHARED_SPACES
        cta = self.levels.ctas[0] if shared and term.cta is None else term.cta
        region = self.layout.instance(term.variable, cta)
        size = variable.type.size
        return self.layout.read(state.memory, region.physical + term.index * size, size)

    # ---- what is still to come

    def future(self, state: State, thread: int) -> tuple[int, int]:
        """The lines that a thread may still look at and change, as bits."""
        here = state.threads[thread]
        reads = writes = 0
        if here.mode != ENDED:
            reads, writes = self.reads[thread][here.pc], self.writes[thread][here.pc]
        for entry in here.window:
            if entry.location is not None:
                line = 1 << entry.location.line
                reads |= line if entry.operation.reads else 0
                writes |= line if entry.operation.writes else 0
        return reads, writes

    def _alive(self, state: State, sm: int) -> int:
        lines = 0
        for thread in self.levels.threads_of_sm[sm]:
            lines |= self.future(state, thread)[0]
        return lines

    def _may(self, state: State, thread: int) -> int:
        """What a thread may still do with what has been observed: bits as in `_uses`."""
        here = state.threads[thread]
        bits = 0 if here.mode == ENDED else self.uses[thread][here.pc]
        for entry in here.window:
            bits |= _uses(entry.operation)
        return bits

    def _wanted(self, state: State, gpu: int, line: int) -> bool:
        return any(self.future(state, thread)[0] >> line & 1 for thread in self.levels.threads_of_gpu(gpu))

    def _written(self, state: State, line: int) -> bool:
        if any(self.future(state, thread)[1] >> line & 1 for thread in range(len(state.threads))):
            return True
        held = (one.location for level in (*state.sms, *state.gpus) for one in level.held)
        return any(location is not None and location.line == line for location in held)


def _futures(code: Sequence[Sequence[Operation]]) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """By thread and position, as bits: the lines that operations from there on read and write, what else they do."""
    return (
        [from_there_on(operations, [o.reads for o in operations]) for operations in code],
        [from_there_on(operations, [o.writes for o in operations]) for operations in code],
        [from_there_on(operations, [_uses(o) for o in operations]) for operations in code],
    )


def _uses(operation: Operation) -> int:
    """Bits: it acquires, it hands on, it is a fence.sc."""
    return operation.uses_seen | operation.hands_on << 1 | operation.in_order << 2


def from_there_on(operations: Sequence[Operation], row: list[int]) -> list[int]:
    """Bits of operations, joined with those of all that can follow."""
    changed = True
    while changed:
        changed = False
        for i in range(len(operations) - 1, -1, -1):
            operation, bits = operations[i], row[i]
            if operation.falls_through and i + 1 < len(operations):
                bits |= row[i + 1]
            if operation.target is not None:
                bits |= row[operation.target]
            if bits != row[i]:
                row[i], changed = bits, True
    return row
