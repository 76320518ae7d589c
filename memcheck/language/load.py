"""Reading tests: a file to its text, a text to a Test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memcheck.errors import MemcheckError, SourceError, TooLargeError
from memcheck.language.comments import blank_comments
from memcheck.language.elaborate import elaborate
from memcheck.language.parse import outline
from memcheck.language.position import Positions
from memcheck.language.test import Test
from memcheck.source import SourceFile, Span

if TYPE_CHECKING:
    from pathlib import Path

MAX_CHARACTERS = 2_000_000


def parse_test(source: SourceFile) -> Test:
    """The test that a text holds. SourceError, with the place, where it is none; TooLargeError."""
    if len(source.text) > MAX_CHARACTERS:
        raise TooLargeError(f"the text has {len(source.text)} characters; a test has at most {MAX_CHARACTERS}")
    positions = Positions(source)
    at = source.text.find("\0")
    if at >= 0:
        raise SourceError("this is no text: it has a NUL character", positions.span(at, 1))
    text, comments = blank_comments(positions)
    return elaborate(outline(positions, text), comments, positions)


def read_file(path: str | Path) -> SourceFile:
    """A file's text; MemcheckError where it cannot be read or is not UTF-8."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MemcheckError(f"{name}: {reason}") from None
    try:
        return SourceFile(name, data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n"))
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise SourceError(
            f"not UTF-8 text: byte {data[error.start]:#04x}", Span(SourceFile(name, ""), line, column)
        ) from None
