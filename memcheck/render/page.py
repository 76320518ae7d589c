"""One test on one page, for a person."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.render.ink import Line, wrap
from memcheck.render.sentence import sentence
from memcheck.render.states import LIMIT, MARK, state_table
from memcheck.report import Report
from memcheck.result import Remark

REMARKS = 3
"""Flags of one name shown unless everything is asked for."""
RACES = ("async-in-flight", "race-across-proxies")
"""Flags that are races of a special kind."""


def page(report: Report, room: int, everything: bool = False) -> list[Line]:
    """Name, condition, states, verdict, flags, notes: one part below the other, where it has something to say."""
    parts = [
        _heading(report, room),
        _condition(report, room),
        state_table(report, room, None if everything else LIMIT),
        _verdict(report, room),
        _machine(report, room),
        _remarks(report.outside, "?", "doubt", room, everything),
        _remarks(report.flags, "⚑", "flag", room, everything),
        [line for note in report.notes for line in wrap(note, room, [("  note  ", "faint")], style="faint")],
        _expectation(report, room),
        [[(_footer(report), "faint")]],
    ]
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [*part, []]
    return lines[:-1]


def _heading(report: Report, room: int) -> list[Line]:
    lines: list[Line] = [[(report.test or report.file, "title")]]
    for text in report.description:
        lines += wrap(" ".join(text.split()), room, [])
    return lines


def _condition(report: Report, room: int) -> list[Line]:
    if report.condition is None:
        return []
    lines = wrap(report.condition, room, [("  ", "")], [("      ", "")], style="code")
    if report.satisfying and report.keys:
        meaning = "ruled out by it" if report.quantifier == "~exists" else "satisfies it"
        lines.append([("  ", ""), (MARK, "mark"), (f" {meaning}", "faint")])
    return lines


def _verdict(report: Report, room: int) -> list[Line]:
    words = sentence(report)
    claim, colon, reason = words.text.partition(":")
    if reason:
        lines = wrap(reason.lstrip(), room, [(f"{words.sign} {claim}{colon}", words.style), (" ", "")], [("  ", "")])
    else:
        lines = wrap(claim, room, [(f"{words.sign} ", words.style)], style=words.style)
    if report.no_final_state and report.holds is not None:
        emptily = "holds, but emptily" if report.holds else "fails"
        lines += wrap(f"Of no final state at all, the condition {emptily}.", room, [("  ", "")])
    if report.stopped is not None and report.undecided is None:
        text = f"The search ended early ({report.stopped}); more states could not change this verdict."
        lines += wrap(text, room, [("  ", "")])
    elif not report.complete and not report.outside and report.undecided is None:
        text = "More states may lie beyond the loop bound (--bound); none of them could change this verdict."
        lines += wrap(text, room, [("  ", "")])
    return lines


def _machine(report: Report, room: int) -> list[Line]:
    if report.machine is None and report.unmachined is None:
        return []
    from memcheck.render.beside import machine_lines  # brings the machine along

    return machine_lines(report, room)


def _remarks(remarks: Sequence[Remark], sign: str, style: str, room: int, everything: bool) -> list[Line]:
    """The remarks by name, at most REMARKS of one name."""
    lines: list[Line] = []
    # a race that another remark says more of
    special = {remark.places for remark in remarks if remark.name in RACES}
    remarks = [r for r in remarks if r.name != "race" or everything or r.places not in special]
    for name in dict.fromkeys(remark.name for remark in remarks):
        alike = [remark for remark in remarks if remark.name == name]
        shown = alike if everything else alike[:REMARKS]
        for remark in shown:
            lines += wrap(remark.text, room, [(f"{sign} {name}", style), ("  ", "")], [("    ", "")])
            if remark.places:
                lines += wrap(" · ".join(remark.places), room, [("    ", "")], style="faint")
        if len(shown) < len(alike):
            lines.append([(f"    … and {len(alike) - len(shown)} more (--all shows them)", "faint")])
    return lines


def _expectation(report: Report, room: int) -> list[Line]:
    if not report.unexpected:
        return []
    lines: list[Line] = [[("✗ not what the file expects", "bad")]]
    for text in report.unexpected:
        lines += wrap(text, room, [("    ", "")])
    return lines


def _footer(report: Report) -> str:
    time = f"{report.seconds * 1000:.0f} ms" if report.seconds < 1 else f"{report.seconds:.1f} s"
    return f"{report.file} · model {report.model} · {time}"
