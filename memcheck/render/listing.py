"""Names and what they are, under a title."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.render.ink import Line, wrap


def entries(title: str, named: Mapping[str, str], room: int) -> list[Line]:
    """The title, then a line for each name with its text beside it; long names have a line of their own."""
    column = min(30, max((len(name) for name in named), default=0)) + 4
    lines: list[Line] = [[(title, "title")]]
    for name, text in named.items():
        first: Line = [("  ", ""), (name.ljust(column - 2), "code")]
        if len(name) > column - 4:
            lines.append(first)
            first = [(" " * column, "")]
        lines += wrap(" ".join(text.split()), room, first)
    return lines
