"""Partial-order reduction: of the possible steps, a few that stand for all (persistent sets).

Where an access in a thread's window touches a line that no other thread may change any more, nor look at if it is a
write, whatever the others do first makes no difference to it, nor it to them: it is enough to look at its outcomes.
Final states, and states from which none is reached, stay the same; whoever explores has to look at all steps where the
few lead to nothing new, so that nobody is put off for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.machine.accesses import held_up
from memcheck.machine.machine import Machine
from memcheck.machine.operations import Move
from memcheck.machine.stamps import StampedMemory
from memcheck.machine.state import Entry, State


class Reduction:
    """For tests without asynchronous operations and without L2s apart from memory."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.usable = machine.synchronous and not machine.levels.gpus
        self.stamped = isinstance(machine.memory, StampedMemory)

    def moves(self, state: State) -> Sequence[Move]:
        """Steps that stand for all; none where there are no such few."""
        if not self.usable:
            return ()
        machine = self.machine
        futures = [machine.future(state, thread) for thread in range(len(state.threads))]
        held = 0
        for level in state.sms:
            for one in level.held:
                if one.location is not None:
                    held |= 1 << one.location.line
        for thread, here in enumerate(state.threads):
            if not here.window:
                continue
            reads, writes = 0, held
            for other, (others_reads, others_writes) in enumerate(futures):
                if other != thread:
                    reads |= others_reads
                    writes |= others_writes
            found = self._of_thread(state, thread, reads, writes)
            if found:
                return found
        return self._of_levels(state, futures) if held else ()

    def _of_thread(self, state: State, thread: int, reads: int, writes: int) -> Sequence[Move]:
        """The outcomes of one access that the lines which others read and write leave alone."""
        window = state.threads[thread].window
        before = self.machine.several
        for position, entry in enumerate(window):
            if entry.location is None:
                continue
            line = 1 << entry.location.line
            if before & line:
                continue
            before |= line
            if (reads | writes if entry.operation.writes else writes) & line:
                continue
            if held_up(window, position) or not self._is_free(state, thread, entry):
                continue
            found = entry.operation.perform(self.machine, state, thread, position)
            if found:
                return found
        return ()

    def _is_free(self, state: State, thread: int, entry: Entry) -> bool:
        """Whether the access leaves alone what its SM's other threads, and its own later loads, may find."""
        levels, memory = self.machine.levels, self.machine.memory
        assert entry.location is not None
        sm = levels.sm[thread]
        position = memory.place[sm].get(entry.location.view)
        if not self.stamped and position is not None and len(state.sms[sm].views[position]) > 1:
            return False
        if len(levels.threads_of_sm[sm]) == 1 or levels.single:
            return True
        return not entry.operation.strong

    def _of_levels(self, state: State, futures: Sequence[tuple[int, int]]) -> Sequence[Move]:
        """A write that an SM holds and that nobody outside the SM is concerned with."""
        levels = self.machine.levels
        for move in self.machine.memory.pushes(state):
            sm, position = move.arguments
            assert isinstance(sm, int)
            assert isinstance(position, int)
            location = state.sms[sm].held[position].location
            assert location is not None
            line = 1 << location.line
            concerned = any(
                (reads | writes) & line for thread, (reads, writes) in enumerate(futures) if levels.sm[thread] != sm
            ) or any(
                one.location is not None and one.location.line == location.line
                for other, level in enumerate(state.sms)
                if other != sm
                for one in level.held
            )
            if not concerned and not self.machine.several & line:
                return (move,)
        return ()
