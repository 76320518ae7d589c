"""One test on one page, for a person."""

from __future__ import annotations

from memcheck.render.ink import Line, wrap
from memcheck.render.sentence import sentence
from memcheck.render.states import LIMIT, MARK, state_table
from memcheck.report import Report
from memcheck.result import Remark


def page(report: Report, room: int, limit: int | None = LIMIT) -> list[Line]:
    """Name, condition, states, verdict, flags, notes; between blank lines only where a part has something to say."""
    parts = [_heading(report, room), _condition(report, room), state_table(report, room, limit), _verdict(report, room)]
    parts += [_remark(remark, "⚑", "flag", room) for remark in report.flags]
    parts += [_remark(remark, "?", "doubt", room) for remark in report.outside]
    parts += [wrap(note, room, [("  note  ", "faint")], style="faint") for note in report.notes]
    parts += [_expectation(report, room), [[(_footer(report), "faint")]]]
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
        meaning = "satisfies it" if report.quantifier == "exists" else "satisfies what is in the parentheses"
        lines.append([("  ", ""), (MARK, "mark"), (f" {meaning}", "faint")])
    return lines


def _verdict(report: Report, room: int) -> list[Line]:
    words = sentence(report)
    lines = wrap(words.text, room, [(f"{words.sign} ", words.style)], style=words.style)
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


def _remark(remark: Remark, sign: str, style: str, room: int) -> list[Line]:
    lines = wrap(remark.text, room, [(f"{sign} {remark.name}", style), ("  ", "")], [("    ", "")])
    if remark.places:
        lines += wrap(" · ".join(remark.places), room, [("    ", "")], style="faint")
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
