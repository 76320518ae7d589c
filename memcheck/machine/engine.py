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

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from memcheck.machine import mbarriers
from memcheck.machine.commands import MAP, Command, Flight, Notice, Order, Piece, Transfer
from memcheck.machine.footprints import Footprints
from memcheck.machine.levels import ALONE
from memcheck.machine.machine import from_there_on
from memcheck.machine.memory import Reading
from memcheck.machine.opened import Opening
from memcheck.machine.operations import Move, Operation
from memcheck.machine.staleness import mark, refresh, renew, stale
from memcheck.machine.state import ENDED, Location, State
from memcheck.machine.units import Unit
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.qualifiers import Proxy

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


class Engine(Unit):
    """All commands in flight; its part: them, by thread, in the order of their issue."""

    name = "engine"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.places = Footprints(machine)
        self.opening = Opening(machine, self.places)
        self.later: list[list[tuple[int, int]]] = []
        """By thread and position: the lines that its copies from there on read and write, as bits."""
        alive, memory = machine.memory.alive, machine.memory
        memory.alive = lambda state, sm: alive(state, sm) | self._reads(state, sm)
        self._store, self._update = memory.write, memory.update
        memory.write = self._noted  # type: ignore[method-assign]
        memory.update = self._updated  # type: ignore[method-assign]

    def _noted(
        self, state: State, thread: int, location: Location, value: int, strong: bool,
        level: int = 0, releases: bool = False,
    ) -> State:  # fmt: skip
        state = self._store(state, thread, location, value, strong, level, releases)
        return self.opening.stored(state, location)

    def _updated(
        self, state: State, thread: int, location: Location, level: int, function: Callable[[int], int | None],
        releases: bool = False, observes: bool = False,
    ) -> list[Reading]:  # fmt: skip
        found = self._update(state, thread, location, level, function, releases, observes)
        return [(old, after if function(old) is None else self.opening.stored(after, location)) for old, after in found]

    def commands(self, state: State) -> tuple[Command, ...]:
        return cast(Flight, self.part(state)).commands

    def ready(self) -> None:
        self.opening.number = self.number
        self.opening.ready()
        for code in self.machine.code:
            touched = [self._touched(operation) for operation in code]
            rows = [from_there_on(code, [lines[i] for lines in touched]) for i in range(2)]
            self.later.append(list(zip(*rows, strict=True)))

    def _touched(self, operation: Operation) -> tuple[int, int]:
        """The lines that an operation reads and writes through the async proxy, as bits."""
        if not isinstance(operation, Transfer) or operation.proxy is not Proxy.ASYNC:
            return 0, 0
        order = self.places.known_order(operation)
        return (-1, -1) if order is None else self.places.lines(order)

    def views(self) -> Iterable[int]:
        return self.places.written_views()

    def initial(self) -> Flight:
        return Flight()

    def _with_commands(self, state: State, commands: tuple[Command, ...]) -> State:
        return state.with_unit(self.number, cast(Flight, self.part(state))._replace(commands=commands))

    def idle(self, state: State) -> bool:
        return not self.commands(state)

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
        pieces = tuple(piece for run in order.runs for piece in self.places.pieces(run))
        landed = 0
        if command.transfer.proxy is not Proxy.GENERIC:
            for piece in pieces:
                for target in piece.targets:
                    for location, _ in self.places.segments(target, piece.size, Proxy.ASYNC) or ():
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
            if command.map is not None and self.places.is_constant(command.map, MAP):
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
        if piece.value is None and piece.source is not None and self.places.is_constant(piece.source, piece.size):
            [(value, _)] = self.read(state, command.thread, piece.source, piece.size, command.transfer.proxy)
            return piece._replace(value=value)
        return piece

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
                    for location, _ in self.places.segments(piece.source, piece.size, command.transfer.proxy) or ():
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
                        landing = (index, number, target, before, False)
                        found.append(Move(unit, thread, before_what, self._land, landing))
                    if self._is_below(state, command, piece, target):
                        landing = (index, number, target, (), True)
                        found.append(Move(unit, thread, what + " below a store", self._land, landing))
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

    def _overtaken(self, state: State, command: Command, piece: Piece, target: int) -> list[tuple[int, ...]]:
        """The sets of open loads that a piece may land before."""
        if command.transfer.proxy is not Proxy.ASYNC or not cast(Flight, self.part(state)).opened:
            return [()]
        return self.opening.overtaken(state, target, piece.size, self._landing(state, command, piece, target))

    def _is_below(self, state: State, command: Command, piece: Piece, target: int) -> bool:
        """Whether a store may end up on top of the piece."""
        if command.transfer.proxy is not Proxy.ASYNC or command.transfer.update is not None:
            return False
        if not cast(Flight, self.part(state)).unpublished:
            return False
        segments = self.places.segments(target, piece.size, Proxy.ASYNC) or ()
        return any(self.opening.above(state, location) for location, _ in segments)

    def _land(
        self, state: State, index: int, number: int, target: int, before: tuple[int, ...], below: bool
    ) -> State:  # fmt: skip
        command = self.commands(state)[index]
        piece = command.pieces[number]
        value = self._landing(state, command, piece, target)
        state = self.opening.reopened(state, before, target, piece.size, value)
        piece = piece._replace(targets=tuple(t for t in piece.targets if t != target))
        state = self._with(state, index, _replaced(command, number, piece))
        state = self.write(state, command.thread, target, piece.size, value, command.transfer.proxy, below)
        return self._settled(state, command.thread)

    def _tell(self, state: State, index: int, number: int) -> State:
        command = self.commands(state)[index]
        notice = command.notices[number]
        thread = command.thread
        segments = self.places.segments(notice.word, mbarriers.SIZE, Proxy.GENERIC)
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
        for location, offset in self.places.segments(address, size, proxy) or ():
            found = [
                (known | value << 8 * offset, later)
                for known, after in found
                for value, later in self.machine.memory.read(after, thread, location, ALONE)
            ]
        return found

    def current(self, state: State, address: int, size: int) -> int:
        """What is in memory."""
        value = 0
        for location, offset in self.places.segments(address, size, Proxy.GENERIC) or ():
            value |= location.extract(state.memory[location.line]) << 8 * offset
        return value

    def write(
        self, state: State, thread: int, address: int, size: int, value: int, proxy: Proxy, below: bool = False
    ) -> State:  # fmt: skip
        """Bytes that come to memory; through the async proxy they belong to the SM that has them, or the issuer's.

        `below`: stores that no fence has published stay on top.
        """
        memory = self.machine.memory
        for location, offset in self.places.segments(address, size, proxy) or ():
            part = value >> 8 * offset & location.mask >> location.shift
            if proxy is Proxy.GENERIC:
                state = memory.write(state, thread, location, part, False)
                continue
            kept = self.opening.above(state, location) if below else 0
            if kept:
                part = location.extract(location.insert(0, part) & ~kept | state.memory[location.line] & kept)
            else:
                state = self.opening.landed(state, location)
            state = self._put(state, thread, location, part)
        return state

    def _put(self, state: State, thread: int, location: Location, part: int) -> State:
        """A write through the async proxy; generic loads find it at its own address, whatever other addresses have."""
        memory, levels = self.machine.memory, self.machine.levels
        line = location.line
        home = memory.home[line]
        if home is not None:
            state = memory._put(state, home, location, part, range(len(levels.ctas)))
        else:
            state = memory._put(state, levels.sm[thread], location, part, levels.below_memory)
            gpu = levels.gpu[levels.sm[thread]]
            if gpu is not None:
                state = memory.fill(state, gpu, line)
            state = mark(self.machine, state, Proxy.GENERIC, (line,), range(len(levels.ctas)))
        if memory.several >> line & 1:
            own = self.machine.layout.views[location.view].address
            state = renew(self.machine, state, line, own)
        return state

    def may_come_first(self, state: State, thread: int, lines: Iterable[int]) -> bool:
        """Whether copies may do before a proxy fence of a thread, for lines, what they may not do after it."""
        old = stale(self.machine, state, Proxy.ASYNC, lines)
        covered = self.opening.covered(state, lines)
        if not old and not covered:
            return False
        some = [self._left(command) for command in self.commands(state) if command.transfer.proxy is Proxy.ASYNC]
        for other, here in enumerate(state.threads):
            if other != thread and here.mode != ENDED:
                some.append(self.later[other][here.pc])
        return any(reads & old or writes & covered for reads, writes in some)

    def _left(self, command: Command) -> tuple[int, int]:
        """The lines that a command has still to read and to write, as bits."""
        if command.map is not None:
            return self._touched(command.transfer)
        reads = writes = 0
        for piece in command.pieces:
            for target in piece.targets:
                writes |= self._bits(target, piece.size)
            if piece.value is None and piece.source is not None:
                reads |= self._bits(piece.source, piece.size)
        return reads, writes

    def _bits(self, address: int, size: int) -> int:
        return sum(1 << location.line for location, _ in self.places.segments(address, size, Proxy.ASYNC) or ())

    def close(self, state: State, lines: Iterable[int]) -> State:
        """A proxy fence: what the engine writes to lines from now on comes after all loads."""
        return self.opening.close(state, lines)

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
