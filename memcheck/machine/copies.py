"""cp.async (LDGSTS), groups and their waits (LDGDEPBAR, DEPBAR.LE), and arrivals that wait for copies.

A copy reads through the thread's SM and writes its shared memory by the generic proxy, after what the thread did before
to these bytes and at no particular time from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memcheck.machine import mbarriers
from memcheck.machine.commands import Notice, Order, Run, Transfer
from memcheck.machine.engine import Engine
from memcheck.machine.fences import passed
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Operation
from memcheck.machine.state import State
from memcheck.ptx import asynchronous as ptx
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Register
from memcheck.ptx.qualifiers import Proxy, Space

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine


def start(lowering: Lowering, transfer: Transfer, instruction: Instruction) -> None:
    """Adds a transfer, with its order where no register has a part in it."""
    if not lowering.needs:
        transfer.order = transfer.build(())
    transfer.engine.places.track(lowering.levels.sm[lowering.thread.index], transfer)
    lowering.add(transfer, instruction)


def unit(lowering: Lowering) -> Engine:
    """The engine of the machine."""
    found = lowering.machine.unit(Engine)
    assert isinstance(found, Engine)
    return found


def copy(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async`: bytes of the source, and zeros behind them."""
    assert isinstance(instruction, ptx.CopyAsync)
    size, layout, own = instruction.size, lowering.layout, lowering.thread.place.cta
    destination = lowering.address(instruction.destination, Space.SHARED_CTA)
    source = lowering.address(instruction.source, Space.GLOBAL)
    given = None if instruction.source_size is None else lowering.source(instruction.source_size, 32)
    ignore = None if instruction.ignore is None else lowering.source(instruction.ignore, 1)
    negated = instruction.ignore_negated

    def build(registers: Sequence[int | None]) -> Order | None:
        there = size if given is None else given(registers)
        if ignore is not None and bool(ignore(registers)) is not negated:
            there = 0
        start, end = source(registers), destination(registers)
        target = layout.region(end, size)
        if there > size or end % size or target is None or target.cta != own:
            return None
        runs = []
        if there:
            region = layout.region(start, there)
            if region is None or region.cta is not None or start % size:
                return None
            runs.append(Run(start, (end,), there))
        if there < size:
            runs.append(Run(None, (end + there,), size - there, 0))
        return Order(tuple(runs))

    start(lowering, Transfer(unit(lowering), "LSU", Proxy.GENERIC, build, Group.COPY), instruction)


class Arrival(Transfer):
    """The arrival of cp.async.mbarrier.arrive, when the thread's earlier copies are over."""

    arrives = True


def arrive(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async.mbarrier.arrive`: without .noinc the phase lacks one arrival more from its issue on."""
    assert isinstance(instruction, ptx.CopyArrive)
    source, check, fixed = mbarriers.word_address(lowering, instruction.mbarrier, Space.SHARED_CTA)
    if not instruction.noinc:
        update = mbarriers.Update(source, fixed, lambda word, _operands: mbarriers.changed(word, more=1), ())
        update.check = check
        lowering.add(update, instruction)
        if isinstance(instruction.mbarrier.base, Register):
            source, check, fixed = mbarriers.word_address(lowering, instruction.mbarrier, Space.SHARED_CTA)

    def build(registers: Sequence[int | None]) -> Order | None:
        word = source(registers)
        return Order(notices=(Notice(word, 0, 0, 1),)) if check(word) else None

    start(lowering, Arrival(unit(lowering), "LSU", Proxy.GENERIC, build), instruction)


class Commit(Operation):
    """What the thread has started of a kind becomes a group."""

    def __init__(self, engine: Engine, group: Group) -> None:
        self.engine = engine
        self.group = group

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        return self.engine.commit(passed(state, thread), thread, self.group)


class WaitGroup(Operation):
    """Waits until all but `pending` groups of a kind are over; with `reads`, until these have been read."""

    def __init__(self, engine: Engine, group: Group, pending: int, reads: bool) -> None:
        self.engine = engine
        self.group = group
        self.pending = pending
        self.reads_only = reads

    def start(self, machine: Machine, state: State, thread: int) -> State | None:
        del machine
        done = self.engine.done(state, thread, self.group, self.pending, self.reads_only)
        return passed(state, thread) if done else None


def _is_tracked(lowering: Lowering, group: Group) -> bool:
    """Whether there is anything that a group of the kind could hold: products of wgmma are never in flight here."""
    return group is not Group.WARPGROUP and any(isinstance(unit, Engine) for unit in lowering.machine.units)


def commit(lowering: Lowering, instruction: Instruction) -> None:
    """`….commit_group`."""
    assert isinstance(instruction, ptx.CommitGroup)
    if _is_tracked(lowering, instruction.group):
        lowering.add(Commit(unit(lowering), instruction.group), instruction)


def wait(lowering: Lowering, instruction: Instruction) -> None:
    """`….wait_group N`."""
    assert isinstance(instruction, ptx.WaitGroup)
    if _is_tracked(lowering, instruction.group):
        operation = WaitGroup(unit(lowering), instruction.group, instruction.pending, instruction.read)
        lowering.add(operation, instruction)


def wait_all(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async.wait_all`."""
    assert isinstance(instruction, ptx.WaitAll)
    if _is_tracked(lowering, Group.COPY):
        lowering.add(Commit(unit(lowering), Group.COPY), instruction)
        lowering.add(WaitGroup(unit(lowering), Group.COPY, 0, False), instruction)
