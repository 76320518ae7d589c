"""Many tests: one line each, and a closing count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memcheck.render.ink import Line
from memcheck.render.sentence import count, sentence
from memcheck.report import Report

WORDS = ("holds", "fails", "states", "deadlock", "outside", "undecided", "error")


def summary_line(report: Report) -> Line:
    """Verdict, number of states, name, flags, how many states the machine reaches, what the file did not expect."""
    words = sentence(report)
    number = f"{len(report.states):>5}" if not report.error else " " * 5
    line: Line = [(f"{words.sign} {words.word:<9}", words.style), (number, "faint"), ("  ", "")]
    line.append((report.test or report.file, ""))
    names = sorted({remark.name.partition(":")[0] for remark in (*report.flags, *report.outside)})
    if names:
        line += [("  ", ""), (" ".join(f"⚑{name}" for name in names), "flag")]
    machine = report.machine
    if report.is_refuted:
        line += [("  ", ""), ("✗ machine reaches what is forbidden", "bad")]
    elif machine is not None:
        more = "" if machine.complete else "+"
        line += [("  ", ""), (f"machine {len(machine.reached)}{more}", "faint")]
    if report.unexpected:
        line += [("  ", ""), (f"✗ {report.unexpected[0]}", "bad")]
    return line


def closing(reports: Sequence[Report], total: int, seconds: float) -> list[Line]:
    """How many of each verdict, how many against their files' expectations, the time that passed.

    `total` is more than the reports where an interrupt came before the rest.
    """
    counts = Counter(sentence(report).word for report in reports)
    parts = [f"{counts[word]} {word}" for word in WORDS if counts[word]]
    tests = count(total, "test") if len(reports) == total else f"{len(reports)} of {count(total, 'test')}"
    line: Line = [(tests, "title"), (": " + ", ".join(parts) if parts else "", "")]
    expecting = [report for report in reports if report.unexpected is not None]
    wrong = sum(bool(report.unexpected) for report in expecting)
    if wrong:
        line += [("; ", ""), (f"{wrong} not as expected", "bad")]
    elif expecting:
        number = "all" if len(expecting) == len(reports) else str(len(expecting))
        line += [("; ", ""), (f"{number} as expected", "good")]
    line.append((f"; {seconds:.1f} s", "faint"))
    return [[], line]
