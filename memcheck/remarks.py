"""Findings in words: flags, what is outside the model, deadlocks."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.axiomatic.outcome import VOIDING, Finding, Hang, Outcome
from memcheck.events.structure import Event, Structure
from memcheck.result import Remark


def flags(structure: Structure, outcome: Outcome) -> list[Remark]:
    found = [flag(structure, finding) for finding in outcome.flags]
    for hang in outcome.hangs:
        found.append(deadlock(structure, hang))
    if outcome.hangs and not outcome.states:
        found.append(Remark("no-final-state", "No execution ends, so there is no final state."))
    return found


def describe(structure: Structure, event: int) -> str:
    """An event as a person knows it: ``P0: `st.weak [x], 1` ``."""
    one = structure.events[event]
    if one.instruction is None:
        return "the initial write"
    return f"{structure.test.threads[one.thread].name}: `{one.instruction.text}`"


def remark(structure: Structure, name: str, text: str, events: Sequence[Event]) -> Remark:
    places = tuple(e.instruction.span.where for e in events if e.instruction is not None)
    if events:
        text += ": " + " and ".join(describe(structure, e.index) for e in events)
    return Remark(name, text, places)


def flag(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    words = {"race": "Data race (8.7.1), allowed but not ordered by causality"}
    return remark(structure, finding.name, words.get(finding.name, f"The model's flag {finding.name}"), events)


def outside(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    if finding.name == "mixed-size-race":
        text = "Mixed-size data race (8.7.2): the axioms do not apply"
    else:
        text = VOIDING.get(finding.name, finding.name).removeprefix("undefined-behaviour: ").capitalize()
    return remark(structure, VOIDING.get(finding.name, finding.name), text, events)


def deadlock(structure: Structure, hang: Hang) -> Remark:
    """Who waits for what."""
    waits, places = [], []
    for index in hang.blocked:
        point = structure.blocking[index]
        event = point.barrier if point.barrier is not None else (point.polled[-1] if point.polled else None)
        if event is None:
            waits.append(f"{structure.test.threads[point.thread].name} in a loop without reads")
            continue
        words = "at its barrier" if point.barrier is not None else "for a value that never comes"
        waits.append(f"{describe(structure, event)} waits {words}")
        instruction = structure.events[event].instruction
        if instruction is not None:
            places.append(instruction.span.where)
    return Remark("deadlock", "Some execution never ends: " + "; ".join(waits), tuple(places))
