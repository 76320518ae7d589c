"""Warps: which lanes run the same code, and what holds lanes of a warp together.

Threads of one warp whose bodies are the same, word for word, are lanes of one body, as a kernel's are; other bodies are
arms of a branch in front of everything. How the lanes of a warp go on is the `Warps` unit's: independently, with
convergence barriers (`convergence`), or on a reconvergence stack (`stack`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck.language.test import Thread
from memcheck.machine.operations import Operation
from memcheck.machine.regions import Region, regions
from memcheck.machine.registers import Jump
from memcheck.machine.state import State
from memcheck.machine.units import Unit
from memcheck.ptx.instructions import Branch

if TYPE_CHECKING:
    from memcheck.machine.lowering import Lowering
    from memcheck.machine.machine import Machine

INDEPENDENT = "independent"
STACK = "stack"
SCHEDULINGS = (INDEPENDENT, STACK)
"""Every lane has a program counter of its own, since Volta; a warp has one, and a stack, before."""


class Warps(Unit):
    """Common to both. `warps`: for each warp of several lanes its threads by lane; `warp_of`: by thread, its warp.

    `alike`: for each warp the threads of each body; `regions`: by thread, those in which it may part from others.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        several = {place: lanes for place, lanes in machine.levels.warps.items() if len(lanes) > 1}
        self.places = list(several)
        self.warps = list(several.values())
        self.warp_of = {thread: number for number, lanes in enumerate(self.warps) for thread in lanes.values()}
        self.alike = [alike([machine.test.threads[thread] for thread in lanes.values()]) for lanes in self.warps]
        self.regions: dict[int, tuple[Region, ...]] = {}
        for group in (group for groups in self.alike for group in groups if len(group) > 1):
            self.regions.update(dict.fromkeys(group, regions(machine.test.threads[group[0]])))

    @property
    def matters(self) -> bool:
        """Whether it holds any lane of the test."""
        return bool(self.warps)

    def bit(self, thread: int) -> int:
        """A thread's lane as a bit."""
        return 1 << self.machine.test.threads[thread].place.lane

    def mask(self, threads: Sequence[int]) -> int:
        """Lanes as bits."""
        return sum(self.bit(thread) for thread in threads)

    def threads(self, warp: int, mask: int) -> list[int]:
        """The threads of lanes."""
        return [thread for lane, thread in self.warps[warp].items() if mask >> lane & 1]

    def name_of(self, warp: int) -> str:
        """A warp in words; the only one needs none."""
        cta, number = self.places[warp]
        return "" if len(self.places) == 1 else f" of warp {number} of CTA {cta}"

    def mates(self, thread: int) -> Sequence[int]:
        """The threads, itself among them, that run a thread's body in its warp."""
        warp = self.warp_of.get(thread)
        return (thread,) if warp is None else next(group for group in self.alike[warp] if thread in group)

    def before(self, lowering: Lowering, index: int) -> None:
        """Adds what stands in front of an instruction of a body."""
        raise NotImplementedError

    def branch(self, thread: Thread, instruction: Branch, jump: Jump) -> Jump:
        """What a thread's branch becomes."""
        raise NotImplementedError


def alike(threads: Sequence[Thread]) -> tuple[tuple[int, ...], ...]:
    """Threads by the body that they run."""
    groups: dict[object, list[int]] = {}
    for thread in threads:
        code = tuple(one.text for one in thread.body), tuple(sorted(thread.labels.items()))
        groups.setdefault(code, []).append(thread.index)
    return tuple(tuple(group) for group in groups.values())


def lanes(mask: int) -> str:
    """Lanes in words: `lanes 0 1 5`."""
    numbers = [str(lane) for lane in range(mask.bit_length()) if mask >> lane & 1]
    return f"{'lane' if len(numbers) == 1 else 'lanes'} {' '.join(numbers)}" if numbers else "no lane"


class Mark(Operation):
    """An operation that no PTX instruction is."""

    def __init__(self, unit: Warps, text: str) -> None:
        self.unit = unit
        self.text = text

    def next(self, state: State, thread: int) -> State:
        """The thread behind it."""
        here = state.threads[thread]
        return state.with_thread(thread, here.at(here.pc + 1))
