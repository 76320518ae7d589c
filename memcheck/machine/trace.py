"""A run as a table: step, unit, thread, what happened, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memcheck.language.test import MemoryTerm, Test, VariableKind
from memcheck.machine.accesses import Load, forwarding
from memcheck.machine.explore import STATES, Outcome, Run, shortest
from memcheck.machine.machine import TRAPPED, Machine
from memcheck.machine.mbarriers import Word
from memcheck.machine.operations import Move
from memcheck.machine.state import ENDED, WAITING, State
from memcheck.machine.warps import INDEPENDENT

DECIMAL = 1 << 16
"""Numbers from here on are told in hexadecimal."""


class TraceStep(NamedTuple):
    """One step of a run. `thread` by name, empty for what is no thread's; `changes` in words.

    Step 0 is the start: what the threads have done by themselves, which nothing could forestall.
    """

    number: int
    unit: str
    thread: str
    happened: str
    changes: tuple[str, ...]


def trace(
    test: Test, state: Outcome, *, scheduling: str | None = INDEPENDENT, budget_states: int = STATES
) -> tuple[TraceStep, ...] | None:
    """The shortest run of a test that ends in a final state; None where the budget does not reach it."""
    machine = Machine(test, scheduling)
    run = shortest(machine, state, budget_states)
    return None if run is None else told(machine, run)


def told(machine: Machine, run: Run) -> tuple[TraceStep, ...]:
    """A run in words. What threads do by themselves after a step is among its changes."""
    before = machine.initial()
    steps = [TraceStep(0, "", "", "the threads start", tuple(_begun(machine, before)))]
    for number, (move, after) in enumerate(run, 1):
        steps.append(described(machine, number, move, before, after))
        before = after
    return tuple(steps)


def described(machine: Machine, number: int, move: Move, before: State, after: State) -> TraceStep:
    """A move in words."""
    thread = "" if move.thread is None else machine.test.threads[move.thread].name
    text = move.text
    if move.thread is not None and _is_stale(machine, before, after, move.thread):
        text += ", an old value from a cache"
    return TraceStep(number, move.unit, thread, text, tuple(changes(machine, before, after)))


def _begun(machine: Machine, state: State) -> Iterator[str]:
    for index, thread in enumerate(state.threads):
        number = sum(not entry.operation.is_marker for entry in thread.window)
        if number:
            accesses = "access" if number == 1 else "accesses"
            yield f"{machine.test.threads[index].name} has issued {number} {accesses}"
        yield from _waiting(machine, state, index)
    if machine.warps is not None:
        yield from (f"{name}: {words}" for name, words in machine.warps.shown(state).items())


def _waiting(machine: Machine, state: State, index: int) -> Iterator[str]:
    """Where a unit holds a thread."""
    here = state.threads[index]
    if here.mode == WAITING:
        yield f"{machine.test.threads[index].name} waits at `{machine.code[index][here.pc].text}`"


def standing(machine: Machine, state: State) -> Iterator[str]:
    """Where the threads are that have not exited; of a run in undefined behaviour, where that is."""
    undefined = machine.trapped(state)
    for index, here in enumerate(state.threads):
        if here.mode == TRAPPED if undefined else here.mode != ENDED:
            text = machine.code[index][here.pc].text
            yield f"{machine.test.threads[index].name} is at " + (f"`{text}`" if text else "its end")


def _is_stale(machine: Machine, before: State, after: State, thread: int) -> bool:
    """Whether a load has returned what the level above its SM no longer has."""
    old, new = before.threads[thread], after.threads[thread]
    gone = [entry for entry in old.window if entry not in new.window]
    if len(gone) != 1:
        return False
    load, location = gone[0].operation, gone[0].location
    if not isinstance(load, Load) or location is None or load.destination is None:
        return False
    if forwarding(old.window, old.window.index(gone[0])) is not None:
        return False
    sm = machine.levels.sm[thread]
    above = before.memory if machine.memory.home[location.line] is not None else machine.memory.above(before, sm)
    return new.registers[load.destination] != load.keep(location.extract(above[location.line]))


def changes(machine: Machine, before: State, after: State) -> Iterator[str]:
    """What is different between two states."""
    yield from _registers(machine, before, after)
    yield from _memory(machine, before, after)
    for unit in machine.units:
        was, now = unit.shown(before), unit.shown(after)
        for name in [*was, *(name for name in now if name not in was)]:
            if was.get(name) != now.get(name):
                yield f"{name}: {now.get(name, 'nothing')}"
    for index, (old, new) in enumerate(zip(before.threads, after.threads, strict=True)):
        if (old.pc, old.mode) != (new.pc, new.mode):
            yield from _waiting(machine, after, index)


def _registers(machine: Machine, before: State, after: State) -> Iterator[str]:
    for index, (old, new) in enumerate(zip(before.threads, after.threads, strict=True)):
        for register, number in machine.numbers[index].items():
            value = new.registers[number]
            if value is not None and value != old.registers[number] and not register.startswith("%"):
                yield f"{machine.test.threads[index].name}:{register} = {_number(value)}"


def _memory(machine: Machine, before: State, after: State) -> Iterator[str]:
    for gpu, (old, new) in enumerate(zip(before.gpus, after.gpus, strict=True)):
        yield from _elements(machine, old.lines, new.lines, f" in the L2 of GPU {machine.levels.gpus[gpu]}")
    yield from _elements(machine, before.memory, after.memory, " in memory" if after.gpus else "")
    for sm, (old, new) in enumerate(zip(before.sms, after.sms, strict=True)):
        for held in new.held[len(old.held) :]:
            if held.location is not None:
                name = machine.layout.lines[held.location.line].variable
                yield f"{name} = {_number(held.value)} in the SM of CTA {machine.levels.ctas[sm]}"


def _elements(machine: Machine, before: Sequence[int], after: Sequence[int], where: str) -> Iterator[str]:
    """The elements of variables that differ, with their new values."""
    if before == after:
        return
    test, layout = machine.test, machine.layout
    seen: set[int] = set()
    for region in layout.regions:
        variable = test.variables.get(region.variable)
        if variable is None or variable.kind is VariableKind.MULTIMEM or region.physical in seen:
            continue
        seen.add(region.physical)
        if all(before[line] == after[line] for line in layout.lines_of(region)):
            continue
        if variable.kind is VariableKind.TENSORMAP:
            yield f"{variable.name} is another tensor map{where}"
            continue
        size = variable.type.size
        for index in range(region.size // size):
            at = region.physical + index * size
            value = layout.read(tuple(after), at, size)
            if value != layout.read(tuple(before), at, size):
                cta = None if machine.levels.single else region.cta
                words = _mbarrier(value) if variable.kind is VariableKind.MBARRIER else f" = {_number(value)}"
                yield f"{test.key(MemoryTerm(variable.name, index, cta))}{words}{where}"


def _mbarrier(value: int) -> str:
    """The packed word, and what is in it."""
    word = Word.decode(value)
    if word is None:
        return f" = {value:#x}, no mbarrier"
    transactions = f", tx {word.transactions}" if word.transactions else ""
    return f": parity {word.phase & 1}, pending {word.pending} of {word.expected}{transactions} ({value:#x})"


def _number(value: int) -> str:
    return str(value) if value < DECIMAL else hex(value)
