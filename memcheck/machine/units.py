"""What a unit of the machine is: barriers, grids, copy engines beside the threads and memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from memcheck.machine.operations import Move
from memcheck.machine.state import State


class Unit:
    """`number`: where its part is in `State.units`, set by the machine."""

    name = ""
    number = 0

    def ready(self) -> None:
        """All threads have been lowered."""

    def initial(self) -> Hashable:
        """Its part of the state at the start."""
        return ()

    def views(self) -> Iterable[int]:
        """The views of lines that it writes by itself."""
        return ()

    def begin(self, state: State) -> State:
        """What it changes elsewhere before the threads start."""
        return state

    def moves(self, state: State) -> Sequence[Move]:
        """What it can do in a state by itself."""
        del state
        return ()

    def exited(self, state: State, thread: int) -> State:
        """What follows at once from the exit of a thread."""
        del thread
        return state

    def idle(self, state: State) -> bool:
        """Whether nothing that it has taken on is left to do: no run ends before."""
        del state
        return True

    def part(self, state: State) -> Hashable:
        """Its own part of a state."""
        return state.units[self.number]

    def shown(self, state: State) -> Mapping[str, str]:
        """What a trace tells of its part: the state, in words, of each thing that it has."""
        del state
        return {}
