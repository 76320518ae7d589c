"""Places in input texts: files, spans, and the line with a caret under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_WIDEST = 160
"""Characters of a line that an excerpt shows; of a longer line, those around the span."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """A named text. `name` is the path as the user gave it, or `<stdin>`, `<text>`."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line `number`, counted from 1, without its end."""
        lines = self.text.split("\n", number)
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


class Span(NamedTuple):
    """A stretch of one line of a source: line and column from 1, `length` in characters."""

    source: SourceFile
    line: int
    column: int
    length: int = 1

    @property
    def where(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The line and, below it, carets under the span."""
        line = self.source.line(self.line)
        begin = 0 if len(line) <= _WIDEST else max(0, self.column - 1 - _WIDEST // 4)
        part = line[begin : begin + _WIDEST]
        shown = "".join(character if character.isprintable() else " " for character in part)
        column = self.column - 1 - begin
        carets = "^" * max(1, min(self.length, len(part) - column))
        return f"  {shown}\n  {' ' * column}{carets}"
