"""Where tests are: files, folders, tables, standard input, and the suite that ships with the package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from memcheck.errors import MemcheckError, SourceError
from memcheck.source import SourceFile, Span

if TYPE_CHECKING:
    from memcheck.language.test import Test

SUFFIXES = (".litmus", ".table")
STDIN = "-"


class Case(NamedTuple):
    """The text of one test, not parsed yet. `row`: its line in a table, else None. `fault`: why there is no text."""

    source: SourceFile
    row: int | None = None
    fault: MemcheckError | None = None

    @property
    def header(self) -> str | None:
        """The test's name, as its first line says it."""
        return header(self.source.text)

    @property
    def name(self) -> str:
        """The name in its header, or the file's name where there is no header."""
        return self.header or self.source.name

    def parse(self) -> Test:
        if self.fault is not None:
            raise self.fault
        from memcheck.language.load import parse_test

        return parse_test(self.source)


def header(text: str) -> str | None:
    """NAME of the first line `PTX NAME`, None where the text is no litmus test for PTX."""
    import re

    found = re.match(r"(?:\s|//[^\n]*\n|\(\*.*?\*\))*PTX[ \t]+(\S+)", text, re.DOTALL)
    return found[1] if found else None


def read(path: str) -> SourceFile:
    """A file's text, or standard input for `-`, with `\n` at line ends; MemcheckError where it is no UTF-8 text."""
    name = "<stdin>" if path == STDIN else path
    try:
        data = sys.stdin.buffer.read() if path == STDIN else _bytes(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MemcheckError(f"{path}: {reason}.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        source = SourceFile(name, before)
        span = Span(source, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise SourceError(f"this is no UTF-8 text: a byte 0x{data[error.start]:02x}", span) from None
    return SourceFile(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def cases(path: str) -> list[Case]:
    """The tests of one file: one, or a table's rows."""
    source = read(path)
    if not path.endswith(".table"):
        return [Case(source)]
    from memcheck.table import expand

    return [Case(row.source, row.line) for row in expand(source)]


def _cases_or_fault(path: str) -> list[Case]:
    """`cases`, with an unreadable file kept as a case that cannot be parsed: the others of its folder still run."""
    try:
        return cases(path)
    except MemcheckError as fault:
        return [Case(SourceFile(path, ""), fault=fault)]


def walk(folder: str) -> Iterator[str]:
    """Every test file and table under a folder, sorted, hidden folders and what is no regular file left out.

    MemcheckError for a folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise MemcheckError(f"{error.filename}: {error.strerror}.")

    for here, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(here, name)
            if name.endswith(SUFFIXES) and os.path.isfile(path):
                yield path


def suite() -> str:
    """The folder of the suite, in an installed package or beside it in a checkout; relative where it is below here."""
    package = os.path.dirname(__file__)
    inside = os.path.join(package, "suite")
    folder = inside if os.path.isdir(inside) else os.path.join(os.path.dirname(package), "litmus")
    here = os.path.join(os.getcwd(), "")
    return folder.removeprefix(here)


def find(argument: str) -> list[Case]:
    """The tests that one argument of the command line means, in order.

    A file, a folder, `-`, or a name in the suite: a path below it, a file's name, a test's name, a table's row.
    """
    if argument == STDIN:
        return [Case(read(STDIN))]
    if os.path.isdir(argument):
        found = [case for path in walk(argument) for case in _cases_or_fault(path)]
        if not found:
            raise MemcheckError(f"{argument}: no {' or '.join(SUFFIXES)} file in this folder.")
        return found
    if os.path.exists(argument):
        return cases(argument)
    return _in_suite(argument)


def _in_suite(name: str) -> list[Case]:
    root = suite()
    if name.strip("./") and os.path.isdir(os.path.join(root, name)):
        return find(os.path.join(root, name))
    paths = list(walk(root))

    def files(wanted: str) -> list[Case]:
        return next(
            (cases(path) for path in paths if wanted in (os.path.relpath(path, root), os.path.basename(path))), []
        )

    if found := files(name):
        return found
    everything = [case for path in paths for case in _cases_or_fault(path)]
    named = [case for case in everything if case.name == name]
    found = named[:1] or files(f"{name}.litmus") or files(f"{name}.table")
    found = found or [case for case in everything if case.name.lower() == name.lower()][:1]
    if found:
        return found
    from difflib import get_close_matches

    known = {case.name for case in everything} | {os.path.basename(path) for path in paths}
    near = get_close_matches(name, sorted(known), n=3)
    hint = f" Near names: {', '.join(near)}." if near else " `memcheck list` shows the suite."
    raise MemcheckError(f"{name}: no such file, and no test of the suite has this name.{hint}")


def load_all(path_or_text: str | os.PathLike[str]) -> list[Test]:
    """The tests of a file, a table, a folder, a name in the suite, or a test's own text."""
    if isinstance(path_or_text, str) and ("\n" in path_or_text or header(path_or_text)):
        return [Case(SourceFile("<text>", path_or_text)).parse()]
    return [case.parse() for case in find(os.fspath(path_or_text))]


def load(path_or_text: str | os.PathLike[str]) -> Test:
    """One test, from a path, a name in the suite or its text; MemcheckError where that is not exactly one test."""
    tests = load_all(path_or_text)
    if len(tests) != 1:
        raise MemcheckError(f"{path_or_text} holds {len(tests)} tests; `load_all` returns them all.")
    return tests[0]
