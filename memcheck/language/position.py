"""Offsets of a text to places: lines and columns."""

from __future__ import annotations

from bisect import bisect_right

from memcheck.source import SourceFile, Span


class Positions:
    """Makes spans of one source from offsets into its text."""

    __slots__ = ("source", "_starts")

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        starts = [0]
        find, at = source.text.find, 0
        while (at := find("\n", at) + 1) > 0:
            starts.append(at)
        self._starts = starts

    def span(self, at: int, length: int) -> Span:
        """The span of `length` characters at offset `at`."""
        line = bisect_right(self._starts, at)
        return Span(self.source, line, at - self._starts[line - 1] + 1, length)
