"""The loops of a thread: where backward branches go, which loops only read, which registers they carry round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from memcheck.events.observed import looked_at
from memcheck.language.test import RegisterTerm, Test, Thread
from memcheck.ptx.instructions import (
    Arithmetic,
    Atom,
    AtomOp,
    Branch,
    Exit,
    Fence,
    Instruction,
    Load,
    Multimem,
    MultimemKind,
    Nop,
    ProxyFence,
)
from memcheck.ptx.operands import Address, Guard, Register


@dataclass(frozen=True, slots=True)
class Loop:
    """Instructions start … end, from the target of a backward branch to the last branch back into the loop.

    `spin`: as far as the text tells, its body only reads and carries nothing round; a cas in it must still be shown
    to fail whenever the loop goes round. `polls_no_object`: a round of the spin may be misuse by itself.
    """

    start: int
    end: int
    spin: bool
    polls_no_object: bool = False

    def __contains__(self, pc: int) -> bool:
        return self.start <= pc <= self.end


class Loops(NamedTuple):
    """All loops of a thread; any two are disjoint or nested. `around[pc]`: those around it, outermost first."""

    every: tuple[Loop, ...]
    around: tuple[tuple[Loop, ...], ...]

    def closing(self, branch: int, target: int) -> Loop:
        """The loop that a backward branch goes round."""
        return [loop for loop in self.around[branch] if target in loop][-1]


def _registers(part: object) -> Iterator[str]:
    if isinstance(part, Register):
        yield part.name
    elif isinstance(part, Address):
        yield from _registers(part.base)
    elif isinstance(part, Guard):
        yield from _registers(part.register)
    elif isinstance(part, tuple):
        for element in part:
            yield from _registers(element)


def registers_written(instruction: Instruction) -> frozenset[str]:
    """Names of the destination registers."""
    found: set[str] = set()
    for field in ("destinations", "destination"):
        part = getattr(instruction, field, None)
        # that of a copy is an address, made from registers
        found.update(_registers(part) if not isinstance(part, Address) else ())
    return frozenset(found)


def registers_read(instruction: Instruction) -> frozenset[str]:
    """Names of the source registers, the guard's among them."""
    found: set[str] = set()
    for field in (one.name for one in fields(instruction)):
        part = getattr(instruction, field)
        if field not in ("destinations", "destination") or isinstance(part, Address):
            found.update(_registers(part))
    return frozenset(found)


def successors(thread: Thread, pc: int) -> tuple[int, ...]:
    """Where control can go from instruction `pc`; len(body) is the end."""
    instruction = thread.body[pc]
    conditional = instruction.guard is not None
    if isinstance(instruction, Branch):
        target = thread.labels[instruction.target]
        return (target, pc + 1) if conditional or instruction.compare is not None else (target,)
    if isinstance(instruction, Exit):
        return (len(thread.body), pc + 1) if conditional else (len(thread.body),)
    return (pc + 1,)


def live_registers(test: Test, thread: Thread) -> list[frozenset[str]]:
    """For each instruction and the end: the registers whose value before it can still matter."""
    end = len(thread.body)
    observed = {t.name for t in looked_at(test) if isinstance(t, RegisterTerm) and t.thread == thread.index}
    live = [frozenset[str]() for _ in range(end)] + [frozenset(observed)]
    read = [registers_read(i) for i in thread.body]
    written = [registers_written(i) if i.guard is None else frozenset[str]() for i in thread.body]
    changed = True
    while changed:
        changed = False
        for pc in range(end - 1, -1, -1):
            after = frozenset[str]().union(*(live[s] for s in successors(thread, pc)))
            before = read[pc] | (after - written[pc])
            if before != live[pc]:
                live[pc] = before
                changed = True
    return live


def _only_reads(instruction: Instruction) -> bool:
    if isinstance(instruction, Load | Arithmetic | Nop | Fence | ProxyFence | Branch | Exit):
        return True
    if isinstance(instruction, Atom):
        return instruction.op is AtomOp.CAS and not instruction.is_red
    if isinstance(instruction, Multimem):
        return instruction.kind is MultimemKind.LD_REDUCE
    return type(instruction).__name__ == "MbarrierWait"  # without an import that most tests do not need


def _intervals(thread: Thread) -> list[tuple[int, int]]:
    """Backward branches as intervals, merged until any two are disjoint or nested with different starts."""
    found: dict[int, int] = {}
    for pc, instruction in enumerate(thread.body):
        if isinstance(instruction, Branch) and thread.labels[instruction.target] <= pc:
            target = thread.labels[instruction.target]
            found[target] = max(found.get(target, pc), pc)
    intervals = sorted(found.items())
    merged = True
    while merged:
        merged = False
        for i, (a, b) in enumerate(intervals):
            for j in range(i + 1, len(intervals)):
                c, d = intervals[j]
                if a < c <= b < d:
                    intervals[i] = (a, d)
                    del intervals[j]
                    merged = True
                    break
            if merged:
                break
    return intervals


def _polls_no_object(test: Test, body: Sequence[Instruction]) -> bool:
    """Whether it may wait on an mbarrier before its init or after its inval."""
    if not any(hasattr(instruction, "mbarrier") for instruction in body):
        return False
    from memcheck.ptx.asynchronous import MbarrierInit, MbarrierInval

    return any(isinstance(i, MbarrierInit | MbarrierInval) for thread in test.threads for i in thread.body)


def find_loops(test: Test, thread: Thread) -> Loops:
    """The loops of a thread, inner ones classified before outer ones."""
    intervals = _intervals(thread)
    if not intervals:
        return Loops((), ((),) * (len(thread.body) + 1))
    live = live_registers(test, thread)
    loops: list[Loop] = []
    for start, end in sorted(intervals, key=lambda interval: interval[1] - interval[0]):
        body = thread.body[start : end + 1]
        spin = all(map(_only_reads, body))
        spin = spin and all(loop.spin for loop in loops if loop.start in range(start, end + 1))
        spin = spin and not live[start] & frozenset[str]().union(*map(registers_written, body))
        inner = [loop for loop in loops if loop.start in range(start, end + 1)]
        for pc, _instruction in enumerate(thread.body):
            for target in successors(thread, pc):
                # into the middle: from outside, or round by another way than an inner loop's
                outside = not start <= pc <= end
                round_it = target <= pc and not any(pc in loop and target in loop for loop in inner)
                if start < target <= end and (outside or round_it):
                    spin = False
        loops.append(Loop(start, end, spin, spin and _polls_no_object(test, body)))
    loops.sort(key=lambda loop: (loop.start, -loop.end))
    around = [tuple(loop for loop in loops if pc in loop) for pc in range(len(thread.body) + 1)]
    return Loops(tuple(loops), tuple(around))
