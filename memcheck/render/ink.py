"""Styled lines, and how they reach a terminal, a pipe or an old encoding.

Everything that a person reads is laid out once, as lines of styled pieces; only this module knows escape codes. They
are written by hand: to import a terminal library takes as long as deciding dozens of tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO

Line = list[tuple[str, str]]
"""Pieces of text, each with the name of a style ("" for plain)."""

STYLES = {
    "title": "1",
    "good": "1;32",
    "bad": "1;31",
    "doubt": "1;33",
    "flag": "33",
    "code": "36",
    "mark": "32",
    "faint": "2",
}
ASCII = str.maketrans({"─": "-", "●": "*", "✓": "+", "✗": "x", "≠": "#", "⚑": "!", "·": "-", "…": "..."})


def paint(lines: Iterable[Line], colour: bool = False) -> str:
    """The lines as one text; blanks at line ends are left out."""
    return "".join(_painted(line, colour) + "\n" for line in lines)


def _painted(line: Line, colour: bool) -> str:
    pieces = list(line)
    while pieces and not pieces[-1][0].strip():
        pieces.pop()
    if pieces:
        pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    if not colour:
        return "".join(text for text, _ in pieces)
    return "".join(f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text else text for text, style in pieces)


def wants_colour(stream: IO[str]) -> bool:
    """A terminal that has not asked for plain text (NO_COLOR, TERM=dumb)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def encodable(text: str, stream: IO[str]) -> str:
    """The text in characters that the stream can carry."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "replace").decode(encoding)
    return text


def width(stream: IO[str], largest: int = 100) -> int:
    """Columns to fill: the terminal's, at most `largest`; 80 where there is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 80
    except (OSError, ValueError):
        columns = 80
    return max(40, min(columns or 80, largest))


def wrap(text: str, room: int, first: Line, rest: Line | None = None, style: str = "") -> list[Line]:
    """A paragraph after the pieces `first`; later lines are indented by `rest`, or by as many blanks."""
    from textwrap import wrap as folded

    before = sum(len(piece) for piece, _ in first)
    indent: Line = rest if rest is not None else [(" " * before, "")]
    after = sum(len(piece) for piece, _ in indent)
    lines: list[Line] = []
    if room - before < 20 and first and text:  # no room beside `first`
        lines, first, before = [list(first)], indent, after
    head, tail = "\0" * before, "\0" * after  # blanks would be taken for the text's
    broad = max(room, after + 20)
    pieces = folded(text, broad, initial_indent=head, subsequent_indent=tail, break_on_hyphens=False) or [""]
    for number, piece in enumerate(pieces):
        lines.append([*(indent if number else first), (piece.lstrip("\0"), style)])
    return lines
