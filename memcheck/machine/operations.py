"""What a thread executes: its instructions lowered, one operation for each step that can be told apart.

An operation starts when its registers are there. What then is left to be done at any later time goes into the thread's
window; what has to wait at the instruction offers moves until it can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcheck.machine.state import Entry, State

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

Source = Callable[[Sequence[int | None]], int]
"""An operand's value, from the registers of its thread; all that it needs are there."""


class Move(NamedTuple):
    """One possible step: `act(state, *arguments)` gives the state after it. `thread`: whose, None for no thread's."""

    unit: str
    thread: int | None
    text: str
    act: Callable[..., State]
    arguments: tuple[object, ...]


class Operation:
    """`needs`: numbers of the registers that must be there; `guard`: (register, negated)."""

    needs: tuple[int, ...] = ()
    guard: tuple[int, bool] | None = None
    text: str = ""
    reads = 0
    writes = 0
    """The lines that it may look at and change, as bits: -1 for any."""
    target: int | None = None
    """Where a branch goes."""
    level = 0
    """How far up it goes: see `levels`."""
    uses_seen = False
    """It is an acquire, or one with fence.sc."""
    hands_on = False
    """What its SM knows may go to others with it."""
    in_order = False
    """It is a fence.sc, for other threads too."""
    falls_through = True
    """Whether the next operation can follow."""

    def guarded(self, register: int, negated: bool) -> None:
        """It is done only where a predicate says so; else the thread goes on behind it."""
        self.guard = register, negated

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        """The state after the operation has started, `pc` moved on; None where it has to wait.

        Nothing that another thread could be first to do may make a difference: it is taken at once.
        """
        raise NotImplementedError

    def moves(self, machine: Machine, state: State, thread: int) -> Sequence[Move]:
        """What else can happen while the thread stands at the operation: steps that others may forestall."""
        del machine, state, thread
        return ()


class WindowOperation(Operation):
    """An operation that is performed some time after it has started."""

    is_load = False
    is_store = False
    is_marker = False
    returns = False
    """Something comes back to the thread, which does not exit before."""
    strong = False
    """Of a scope that includes other threads: stays behind the release fences before it."""
    observes = False
    """A strong read of an acquire pattern: acquire fences wait for it."""
    releases = False
    """It releases, by itself or as a fence in front of later strong writes."""
    acquires = False
    """Nothing after it starts before it is performed."""

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        """The ways in which the entry at `position` of the window, which nothing before it holds up, is performed."""
        raise NotImplementedError


def without(window: tuple[Entry, ...], position: int) -> tuple[Entry, ...]:
    """A window after one of its entries has been performed."""
    return (*window[:position], *window[position + 1 :])
