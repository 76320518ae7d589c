"""Findings in words: flags, what is outside the model, deadlocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcheck.axiomatic.outcome import VOIDING, Finding, Hang, Outcome
from memcheck.events.structure import BlockingPoint, Event, Misuse, Structure
from memcheck.result import Remark

WORDS: Mapping[str, str] = {
    "race": "Data race (8.7.1), allowed but not ordered by causality",
    "async-in-flight": "Undefined in PTX (9.7.10.28.1): an asynchronous operation's memory is touched before its "
    "completion was observed",
    "race-across-proxies": "Data race (8.7.1): ordered by synchronization, but no proxy fence lies between the two "
    "proxies (8.9.5)",
    "default-scope-across-ctas": "The wait counts this arrival or completion, and does not synchronize with it: "
    "one of the two has .cta scope, the default, and the other is in another CTA (8.9.4)",
    "phase-unobserved": "An arrival for the next phase, and nobody is sure to have seen the phase before it "
    "complete (9.7.15.16)",
    "lapped": "A wait finds the phase that it is for two phases behind, and takes the present one for it (9.7.15.16)",
    "wait-without-group": "A wait for groups, and its thread has committed none",
}
"""What each flag of a bundled model says, before the instructions."""


def flags(structure: Structure, outcome: Outcome) -> list[Remark]:
    # the pieces of a copy are one thing to people
    found = list(dict.fromkeys(flag(structure, finding) for finding in outcome.flags))
    for hang in outcome.hangs:
        found.append(deadlock(structure, hang, outcome.hanging_flags))
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
        # the read and the write of one instruction are one thing to people
        text += ": " + " and ".join(dict.fromkeys(describe(structure, e.index) for e in events))
    return Remark(name, text, tuple(dict.fromkeys(places)))


def flag(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    words = WORDS.get(finding.name, f"The model's flag {finding.name}")
    return remark(structure, finding.name, words, events)


def outside(structure: Structure, finding: Finding) -> Remark:
    events = [structure.events[e] for e in finding.events]
    name = VOIDING.get(finding.name, finding.name)
    if finding.name == "mixed-size-race":
        return remark(structure, name, "Mixed-size data race (8.7.2): the axioms do not apply", events)
    text = name.removeprefix("undefined-behaviour: ")
    if "." not in text.split()[0]:  # else an instruction's name
        text = text[:1].upper() + text[1:]
    misuse = _misuse(structure, finding)
    if misuse is not None and misuse.detail:
        text += f" ({misuse.detail})"
    if misuse is not None and not events and misuse.instruction is not None:
        return Remark(name, f"{text}: `{misuse.instruction.text}`", (misuse.instruction.span.where,))
    return remark(structure, name, text, events)


def _misuse(structure: Structure, finding: Finding) -> Misuse | None:
    """What a finding is about; of several the one that is certain, or says most."""
    event = finding.events[0] if finding.events else None
    named = [m for m in structure.misuses if (m.rule, m.event) == (finding.name, event)]
    return max(named, key=lambda m: (m.condition is structure.values.true, bool(m.detail)), default=None)


def deadlock(structure: Structure, hang: Hang, seen: Sequence[Finding]) -> Remark:
    """Who waits for what; `seen`: flags of executions that never end."""
    polled = dict(hang.polled)
    waits, places = [], []
    for index in hang.blocked:
        point = structure.blocking[index]
        event = point.barrier if point.barrier is not None else (point.polled[-1] if point.polled else None)
        if event is None:
            waits.append(_waits_for_nothing(structure, point))
            continue
        waits.append(f"{describe(structure, event)} waits {_for_what(structure, point, event, polled.get(event))}")
        instruction = structure.events[event].instruction
        if instruction is not None:
            places.append(instruction.span.where)
    text = "Some execution never ends: " + "; ".join(waits)
    if any(finding.name == "lapped" for finding in seen):
        text += ". In such an execution a wait is lapped: its phase is over, and the next of its parity is not"
    return Remark("deadlock", text, tuple(places))


def _waits_for_nothing(structure: Structure, point: BlockingPoint) -> str:
    name = structure.test.threads[point.thread].name
    if point.threads:
        others = ", ".join(structure.test.threads[thread].name for thread in point.threads)
        return f"{name} waits for the end of {others}"
    return f"{name} is in a loop without reads"


def _for_what(structure: Structure, point: BlockingPoint, event: int, number: int | None) -> str:
    if point.barrier is not None:
        return "at its barrier"
    one = structure.events[event]
    if "TEST" not in one.tags or number is None:
        return "for a value that never comes"
    from memcheck.events.phase import counts

    found = counts(number)
    if found is None:
        return "on an mbarrier that is not initialised"
    missing = []
    if found.pending:
        missing.append(f"{found.pending} of {found.expected} arrivals")
    if found.transactions > 0:
        missing.append(f"{found.transactions} bytes")
    if found.transactions < 0:
        missing.append(f"an expect-tx for {-found.transactions} bytes that have come")
    what = " and ".join(missing) or "nothing"
    many = len(missing) > 1 or found.pending != 1
    verb = "are" if many else "is"
    return f"for a phase that never completes: {what} {verb} missing in the phase of parity {found.phase & 1}"
