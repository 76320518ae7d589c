"""Comments: `(* … *)`, which nest, and `// …` to the end of the line. Neither begins inside a string or the name."""

from __future__ import annotations

import re

from memcheck.errors import SourceError
from memcheck.language.position import Positions
from memcheck.language.syntax import Clause

_MARK = re.compile(r'\(\*|//[^\n]*|"[^"]*"')
_HEADER = re.compile(r"PTX[ \t]+\S+")
_INSIDE = re.compile(r"\(\*|\*\)")
_VISIBLE = re.compile(r"[^\n]")


def blank_comments(positions: Positions) -> tuple[str, tuple[Clause, ...]]:
    """The text with every comment turned into blanks, so that places stay, and the words of the comments."""
    text = positions.source.text
    if "(*" not in text and "//" not in text:
        return text, ()
    pieces: list[str] = []
    comments: list[Clause] = []
    position = kept = 0
    header = False
    while match := _MARK.search(text, position):
        start = match.start()
        if not header and (name := _HEADER.search(text, position, start + 1)):
            # the name may hold any characters: look again behind it
            header = True
            position = _HEADER.match(text, name.start()).end()  # type: ignore[union-attr]
            continue
        position = match.end()
        mark = match.group()
        if mark[0] == '"':
            continue
        if mark == "(*":
            position = _end(positions, start)
        comments.append(Clause(text[start + 2 : position - 2 if mark == "(*" else position], start + 2))
        pieces += [text[kept:start], _VISIBLE.sub(" ", text[start:position])]
        kept = position
    pieces.append(text[kept:])
    return "".join(pieces), tuple(comments)


def _end(positions: Positions, start: int) -> int:
    depth, position = 1, start + 2
    while depth:
        mark = _INSIDE.search(positions.source.text, position)
        if mark is None:
            raise SourceError("this comment has no end", positions.span(start, 2), "write `*)` at its end")
        depth += 1 if mark.group() == "(*" else -1
        position = mark.end()
    return position
