"""Final states as a table, or as a list where the table would be too wide."""

from __future__ import annotations

from memcheck.axiomatic.outcome import State
from memcheck.render.ink import Line, wrap
from memcheck.render.sentence import count
from memcheck.report import Report

LIMIT = 40
"""Rows shown unless all are asked for."""
MARK = "●"


def value(number: int) -> str:
    """Decimal, and hexadecimal from 2^16 on, where the bits say more."""
    return str(number) if number < 0x10000 else hex(number)


def state_table(report: Report, room: int, limit: int | None = LIMIT) -> list[Line]:
    """One line a state, those that satisfy the condition marked; at most `limit`, satisfying ones first kept."""
    if not report.states or not report.keys:
        return []
    shown = _chosen(report, limit)
    lines = _table(report, shown, room) or _listing(report, shown, room)
    hidden = len(report.states) - len(shown)
    if hidden:
        also = len(report.satisfying) - sum(state in report.satisfying for state in shown)
        marked = f", {also} of them satisfying" if report.condition else ""
        lines.append([(f"    … and {count(hidden, 'more state')}{marked} (--all shows them)", "faint")])
    return lines


def _chosen(report: Report, limit: int | None) -> list[State]:
    states = list(report.states)
    if limit is None or len(states) <= limit:
        return states
    first = sorted(states, key=lambda state: state not in report.satisfying)[:limit]
    kept = set(first)
    return [state for state in states if state in kept]


def _table(report: Report, shown: list[State], room: int) -> list[Line]:
    """Empty where it is wider than `room`."""
    columns = [[value(state[i]) for state in shown] for i in range(len(report.keys))]
    widths = [max(len(key), *(len(cell) for cell in column)) for key, column in zip(report.keys, columns, strict=True)]
    if 4 + sum(widths) + 3 * (len(widths) - 1) > room:
        return []
    gap = "   "
    head = gap.join(key.rjust(width) for key, width in zip(report.keys, widths, strict=True))
    lines: list[Line] = [[("    ", ""), (head, "title")], [("    ", ""), ("─" * len(head), "faint")]]
    for row, state in enumerate(shown):
        cells = gap.join(column[row].rjust(width) for column, width in zip(columns, widths, strict=True))
        lines.append([_mark(report, state), (cells, "")])
    return lines


def _listing(report: Report, shown: list[State], room: int) -> list[Line]:
    lines = []
    for state in shown:
        text = "  ".join(f"{key}={value(number)}" for key, number in zip(report.keys, state, strict=True))
        lines += wrap(text, room, [_mark(report, state)])
    return lines


def _mark(report: Report, state: State) -> tuple[str, str]:
    return (f"  {MARK} ", "mark") if report.condition and state in report.satisfying else ("    ", "")
