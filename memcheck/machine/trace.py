"""One run in words: what happened at each step, and what it changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcheck.language.test import MemoryTerm, VariableKind
from memcheck.machine.accesses import Load, forwarding
from memcheck.machine.explore import TraceStep
from memcheck.machine.state import ENDED, State, Thread

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

DECIMAL = 1 << 16
"""Numbers from here on are told in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step of a run: by which unit, for which thread, what, and what is different after it."""

    number: int
    unit: str
    thread: str
    text: str
    changes: tuple[str, ...]


def rows(machine: Machine, steps: Sequence[TraceStep]) -> tuple[Row, ...]:
    """A run, step by step. What threads do by themselves after a step is told among its changes."""
    before = machine.initial()
    found = [Row(0, "", "", "start", tuple(_begun(machine, before)))]
    for number, step in enumerate(steps, 1):
        move = step.move
        thread = "" if move.thread is None else machine.test.threads[move.thread].name
        unit = "" if move.unit == "thread" else move.unit
        text = move.text
        if move.thread is not None and _is_stale(machine, before, step.state, move.thread):
            text += ", an old value from a cache"
        found.append(Row(number, unit, thread, text, tuple(_changes(machine, before, step.state))))
        before = step.state
    return tuple(found)


def _begun(machine: Machine, state: State) -> Iterator[str]:
    for index, thread in enumerate(state.threads):
        name = machine.test.threads[index].name
        if thread.window:
            yield f"{name} has issued {_issued(thread)}"
        yield from _standing(machine, index, thread)


def _issued(thread: Thread) -> str:
    number = sum(not entry.operation.is_marker for entry in thread.window)
    return f"{number} access{'' if number == 1 else 'es'}"


def _standing(machine: Machine, index: int, thread: Thread) -> Iterator[str]:
    """Where a thread stands, if it has not come to its end."""
    if thread.mode != ENDED and thread.pc < len(machine.code[index]):
        text = machine.code[index][thread.pc].text
        if text:
            yield f"{machine.test.threads[index].name} stands at `{text}`"


def _is_stale(machine: Machine, before: State, after: State, thread: int) -> bool:
    """Whether a load has returned what the level above its SM no longer has."""
    old, new = before.threads[thread], after.threads[thread]
    gone = [entry for entry in old.window if entry not in new.window]
    if len(gone) != 1:
        return False
    load, location, _ = gone[0]
    if not isinstance(load, Load) or location is None or load.destination is None:
        return False
    position = old.window.index(gone[0])
    if forwarding(old.window, position) is not None:
        return False
    sm = machine.levels.sm[thread]
    above = before.memory if machine.memory.home[location.line] is not None else machine.memory.above(before, sm)
    return new.registers[load.destination] != load.keep(location.extract(above[location.line]))


def _changes(machine: Machine, before: State, after: State) -> Iterator[str]:
    yield from _registers(machine, before, after)
    yield from _memory(machine, before, after)
    for unit in machine.units:
        was, now = unit.shown(before), unit.shown(after)
        for name in [*was, *(name for name in now if name not in was)]:
            if was.get(name) != now.get(name):
                yield f"{name} = {now.get(name, 'nothing')}"
    for index, (old, new) in enumerate(zip(before.threads, after.threads, strict=True)):
        if old.pc != new.pc:
            yield from _standing(machine, index, new)


def _registers(machine: Machine, before: State, after: State) -> Iterator[str]:
    for index, (old, new) in enumerate(zip(before.threads, after.threads, strict=True)):
        for name, number in machine.numbers[index].items():
            value = new.registers[number]
            if value is not None and value != old.registers[number] and not name.startswith("%"):
                yield f"{machine.test.threads[index].name}:{name} = {_number(value)}"


def _memory(machine: Machine, before: State, after: State) -> Iterator[str]:
    several = bool(after.gpus)
    for gpu, (old, new) in enumerate(zip(before.gpus, after.gpus, strict=True)):
        yield from _elements(machine, old.lines, new.lines, f" in the L2 of GPU {machine.levels.gpus[gpu]}")
    yield from _elements(machine, before.memory, after.memory, " in memory" if several else "")


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
        lines = layout.lines_of(region)
        if all(before[line] == after[line] for line in lines):
            continue
        if variable.kind is VariableKind.TENSORMAP:
            yield f"{variable.name} is another tensor map{where}"
            continue
        size = variable.type.size
        for index in range(region.size // size):
            at = region.physical + index * size
            value = layout.read(tuple(after), at, size)
            if value != layout.read(tuple(before), at, size):
                cta = region.cta if len(machine.levels.ctas) > 1 else None
                yield f"{test.key(MemoryTerm(variable.name, index, cta))} = {_number(value)}{where}"


def _number(value: int) -> str:
    return str(value) if value < DECIMAL else hex(value)
