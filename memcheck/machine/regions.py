"""Where the lanes of a warp part and meet again: the divergent regions of a body, and the barriers for them.

A region is what lies between a branch at which lanes may part and its immediate postdominator, the first instruction
that all of them come to again, but for those that exit before. A loop is one region: its lanes leave it one after the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memcheck.language.test import Thread
from memcheck.ptx.instructions import Arithmetic, Branch, Exit, Instruction, Nop

BARRIERS = 15
"""B0 to B14 of a warp; B15 in an encoding says that there is none."""


@dataclass(frozen=True, slots=True)
class Region:
    """Instructions by number: `entry`, where its lanes are still together, `body`, and `end`, where they meet again.

    `barrier`: which of a warp's. `spills`: the region around it has the barrier too, which is kept in a register.
    """

    entry: int
    body: frozenset[int]
    end: int
    barrier: int = 0
    spills: bool = False


def regions(thread: Thread) -> tuple[Region, ...]:
    """The divergent regions of a thread's body, those around others first."""
    after = successors(thread)
    post = _postdominators(thread, after)
    bodies: dict[int, set[int]] = {}
    for index, instruction in enumerate(thread.body):
        if isinstance(instruction, Branch) and len(after[index]) > 1 and index in post:
            end = max(post[index] - {index}, key=lambda one: len(post[one]))
            if end < len(thread.body):
                bodies.setdefault(end, set()).update(_between(after, index, end))
    found = []
    for end, inside in bodies.items():
        entries = {i for i in inside if i == 0 or any(i in after[j] for j in range(len(after)) if j not in inside)}
        found += [Region(entry, frozenset(_between(after, entry, end)), end) for entry in entries]
    found.sort(key=lambda region: (-len(region.body), region.entry))
    return _numbered(found)


def successors(thread: Thread) -> list[set[int]]:
    """For each instruction those that can follow it; the number of instructions stands for the thread's exit."""
    count = len(thread.body)
    found = []
    for index, instruction in enumerate(thread.body):
        match instruction:
            case Branch():
                after = {thread.labels[instruction.target]}
                falls = instruction.guard is not None or instruction.compare is not None
            case Exit():
                after, falls = {count}, instruction.guard is not None
            case _:
                after, falls = set(), True
        found.append(after | {index + 1} if falls else after)
    return [*found, set()]


def sleeps(instruction: Instruction) -> bool:
    """Whether it is `nanosleep`, which yields."""
    return isinstance(instruction, Nop) and "nanosleep" in instruction.text


def yields(thread: Thread, index: int) -> bool:
    """Whether a branch gets a YIELD: it goes back to what waits for something."""
    instruction = thread.body[index]
    assert isinstance(instruction, Branch)
    loop = thread.body[thread.labels[instruction.target] : index]
    return any(_waits(one) for one in loop)


def _waits(instruction: Instruction) -> bool:
    return not isinstance(instruction, Arithmetic | Branch | Exit | Nop)


def _postdominators(thread: Thread, after: Sequence[set[int]]) -> dict[int, set[int]]:
    """For each instruction those that every way from it to the end comes by, itself among them.

    The end is behind the last instruction. What does not lead there, but to an exit before or nowhere, is left out.
    """
    end = len(thread.body)
    early = {i for i, one in enumerate(thread.body) if isinstance(one, Exit) and i < end - 1}
    ways = {i: {j for j in following if j < end or i not in early} for i, following in enumerate(after)}
    leading = {end}
    while found := {i for i, following in ways.items() if following & leading} - leading:
        leading |= found
    post = {i: set(leading) for i in leading}
    post[end] = {end}
    changed = True
    while changed:
        changed = False
        for index in sorted(leading - {end}, reverse=True):
            common = {index} | set.intersection(*(post[j] for j in ways[index] & leading))
            if common != post[index]:
                post[index], changed = common, True
    return post


def _between(after: Sequence[set[int]], start: int, end: int) -> set[int]:
    """The instructions that are reached from `start` without `end`."""
    found, pending = {start}, [start]
    while pending:
        for one in after[pending.pop()] - found - {end, len(after) - 1}:
            found.add(one)
            pending.append(one)
    return found


def _numbered(found: Sequence[Region]) -> tuple[Region, ...]:
    """Barriers for regions: each its own while there are some, but for those that nothing encloses or is beside."""
    numbered: list[Region] = []
    for region in found:
        others = [one for one in numbered if not one.body.isdisjoint(region.body)]
        taken = {one.barrier for one in numbered}
        around = {one.barrier for one in others}
        free = [b for b in range(BARRIERS) if b not in taken] or [b for b in range(BARRIERS) if b not in around]
        numbered.append(replace(region, barrier=min(free, default=0), spills=not free))
    return tuple(numbered)
