"""A run of the machine as a table: step, unit, thread, what happened, what changed."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.machine.trace import TraceStep
from memcheck.render.ink import Line

LONGEST = 30
"""Characters of an instruction's name that is told whole."""
TITLES = ("step", "unit", "thread", "what happened", "what changed")


def trace_table(rows: Sequence[TraceStep], room: int) -> list[Line]:
    """All rows under their titles."""
    columns = widths(rows, room)
    lines = trace_head(columns)
    for row in rows:
        lines += trace_row(row, columns)
    return lines


def trace_head(columns: Sequence[int]) -> list[Line]:
    """The titles over columns of these widths; a column of width 0 is left out."""
    head = "  ".join(title.ljust(width) for title, width in zip(TITLES, columns, strict=True) if width)
    return [[("  ", ""), (head.rstrip(), "title")], [("  ", ""), ("─" * len(head), "faint")]]


def trace_row(row: TraceStep, columns: Sequence[int]) -> list[Line]:
    """One step, in as many lines as its longest cell needs."""
    texts = (str(row.number), _unit(row), row.thread)
    happened = folded(short(row.happened), columns[3])
    changed = [line for change in row.changes for line in folded(short(change), columns[4])]
    lines: list[Line] = []
    for i in range(max(1, len(happened), len(changed))):
        line: Line = [("  ", "")]
        for text, width in zip(texts, columns, strict=False):
            if width:
                line.append(((text if i == 0 else "").ljust(width) + "  ", "faint"))
        line.append(((happened[i] if i < len(happened) else "").ljust(columns[3]) + "  ", ""))
        line.append((changed[i] if i < len(changed) else "", "code"))
        lines.append(line)
    return lines


def widths(rows: Sequence[TraceStep], room: int) -> tuple[int, ...]:
    """Of each column; 0 for one with nothing in it. What is left of the room goes to the last two."""
    narrow = []
    for title, cells in zip(
        TITLES, ([str(row.number) for row in rows], [_unit(row) for row in rows], [row.thread for row in rows])
    ):
        longest = max((len(cell) for cell in cells), default=0)
        narrow.append(max(longest, len(title)) if longest else 0)
    left = max(30, room - 2 - sum(width + 2 for width in narrow if width) - 2)
    texts = max((len(short(row.happened)) for row in rows), default=0)
    changes = max((len(short(change)) for row in rows for change in row.changes), default=0)
    changes = max(len(TITLES[4]), min(changes, max(2 * left // 5, left - texts)))
    return (*narrow, max(len(TITLES[3]), min(texts, left - changes)), changes)


def _unit(row: TraceStep) -> str:
    """A step of a thread's own needs no unit beside the thread."""
    return "" if row.unit == "thread" else row.unit


def folded(text: str, room: int) -> list[str]:
    """Lines of at most `room`; a word that is longer is broken before its dots, as instructions have them."""
    lines = [""]
    for word in text.split():
        parts = [word] if len(word) <= room else _parts(word, room)
        for number, part in enumerate(parts):
            gap = " " if number == 0 and lines[-1] else ""
            if len(lines[-1]) + len(gap) + len(part) <= room:
                lines[-1] += gap + part
            else:
                lines.append(part)
    return lines if lines[0] else lines[1:]


def _parts(word: str, room: int) -> list[str]:
    dotted = word.replace(".", "\0.").split("\0")
    return [part[at : at + room] for part in dotted for at in range(0, len(part), room)]


def short(text: str) -> str:
    """Long names of instructions up to their first state space."""
    return " ".join(map(_short, text.split()))


def _short(word: str) -> str:
    if len(word) <= LONGEST or "::" not in word:
        return word
    kept = word.partition("::")[0].rpartition(".")[0]
    return f"{kept}…"
