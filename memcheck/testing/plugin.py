"""pytest collects `*.litmus` and `*.table` files: one item for each model that a test has an expectation for.

A test without an expectation is an item that fails, and so is one that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from memcheck.corpus import Case
    from memcheck.language.test import Expectation, Test


class UnexpectedError(Exception):
    """What a test found, in words; shown without a traceback."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memcheck", "litmus tests")
    group.addoption("--memcheck-timeout", type=float, metavar="S", help="seconds for each litmus test; then undecided")
    group.addoption("--no-memcheck-verify", action="store_true", help="do not check each state's witness a second time")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in (".litmus", ".table"):
        return None
    from memcheck.corpus import header

    text = file_path.read_text(encoding="utf-8", errors="replace")
    template = text.partition("\n===\n")[2] if file_path.suffix == ".table" else text
    return LitmusFile.from_parent(parent, path=file_path) if header(template) else None


class LitmusFile(pytest.File):
    """One file: a test, or a table of tests."""

    def collect(self) -> Iterator[pytest.Item]:
        from memcheck.corpus import cases
        from memcheck.errors import MemcheckError

        try:
            found = cases(str(self.path))
        except MemcheckError as fault:
            yield Faulty.from_parent(self, name=self.path.name, message=str(fault))
            return
        for case in found:
            yield from self._items(case)

    def _items(self, case: Case) -> Iterator[pytest.Item]:
        from memcheck.errors import MemcheckError

        try:
            test = case.parse()
        except MemcheckError as fault:
            yield Faulty.from_parent(self, name=case.name, message=str(fault))
            return
        line = case.row or 1
        if not test.expectations:
            message = f"{test.name} expects nothing: add a comment such as (* expect ptx: holds; why: 8.10.6 *)"
            yield Faulty.from_parent(self, name=test.name, message=message, line=line)
        for expectation in test.expectations:
            name = f"{test.name}[{expectation.model}]"
            yield LitmusItem.from_parent(self, name=name, test=test, expectation=expectation, line=line)


class _Item(pytest.Item):
    """`line`: where the test is in its file, from 1."""

    def __init__(self, *, line: int = 1, **rest: Any) -> None:
        super().__init__(**rest)
        self.line = line

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, UnexpectedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name


class Faulty(_Item):
    """A test that fails before it runs."""

    def __init__(self, *, message: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.message = message

    def runtest(self) -> None:
        raise UnexpectedError(self.message)


class LitmusItem(_Item):
    """A test and what it expects of one model."""

    def __init__(self, *, test: Test, expectation: Expectation, **rest: Any) -> None:
        super().__init__(**rest)
        self.test = test
        self.expectation = expectation

    def runtest(self) -> None:
        from memcheck.checker import check
        from memcheck.errors import MemcheckError
        from memcheck.expectation import differences

        options = self.config.option
        try:
            verify = not options.no_memcheck_verify
            result = check(self.test, self.expectation.model, timeout=options.memcheck_timeout, verify=verify)
        except MemcheckError as fault:
            raise UnexpectedError(str(fault)) from None
        found = differences(result, self.expectation)
        if found:
            raise UnexpectedError(self._message(found))

    def _message(self, found: list[str]) -> str:
        lines = [f"{self.expectation.span.where}: {self.test.name} under {self.expectation.model}"]
        lines += [f"  {line}" for line in found]
        if self.expectation.why:
            lines.append(f"  the file's reason: {self.expectation.why}")
        return "\n".join(lines)
