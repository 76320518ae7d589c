"""A text to a Test."""

from __future__ import annotations

from memcheck.errors import SourceError, TooLargeError
from memcheck.language.comments import blank_comments
from memcheck.language.elaborate import elaborate
from memcheck.language.parse import outline
from memcheck.language.position import Positions
from memcheck.language.test import Test
from memcheck.source import SourceFile

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
