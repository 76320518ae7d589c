"""Places in input texts: files, spans, and the line with a caret under it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """A named text. `name` is the path as the user gave it, or `<stdin>`, `<text>`."""

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line `number`, counted from 1, without its end."""
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
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
        shown = line.replace("\t", " ")
        carets = "^" * max(1, min(self.length, len(line) - self.column + 1))
        return f"  {shown}\n  {' ' * (self.column - 1)}{carets}"
