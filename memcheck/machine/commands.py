"""What the engine is told and what of it is still to be done (ISA 9.7.10.28)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcheck.machine import mbarriers
from memcheck.machine.accesses import Load, overlap
from memcheck.machine.fences import passed
from memcheck.machine.levels import SYSTEM
from memcheck.machine.operations import Operation
from memcheck.machine.state import Location, State
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.qualifiers import Proxy
from memcheck.ptx.types import ScalarType

if TYPE_CHECKING:
    from memcheck.machine.engine import Engine
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
    unpublished: tuple[tuple[int, int], ...] = ()
    """By line: the bits that generic writes have changed last, with no proxy fence since."""


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
        mine = [
            location for place in places for location, _ in self.engine.places.segments(*place, Proxy.GENERIC) or ()
        ]
        older = [entry.location for entry in window if entry.location is not None]
        return any(overlap(one, other) for one in older for other in mine)
