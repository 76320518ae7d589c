"""Copies in flight: what the LSU (cp.async) and the TMA have been told to move, and how it lands (ISA 9.7.10.28).

A command is copied in pieces, each read and written at any time and in any order. A piece is what anyone could tell
apart: pieces end where lines do and where accesses of the program begin or end, and what nobody looks at is not moved.
When all of a destination has landed its mbarrier is told, at any later time; a command with nothing left to do is over,
and groups count those that are not.

The TMA reads through its own proxy: a source can still be what it was before generic writes that no proxy fence has
published, each SM having a history of its lines as it has for caches. What it writes lands in memory, and is in the
caches of the issuing SM when a group completes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, cast

from memcheck.language.test import And, Compare, MemoryTerm, Not, NumberTerm, Observable, Or, Prop, RegisterTerm, Test
from memcheck.machine import mbarriers
from memcheck.machine.accesses import Access, Load, overlap
from memcheck.machine.fences import passed
from memcheck.machine.levels import ALONE, SYSTEM
from memcheck.machine.operations import Move, Operation
from memcheck.machine.staleness import mark, refresh
from memcheck.machine.state import Location, State
from memcheck.machine.units import Unit
from memcheck.ptx.asynchronous import GridDependency, Group
from memcheck.ptx.qualifiers import Proxy
from memcheck.ptx.types import ScalarType

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

MAP = 128
"""Bytes of a tensor map."""


class Run(NamedTuple):
    """Contiguous bytes at generic addresses: from `source`, or without one the number `fill`, to each of `targets`.

    `whole`: one access that is not cut.
    """

    source: int | None
    targets: tuple[int, ...]
    size: int
    fill: int | None = None
    whole: bool = False


class Piece(NamedTuple):
    """What is moved at once; `value` once it is read, `targets` still to be written."""

    source: int | None
    targets: tuple[int, ...]
    size: int
    value: int | None


class Notice(NamedTuple):
    """What the mbarrier `word` is told when `size` bytes from `first` have landed: `amount` bytes."""

    word: int
    first: int
    size: int
    amount: int


class Order(NamedTuple):
    """What an instruction asks for. With a `map`, an address, the rest follows from the descriptor and `asked`."""

    runs: tuple[Run, ...] = ()
    notices: tuple[Notice, ...] = ()
    map: int | None = None
    asked: object = None
    element: ScalarType | None = None
    """Of a reduction."""


class Command(NamedTuple):
    """An order that is not over. `age`: commits of its kind since it was issued."""

    transfer: Transfer
    thread: int
    age: int
    map: int | None
    asked: object
    element: ScalarType | None
    pieces: tuple[Piece, ...]
    notices: tuple[Notice, ...]
    landed: int = 0
    """The lines of global memory that it writes, as bits."""

    @property
    def read(self) -> bool:
        """Whether source and descriptor have been read."""
        return self.map is None and all(piece.value is not None for piece in self.pieces)


class Opened(NamedTuple):
    """A load that has returned `value`, and that a write of an engine may still come before: no fence is between."""

    thread: int
    load: Load
    location: Location
    value: int


class Flight(NamedTuple):
    """What the engine's part of a state is."""

    commands: tuple[Command, ...] = ()
    opened: tuple[Opened, ...] = ()


class Transfer(Operation):
    """An instruction that starts a command. `build`: its order, from registers; None where it is undefined."""

    arrives = False
    """Tells its mbarrier of an arrival, when the thread's earlier cp.async are over."""

    def __init__(
        self, engine: Engine, unit: str, proxy: Proxy, build: Callable[[Sequence[int | None]], Order | None],
        group: Group | None = None, strong: bool = False,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.unit = unit
        self.proxy = proxy
        self.build = build
        self.group = group
        self.strong = strong
        self.reads = self.writes = -1
        self.order: Order | None = None
        """What it asks for where no register decides that."""
        self.expand: Callable[[Order, bytes], Order | None] = lambda _order, _map: None
        """The order of a tensor copy once its descriptor is read."""
        self.update: Callable[[int, int, ScalarType], int] | None = None
        """What a reduction makes of an element and of what comes to it."""

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        here = state.threads[thread]
        order = self.build(here.registers)
        if order is None:
            return machine.trap(state, thread)
        if self._held_up(machine, state, thread, order):
            return None
        return self.engine.issue(passed(state, thread), self, thread, order)

    def _held_up(self, machine: Machine, state: State, thread: int, order: Order) -> bool:
        """Whether something older of the thread has to come first: what meets the bytes through the same proxy."""
        window = state.threads[thread].window
        if self.strong and not machine.memory.released(state, thread, SYSTEM):
            return True
        if not window:
            return False
        if self.strong and any(entry.operation.is_marker for entry in window):
            return True
        places = [(notice.word, mbarriers.SIZE) for notice in order.notices]
        if self.proxy is Proxy.GENERIC:
            for run in order.runs:
                places += [(address, run.size) for address in run.targets]
                if run.source is not None:
                    places.append((run.source, run.size))
        mine = [location for place in places for location, _ in self.engine.segments(*place, Proxy.GENERIC) or ()]
        older = [entry.location for entry in window if entry.location is not None]
        return any(overlap(one, other) for one in older for other in mine)


class Engine(Unit):
    """All commands in flight; its part: them, by thread, in the order of their issue."""

    name = "engine"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.layout = machine.layout
        self.transfers: list[Transfer] = []
        self._segments: dict[tuple[int, int, Proxy], tuple[tuple[Location, int], ...] | None] = {}
        self._looked_at: tuple[list[tuple[int, int]], list[int]] | None = None
        self._constant: int | None = None
        self._by_map: dict[Transfer, Order] | None = None
        alive, memory = machine.memory.alive, machine.memory
        memory.alive = lambda state, sm: alive(state, sm) | self._reads(state, sm)

    def commands(self, state: State) -> tuple[Command, ...]:
        return cast(Flight, self.part(state)).commands

    def initial(self) -> Flight:
        return Flight()

    def _with_commands(self, state: State, commands: tuple[Command, ...]) -> State:
        return state.with_unit(self.number, cast(Flight, self.part(state))._replace(commands=commands))

    def idle(self, state: State) -> bool:
        return not self.commands(state)

    # ---- places

    def segments(self, address: int, size: int, proxy: Proxy) -> tuple[tuple[Location, int], ...] | None:
        """The parts of a range that lie in one line each, with their offsets; None where it is not in a variable."""
        key = (address, size, proxy)
        if key not in self._segments:
            self._segments[key] = self._cut_at_lines(*key)
        return self._segments[key]

    def _cut_at_lines(self, address: int, size: int, proxy: Proxy) -> tuple[tuple[Location, int], ...] | None:
        region = self.layout.region(address, size)
        if region is None:
            return None
        found = []
        offset = 0
        while offset < size:
            physical = region.physical + address + offset - region.base
            line = self.layout.lines[self.layout.line_at(physical)]
            length = min(size - offset, line.base + line.size - physical)
            location = self.layout.locate(address + offset, length, proxy)
            if location is None:
                return None
            found.append((location, offset))
            offset += length
        return tuple(found)

    def _physical(self, address: int) -> int:
        region = self.layout.region(address, 1)
        assert region is not None
        return region.physical + address - region.base

    def track(self, sm: int, transfer: Transfer) -> None:
        """Notes what the transfer may find stale in its proxy."""
        self.transfers.append(transfer)
        order = transfer.order
        if order is not None and order.map is None:
            transfer.reads, transfer.writes = self._lines(order)
        if transfer.proxy is Proxy.GENERIC:
            return
        ranges: Iterable[tuple[int, int, Proxy]]
        if order is None or order.map is not None:
            ranges = [(region.base, region.size, Proxy.ASYNC) for region in self.layout.regions]
        else:
            ranges = [(run.source, run.size, Proxy.ASYNC) for run in order.runs if run.source is not None]
        for address, size, proxy in ranges:
            self._track(sm, address, size, proxy)
        if order is not None and order.map is not None:
            self._track(sm, order.map, MAP, Proxy.TENSORMAP)
        elif order is None:
            for region in self.layout.regions:
                if region.size == MAP:
                    self._track(sm, region.base, MAP, Proxy.TENSORMAP)

    def _track(self, sm: int, address: int, size: int, proxy: Proxy) -> None:
        for location, _ in self.segments(address, size, proxy) or ():
            self.machine.memory.track(sm, location.view)

    # ---- pieces

    def _look(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Physical ranges whose contents someone may look at, merged, and where accesses begin and end."""
        if self._looked_at is None:
            ranges: list[tuple[int, int]] = []
            points: set[int] = set()
            for code in self.machine.code:
                for operation in code:
                    if isinstance(operation, Access):
                        self._look_by(operation, ranges, points)
            for term in _terms(self.machine.test):
                if isinstance(term, MemoryTerm):
                    self._look_at(term, ranges, points)
            for transfer in self.transfers:
                self._look_of(transfer, ranges, points)
            self._looked_at = _merged(ranges), sorted(points)
        return self._looked_at

    def _look_at(self, term: MemoryTerm, ranges: list[tuple[int, int]], points: set[int]) -> None:
        size = self.machine.test.variables[term.variable].type.size
        for region in self.layout.regions:
            if region.variable == term.variable and term.cta in (None, region.cta):
                first = region.physical + term.index * size
                ranges.append((first, first + size))
                points.update(ranges[-1])

    def _look_by(self, access: Access, ranges: list[tuple[int, int]], points: set[int]) -> None:
        if access.fixed is not None:
            first = self.layout.lines[access.fixed.line].base + access.fixed.shift // 8
            ranges.append((first, first + access.size))
            points.update(ranges[-1])
            return
        for region in self.layout.regions:
            ranges.append((region.physical, region.physical + region.size))
            points.update(range(region.physical, region.physical + region.size + 1, access.size))

    def _look_of(self, transfer: Transfer, ranges: list[tuple[int, int]], points: set[int]) -> None:
        order = self._known_order(transfer)
        if order is None:
            for region in self.layout.regions:
                ranges.append((region.physical, region.physical + region.size))
            return
        for run in order.runs:
            for address in (run.source, *run.targets):
                if address is not None and self.layout.region(address, run.size) is not None:
                    first = self._physical(address)
                    points.update((first, first + run.size))
                    if address == run.source:
                        ranges.append((first, first + run.size))

    def _known_order(self, transfer: Transfer) -> Order | None:
        """What a transfer asks for, where no register and nothing that is written decides that."""
        order = transfer.order
        if order is None or order.map is None:
            return order
        if self._by_map is None:
            self._by_map = self._of_maps()
        return self._by_map.get(transfer)

    def _of_maps(self) -> dict[Transfer, Order]:
        """The orders of tensor copies, if nothing ever writes a descriptor that one of them reads."""
        written, maps = 0, 0
        found: dict[Transfer, Order] = {}
        for code in self.machine.code:
            for operation in code:
                if not isinstance(operation, Transfer):
                    written |= operation.writes
                    continue
                order = operation.order
                if order is None:
                    return {}
                if order.map is not None:
                    segments = self.segments(order.map, MAP, Proxy.GENERIC) or ()
                    raw = 0
                    for location, offset in segments:
                        raw |= location.extract(self.layout.initial[location.line]) << 8 * offset
                    order = operation.expand(order, raw.to_bytes(MAP, "little"))
                    if order is None:
                        return {}
                    found[operation] = order
                    for location, _ in segments:
                        maps |= 1 << location.line
                written |= self._lines(order)[1]
        return {} if written & maps else found

    def _lines(self, order: Order) -> tuple[int, int]:
        """The lines that a known order reads and writes, as bits."""
        reads = writes = 0
        for run in order.runs:
            for address in (run.source, *run.targets):
                for location, _ in self.segments(address, run.size, Proxy.GENERIC) or () if address is not None else ():
                    if address == run.source:
                        reads |= 1 << location.line
                    else:
                        writes |= 1 << location.line
        for notice in order.notices:
            for location, _ in self.segments(notice.word, mbarriers.SIZE, Proxy.GENERIC) or ():
                reads |= 1 << location.line
                writes |= 1 << location.line
        return reads, writes

    def _pieces(self, run: Run) -> Iterator[Piece]:
        """A run cut where it can be told apart, without what nobody looks at."""
        ranges, points = self._look()
        offsets = {0, run.size}
        if not run.whole:
            for address in (run.source, *run.targets):
                if address is None:
                    continue
                first = self._physical(address)
                offsets.update(
                    p - first for p in points[bisect_right(points, first) : bisect_left(points, first + run.size)]
                )
                offsets.update(offset for _, offset in self.segments(address, run.size, Proxy.GENERIC) or ())
        bounds = sorted(offsets)
        for low, high in zip(bounds, bounds[1:], strict=False):
            targets = tuple(t + low for t in run.targets if _meets(ranges, self._physical(t) + low, high - low))
            if targets:
                fill = None if run.fill is None else run.fill >> 8 * low & (1 << 8 * (high - low)) - 1
                source = None if run.source is None else run.source + low
                yield Piece(source, targets, high - low, fill)

    # ---- commands

    def issue(self, state: State, transfer: Transfer, thread: int, order: Order) -> State:
        """A new command; what of it can be done with no difference to anyone is done."""
        command = Command(transfer, thread, 0, order.map, order.asked, order.element, (), ())
        command = self._ordered(command, order)
        commands = self.commands(state)
        position = sum(other.thread <= thread for other in commands)
        state = self._with_commands(state, (*commands[:position], command, *commands[position:]))
        return self._advance(state)

    def _ordered(self, command: Command, order: Order) -> Command:
        pieces = tuple(piece for run in order.runs for piece in self._pieces(run))
        landed = 0
        if command.transfer.proxy is not Proxy.GENERIC:
            for piece in pieces:
                for target in piece.targets:
                    for location, _ in self.segments(target, piece.size, Proxy.ASYNC) or ():
                        if self.machine.memory.home[location.line] is None:
                            landed |= 1 << location.line
        return command._replace(
            map=order.map, element=order.element, pieces=pieces, notices=order.notices, landed=landed
        )

    def _with(self, state: State, index: int, command: Command | None) -> State:
        commands = self.commands(state)
        rest = () if command is None else (command,)
        return self._with_commands(state, (*commands[:index], *rest, *commands[index + 1 :]))

    def _advance(self, state: State) -> State:
        """Reads what never changes, forgets commands that are over."""
        index = 0
        while index < len(self.commands(state)):
            command = self.commands(state)[index]
            if command.map is not None and self._is_constant(command.map, MAP):
                [(value, _)] = self.read(state, command.thread, command.map, MAP, Proxy.TENSORMAP)
                described = self._described_by(command, value)
                if described is None:
                    return self.machine.trap(state, command.thread)
                command = described
            pieces = tuple(self._known(state, command, piece) for piece in command.pieces)
            command = command._replace(pieces=tuple(piece for piece in pieces if piece.targets or piece.value is None))
            if command.map is None and not command.pieces and not command.notices:
                if command.transfer.group is Group.BULK:
                    state = refresh(self.machine, state, self.machine.levels.sm[command.thread], bits(command.landed))
                state = self._with(state, index, None)
                continue
            state = self._with(state, index, command)
            index += 1
        return state

    def _known(self, state: State, command: Command, piece: Piece) -> Piece:
        if piece.value is None and piece.source is not None and self._is_constant(piece.source, piece.size):
            [(value, _)] = self.read(state, command.thread, piece.source, piece.size, command.transfer.proxy)
            return piece._replace(value=value)
        return piece

    def _is_constant(self, address: int, size: int) -> bool:
        """Whether nothing ever writes a range."""
        if self._constant is None:
            written = 0
            for code in self.machine.code:
                for operation in code:
                    if isinstance(operation, Transfer):
                        written |= self._written(operation)
                    else:
                        written |= operation.writes
            self._constant = ~written
        lines = self.segments(address, size, Proxy.GENERIC) or ()
        return all(self._constant >> location.line & 1 for location, _ in lines)

    def _written(self, transfer: Transfer) -> int:
        order = self._known_order(transfer)
        return -1 if order is None else self._lines(order)[1]

    def _reads(self, state: State, sm: int) -> int:
        """The lines that commands of an SM may still read."""
        lines = 0
        for command in self.commands(state):
            if self.machine.levels.sm[command.thread] != sm:
                continue
            if command.map is not None:
                return -1
            for piece in command.pieces:
                if piece.value is None and piece.source is not None:
                    for location, _ in self.segments(piece.source, piece.size, command.transfer.proxy) or ():
                        lines |= 1 << location.line
        return lines

    # ---- steps

    def moves(self, state: State) -> Sequence[Move]:
        found: list[Move] = []
        commands = self.commands(state)
        for index, command in enumerate(commands):
            unit, thread, text = command.transfer.unit, command.thread, command.transfer.text
            if command.map is not None:
                for value, after in self.read(state, thread, command.map, MAP, Proxy.TENSORMAP):
                    act = (after, index, value)
                    found.append(Move(unit, thread, f"{text}: the descriptor is read", self._described, act))
                continue
            for number, piece in enumerate(command.pieces):
                if piece.value is None:
                    assert piece.source is not None
                    for value, after in self.read(state, thread, piece.source, piece.size, command.transfer.proxy):
                        what = f"{text}: {piece.size} bytes are read"
                        found.append(Move(unit, thread, what, self._read, (after, index, number, value)))
                    continue
                for target in piece.targets:
                    what = f"{text}: {piece.size} bytes land"
                    for before in self._overtaken(state, command, piece, target):
                        before_what = what + " before a load" if before else what
                        found.append(Move(unit, thread, before_what, self._land, (index, number, target, before)))
            for number, notice in enumerate(command.notices):
                if self._is_due(commands, index, notice):
                    what = f"{text}: its mbarrier is told"
                    found.append(Move(unit, thread, what, self._tell, (index, number)))
        return found

    def _is_due(self, commands: Sequence[Command], index: int, notice: Notice) -> bool:
        command = commands[index]
        if command.transfer.arrives:
            return not any(
                other.thread == command.thread and other.transfer.group is Group.COPY for other in commands[:index]
            )
        last = notice.first + notice.size
        return command.read and not any(
            notice.first <= target < last for piece in command.pieces for target in piece.targets
        )

    def _settled(self, state: State, thread: int) -> State:
        state = self._advance(state)
        if self.machine.trapped(state):
            return state
        return self.machine.settle(state, (thread,))

    def _described_by(self, command: Command, value: int) -> Command | None:
        order = Order(map=None, asked=command.asked, element=command.element)
        known = command.transfer.expand(order, value.to_bytes(MAP, "little"))
        return None if known is None else self._ordered(command, known)._replace(asked=None)

    def _described(self, _before: State, state: State, index: int, value: int) -> State:
        command = self.commands(state)[index]
        described = self._described_by(command, value)
        if described is None:
            return self.machine.trap(state, command.thread)
        return self._settled(self._with(state, index, described), command.thread)

    def _read(self, _before: State, state: State, index: int, number: int, value: int) -> State:
        command = self.commands(state)[index]
        piece = command.pieces[number]._replace(value=value)
        return self._settled(self._with(state, index, _replaced(command, number, piece)), command.thread)

    def _landing(self, state: State, command: Command, piece: Piece, target: int) -> int:
        """What a piece writes."""
        assert piece.value is not None
        if command.transfer.update is None:
            return piece.value
        assert command.element is not None
        return command.transfer.update(self.current(state, target, piece.size), piece.value, command.element)

    def _land(self, state: State, index: int, number: int, target: int, before: tuple[int, ...]) -> State:
        command = self.commands(state)[index]
        piece = command.pieces[number]
        value = self._landing(state, command, piece, target)
        state = self._reopened(state, before, target, piece.size, value)
        piece = piece._replace(targets=tuple(t for t in piece.targets if t != target))
        state = self._with(state, index, _replaced(command, number, piece))
        state = self.write(state, command.thread, target, piece.size, value, command.transfer.proxy)
        return self._settled(state, command.thread)

    def _tell(self, state: State, index: int, number: int) -> State:
        command = self.commands(state)[index]
        notice = command.notices[number]
        thread = command.thread
        segments = self.segments(notice.word, mbarriers.SIZE, Proxy.GENERIC)
        if segments is None or len(segments) > 1:
            return self.machine.trap(state, thread)
        location = segments[0][0]
        word = location.extract(state.memory[location.line])
        if command.transfer.arrives:
            after = mbarriers.changed(word, arrivals=notice.amount)
        else:
            after = mbarriers.changed(word, transactions=-notice.amount)
        if after is None:
            return self.machine.trap(state, thread)
        command = command._replace(notices=(*command.notices[:number], *command.notices[number + 1 :]))
        state = self._with(state, index, command)
        state = self.machine.memory.write(state, thread, location, after, True)
        return self._settled(state, thread)

    # ---- memory

    def read(self, state: State, thread: int, address: int, size: int, proxy: Proxy) -> list[tuple[int, State]]:
        """What a read through a proxy can find, and the state after it."""
        found = [(0, state)]
        for location, offset in self.segments(address, size, proxy) or ():
            found = [
                (known | value << 8 * offset, later)
                for known, after in found
                for value, later in self.machine.memory.read(after, thread, location, ALONE)
            ]
        return found

    def current(self, state: State, address: int, size: int) -> int:
        """What is in memory."""
        value = 0
        for location, offset in self.segments(address, size, Proxy.GENERIC) or ():
            value |= location.extract(state.memory[location.line]) << 8 * offset
        return value

    def write(self, state: State, thread: int, address: int, size: int, value: int, proxy: Proxy) -> State:
        """Bytes that come to memory; through the async proxy they belong to the SM that has them, or the issuer's."""
        memory, levels = self.machine.memory, self.machine.levels
        for location, offset in self.segments(address, size, proxy) or ():
            part = value >> 8 * offset & location.mask >> location.shift
            if proxy is Proxy.GENERIC:
                state = memory.write(state, thread, location, part, False)
                continue
            home = memory.home[location.line]
            if home is not None:
                state = memory._put(state, home, location, part, range(len(levels.ctas)))
            else:
                state = memory._put(state, levels.sm[thread], location, part, levels.below_memory)
                gpu = levels.gpu[levels.sm[thread]]
                if gpu is not None:
                    state = memory.fill(state, gpu, location.line)
                state = mark(self.machine, state, Proxy.GENERIC, (location.line,), range(len(levels.ctas)))
        return state

    # ---- loads that writes of the engine may come before

    def ready(self) -> None:
        """Notes the loads whose values nobody looks at before the end."""
        test, machine = self.machine.test, self.machine
        if test.grid_orders or any(isinstance(i, GridDependency) for t in test.threads for i in t.body):
            return
        written = 0
        for transfer in self.transfers:
            written |= self._written(transfer) if transfer.proxy is Proxy.ASYNC else 0
        seen = [set[int]() for _ in test.threads]
        for term in _terms(test):
            if isinstance(term, RegisterTerm) and term.name in machine.numbers[term.thread]:
                seen[term.thread].add(machine.numbers[term.thread][term.name])
        for thread, code in enumerate(machine.code):
            loops = [(operation.target, i) for i, operation in enumerate(code) if operation.target is not None]
            for i, load in enumerate(code):
                if type(load) is not Load or load.proxy is not Proxy.GENERIC or load.destination not in seen[thread]:
                    continue
                used = sum(load.destination in operation.needs for operation in code)
                if used == 1 and load.reads & written and not any(first <= i <= last for first, last in loops):
                    load.noted = self._noted

    def _noted(self, state: State, thread: int, load: Load, location: Location, value: int) -> State:
        part = cast(Flight, self.part(state))
        opened = (*part.opened, Opened(thread, load, location, value))
        opened = tuple(sorted(opened, key=lambda one: (one.thread, one.load.destination or 0)))
        return state.with_unit(self.number, part._replace(opened=opened))

    def close(self, state: State, lines: Iterable[int]) -> State:
        """A proxy fence: what the engine writes to lines from now on comes after the loads."""
        part = cast(Flight, self.part(state))
        closed = set(lines)
        opened = tuple(one for one in part.opened if one.location.line not in closed)
        return state if opened == part.opened else state.with_unit(self.number, part._replace(opened=opened))

    def _overtaken(self, state: State, command: Command, piece: Piece, target: int) -> list[tuple[int, ...]]:
        """The sets of open loads that a write may come before: they get what it writes."""
        opened = cast(Flight, self.part(state)).opened
        if not opened or command.transfer.proxy is not Proxy.ASYNC:
            return [()]
        value = self._landing(state, command, piece, target)
        some = [i for i, one in enumerate(opened) if self._merged_into(one, target, piece.size, value) != one.value]
        return [chosen for count in range(len(some) + 1) for chosen in combinations(some, count)]

    def _merged_into(self, one: Opened, target: int, size: int, value: int) -> int:
        """What an open load returns with bytes that are written."""
        place = one.location
        line = place.insert(0, one.value)
        for location, offset in self.segments(target, size, Proxy.ASYNC) or ():
            if location.line == place.line:
                part = value >> 8 * offset & location.mask >> location.shift
                line = location.insert(line, part)
        return place.extract(line)

    def _reopened(self, state: State, before: Iterable[int], target: int, size: int, value: int) -> State:
        for number in before:
            part = cast(Flight, self.part(state))
            one = part.opened[number]
            one = one._replace(value=self._merged_into(one, target, size, value))
            opened = (*part.opened[:number], one, *part.opened[number + 1 :])
            state = state.with_unit(self.number, part._replace(opened=opened))
            here = state.threads[one.thread]
            destination = one.load.destination
            assert destination is not None
            registers = (*here.registers[:destination], one.load.keep(one.value), *here.registers[destination + 1 :])
            state = state.with_thread(one.thread, here._replace(registers=registers))
        return state

    # ---- groups

    def commit(self, state: State, thread: int, group: Group) -> State:
        """What the thread has started of a kind, and not committed, is a group; earlier ones are older by one."""
        commands = tuple(
            c._replace(age=c.age + 1) if c.thread == thread and c.transfer.group is group else c
            for c in self.commands(state)
        )
        return self._with_commands(state, commands)

    def done(self, state: State, thread: int, group: Group, pending: int, reads: bool) -> bool:
        """Whether all but the latest groups of a kind are over, or have read all that they read."""
        return all(
            command.age <= pending or (reads and command.read)
            for command in self.commands(state)
            if command.thread == thread and command.transfer.group is group
        )


def _replaced(command: Command, number: int, piece: Piece) -> Command:
    return command._replace(pieces=(*command.pieces[:number], piece, *command.pieces[number + 1 :]))


def bits(number: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    return (i for i in range(number.bit_length()) if number >> i & 1)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Disjoint ranges, ascending."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _meets(ranges: Sequence[tuple[int, int]], first: int, size: int) -> bool:
    """Whether a range meets one of several."""
    number = bisect_left(ranges, (first + size, 0)) - 1
    return number >= 0 and ranges[number][1] > first


def _terms(test: Test) -> Iterator[Observable]:
    """What of a final state anything looks at."""
    pending: list[Prop | None] = [test.filter, None if test.condition is None else test.condition.prop]
    yield from test.observed
    while pending:
        match pending.pop():
            case Compare(left=left, right=right):
                yield from (term for term in (left, right) if not isinstance(term, NumberTerm))
            case Not(body=body):
                pending.append(body)
            case And(parts=parts) | Or(parts=parts):
                pending += parts
            case _:
                pass
