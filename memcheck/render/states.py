"""Final states as a table, or as a list where the table would be too wide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memcheck.axiomatic.outcome import State
from memcheck.render.ink import Line, wrap
from memcheck.render.sentence import count
from memcheck.report import Report

LIMIT = 40
"""Rows shown unless all are asked for."""
MARK = "●"
GAP = "   "


@dataclass(frozen=True, slots=True)
class Column:
    """What is said beside each state; `cells` are pieces in the order of the states."""

    title: str
    cells: Sequence[tuple[str, str]]

    @property
    def width(self) -> int:
        return max(len(self.title), *(len(text) for text, _ in self.cells))


def value(number: int) -> str:
    """Decimal, and hexadecimal from 2^16 on, where the bits say more."""
    return str(number) if number < 0x10000 else hex(number)


def state_table(report: Report, room: int, limit: int | None = LIMIT) -> list[Line]:
    """One line a state, those that satisfy the condition marked; at most `limit`, satisfying ones first kept.

    Where the machine has run: its states too, and beside each what the model and the machine say of it.
    """
    if not report.keys:
        return []
    machine = report.machine
    reached = frozenset(machine.reached) if machine else frozenset()
    states = tuple(sorted({*report.states, *reached})) if machine else report.states
    if not states:
        return []
    allowed = frozenset(report.states)
    satisfying = report.satisfying if report.condition else frozenset()
    shown = chosen(states, satisfying | (reached - allowed), limit)
    columns = []
    if machine:
        unknown = ("forbidden", "bad") if report.complete else ("not found", "doubt")
        missed = ("not reached", "flag") if machine.complete else ("budget", "doubt")
        columns = [
            Column("model", [("allowed", "faint") if state in allowed else unknown for state in shown]),
            Column("machine", [("reached", "faint") if state in reached else missed for state in shown]),
        ]
    lines = table(report.keys, shown, columns, satisfying, room)
    hidden = len(states) - len(shown)
    if hidden:
        also = len(satisfying) - sum(state in satisfying for state in shown)
        marked = f", {also} of them satisfying" if report.condition else ""
        lines.append([(f"    … and {count(hidden, 'more state')}{marked} (--all shows them)", "faint")])
    return lines


def chosen(states: Sequence[State], first: Collection[State], limit: int | None) -> list[State]:
    """At most so many states, those of `first` before others, in their order."""
    if limit is None or len(states) <= limit:
        return list(states)
    kept = set(sorted(states, key=lambda state: state not in first)[:limit])
    return [state for state in states if state in kept]


def table(
    keys: Sequence[str], shown: Sequence[State], columns: Sequence[Column], marked: Collection[State], room: int
) -> list[Line]:
    """States under their keys, then the columns; a list where that is too wide."""
    values = [[value(state[i]) for state in shown] for i in range(len(keys))]
    widths = [max(len(key), *(len(cell) for cell in column)) for key, column in zip(keys, values, strict=True)]
    all_widths = [*widths, *(column.width for column in columns)]
    if 4 + sum(all_widths) + len(GAP) * (len(all_widths) - 1) > room:
        return _listing(keys, shown, columns, marked, room)
    titles = [key.rjust(width) for key, width in zip(keys, widths, strict=True)]
    head = GAP.join([*titles, *(column.title.ljust(column.width) for column in columns)])
    lines: list[Line] = [[("    ", ""), (head.rstrip(), "title")], [("    ", ""), ("─" * len(head), "faint")]]
    for row, state in enumerate(shown):
        cells = GAP.join(column[row].rjust(width) for column, width in zip(values, widths, strict=True))
        line: Line = [_mark(state, marked), (cells, "")]
        for column in columns:
            text, style = column.cells[row]
            line += [(GAP, ""), (text, style), (" " * (column.width - len(text)), "")]
        lines.append(line)
    return lines


def named(keys: Sequence[str], state: State) -> str:
    """A state in a line."""
    return "  ".join(f"{key}={value(number)}" for key, number in zip(keys, state, strict=True))


def _listing(
    keys: Sequence[str], shown: Sequence[State], columns: Sequence[Column], marked: Collection[State], room: int
) -> list[Line]:
    lines = []
    for row, state in enumerate(shown):
        lines += wrap(named(keys, state), room, [_mark(state, marked)])
        if columns:
            said: Line = [("    ", "")]
            for column in columns:
                said += [(f"{column.title}: ", "faint"), column.cells[row], ("  ", "")]
            lines.append(said)
    return lines


def _mark(state: State, marked: Collection[State]) -> tuple[str, str]:
    return (f"  {MARK} ", "mark") if state in marked else ("    ", "")
