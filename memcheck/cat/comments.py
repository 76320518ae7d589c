"""Comments of a cat file: `(* … *)`, which nest, and `// …` or `# …` to the end of the line."""

from __future__ import annotations

import re

from memcheck.cat.tree import Comment
from memcheck.errors import SourceError
from memcheck.source import SourceFile, Span

_OUTSIDE = re.compile(r'\(\*|//[^\n]*|#[^\n]*|"[^"\n]*"')
_INSIDE = re.compile(r"\(\*|\*\)")
_VISIBLE = re.compile(r"[^\n]")


def blank_comments(source: SourceFile) -> tuple[str, dict[int, Comment]]:
    """The text with every comment turned into blanks (places stay), and, by line, the comment that is about it.

    A comment that begins its line is about the lines from there to the next blank line or comment.
    """
    text = source.text
    pieces: list[str] = []
    found: dict[int, Comment] = {}
    position = kept = 0
    while match := _OUTSIDE.search(text, position):
        start, position = match.span()
        if match.group()[0] == '"':
            continue
        block = match.group() == "(*"
        if block:
            position = _end_of_block(source, start)
        pieces += [text[kept:start], _VISIBLE.sub(" ", text[start:position])]
        kept = position
        if not text[text.rfind("\n", 0, start) + 1 : start].strip():
            first = text.count("\n", 0, start) + 1
            _record(found, text[start:position], first, block)
    pieces.append(text[kept:])
    return "".join(pieces), _about(text, found)


def _about(text: str, found: dict[int, Comment]) -> dict[int, Comment]:
    result: dict[int, Comment] = {}
    current: Comment | None = None
    for number, line in enumerate(text.splitlines(), 1):
        current = found.get(number, current) if line.strip() else None
        if current is not None:
            result[number] = current
    return result


def _end_of_block(source: SourceFile, start: int) -> int:
    depth, position = 1, start + 2
    while depth:
        mark = _INSIDE.search(source.text, position)
        if mark is None:
            line = source.text.count("\n", 0, start) + 1
            column = start - source.text.rfind("\n", 0, start)
            raise SourceError("this comment has no end", Span(source, line, column, 2), "write `*)` at its end")
        depth += 1 if mark.group() == "(*" else -1
        position = mark.end()
    return position


def _record(found: dict[int, Comment], raw: str, first: int, block: bool) -> None:
    words = raw[2:-2].strip("* \n\t") if block else raw.lstrip("/# ")
    last = first + raw.count("\n")
    above = found.get(first - 1)
    if above is not None and not block and not above.block:
        del found[first - 1]
        words, first = f"{above.text} {words}", above.first
    found[last] = Comment(" ".join(words.split()), first, last, block)
