"""`memcheck list`: the tests of the suite, by theme."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING

from memcheck.errors import MemcheckError

if TYPE_CHECKING:
    from memcheck.corpus import Case


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only themes, names or descriptions with these words")
    parser.add_argument("--names", action="store_true", help="only the names, one a line, tables row by row")
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    from memcheck.render.ink import Line, encodable, paint, wants_colour, width
    from memcheck.render.listing import entries

    themes = _chosen(options.words)
    if not themes:
        raise MemcheckError(f"no test of the suite has {' '.join(options.words)} in its theme, name or description.")
    if options.names:
        text = "".join(f"{case.name}\n" for files in themes.values() for cases in files for case in cases)
        sys.stdout.write(encodable(text, sys.stdout))
        return 0
    lines: list[Line] = []
    for theme, files in themes.items():
        named = dict(_entry(cases) for cases in files)
        lines += [*entries(theme, named, width(sys.stdout)), []]
    tests = sum(len(cases) for files in themes.values() for cases in files)
    lines.append([(f"{tests} tests. `memcheck run NAME` runs one, `memcheck run THEME` all of a theme.", "faint")])
    sys.stdout.write(encodable(paint(lines, not options.no_color and wants_colour(sys.stdout)), sys.stdout))
    return 0


def _chosen(words: list[str]) -> dict[str, list[list[Case]]]:
    """Theme -> its files, each with its tests; only what has every word, in any case of letters."""
    from memcheck.corpus import cases, suite, walk

    root = suite()
    themes: dict[str, list[list[Case]]] = {}
    for path in walk(root):
        theme = os.path.relpath(os.path.dirname(path), root)
        theme = "first steps" if theme == "." else theme
        kept = [case for case in cases(path) if _matches(f"{theme} {case.name} {description(case)}", words)]
        if kept:
            themes.setdefault(theme, []).append(kept)
    return dict(sorted(themes.items(), key=lambda item: (item[0] != "first steps", item[0])))


def _matches(text: str, words: list[str]) -> bool:
    return all(word.lower() in text.lower() for word in words)


def description(case: Case) -> str:
    """The first quoted string after the header, without parsing the test."""
    found = re.search(r'PTX[ \t]+\S+\s+"([^"]*)"', case.source.text)
    return " ".join(found[1].split()) if found else ""


def _entry(cases: list[Case]) -> tuple[str, str]:
    """Name and text of a file's line; a table is named by its file and told by its first comment."""
    first = cases[0]
    if first.row is None:
        return first.name, description(first)
    from memcheck.corpus import read

    comment = read(first.source.name).text.partition("\n")[0]
    number = f"{len(cases)} tests"
    text = f"{number}. {comment.strip('# ')}" if comment.startswith("#") else number
    return os.path.basename(first.source.name), text
