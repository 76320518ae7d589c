"""What the machine says beside the model: states that it should not reach, and those that it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memcheck.crossrun import BUDGET, REASONS, Crossrun, Refutation
from memcheck.render.ink import Line, wrap
from memcheck.render.sentence import count
from memcheck.render.states import named
from memcheck.render.trace import trace_table
from memcheck.report import Report


def machine_lines(report: Report, room: int) -> list[Line]:
    """Nothing where the two agree."""
    if report.unmachined is not None:
        return wrap(f"not run: {report.unmachined}", room, [("  machine  ", "faint")], style="faint")
    machine = report.machine
    if machine is None:
        return []
    lines: list[Line] = []
    for refutation in machine.refuted:
        lines += [*([[]] if lines else []), *_refutation(report, refutation, room)]
    told = _remarks(report, machine, room)
    return [*lines, [], *told] if lines and told else lines + told


def _remarks(report: Report, machine: Crossrun, room: int) -> list[Line]:
    lines: list[Line] = []
    for reason, why in REASONS.items():
        number = sum(one == reason for one in machine.missing.values())
        if number:
            lines += _reason(number, reason, why, room)
    for text in _endings(report, machine):
        lines += wrap(text, room, [("  machine  ", "faint")], style="faint")
    return lines


def _endings(report: Report, machine: Crossrun) -> Iterator[str]:
    """Where the two do not agree on what never ends; what has no end that counts."""
    if machine.traps:
        yield "some run ends in undefined behaviour"
    hangs = any(flag.name == "deadlock" for flag in report.flags)
    if machine.complete and report.complete and machine.hangs != hangs:
        yield "no run hangs" if hangs else "some run never ends, and the model has no execution that hangs"


def _reason(number: int, reason: str, why: str, room: int) -> list[Line]:
    verb = "is" if number == 1 else "are"
    if reason == BUDGET:
        text = f"{count(number, 'allowed state')} {verb} not reached so far: {why} (--machine-time)"
    else:
        text = f"{count(number, 'allowed state')} {verb} not reached, {reason}: {why}"
    return wrap(text, room, [("  machine  ", "faint")], style="faint")


def _refutation(report: Report, refutation: Refutation, room: int) -> list[Line]:
    state = named(report.keys, refutation.state)
    text = f"reaches a state that the model forbids: {state}. {_whose_fault(report)}"
    lines = wrap(text, room, [("✗ machine", "bad"), ("  ", "")], [("    ", "")])
    lines += wrap(f"Forbidden by {_axioms(refutation.axioms)}.", room, [("    ", "")])
    return [*lines, [], *trace_table(refutation.trace, room)] if refutation.trace else lines


def _whose_fault(report: Report) -> str:
    if report.model == "ptx":
        return "One of the two is wrong: please report this test."
    return "It is built to do what PTX 9.4 allows, not what other models do."


def _axioms(axioms: Sequence[str] | None) -> str:
    if axioms is None:
        return "axioms that there was no time to tell apart"
    if not axioms:
        return "several axioms, each of which suffices"
    return axioms[0] if len(axioms) == 1 else f"{', '.join(axioms[:-1])} and {axioms[-1]} together"
