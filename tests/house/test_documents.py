"""The documents: sessions print what they show, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memcheck.checker import check
from memcheck.expectation import differences
from memcheck.language.load import parse_test
from memcheck.source import SourceFile
from memcheck.table import expand
from tests.house.sessions import Command, masked, run, sessions

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = [command for page in PAGES for session in sessions(page) for command in session]
SKIPPED = ("pip", "git ", "make ", "python -m venv")
"""Commands that are shown and not run."""


def place(command: Command) -> str:
    return f"{command.path.relative_to(ROOT)}:{command.line}"


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.text.startswith(SKIPPED)], ids=place)
def test_a_session_prints_what_it_shows(command):
    actual = masked(run(command, ROOT))
    expected = masked(command.output)
    if expected.endswith("…"):
        assert actual.startswith(expected.removesuffix("…").rstrip()), actual
    else:
        assert actual == expected


def test_the_readme_has_sessions():
    assert any(command.path.name == "README.md" for command in COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run(page):
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, str(page), "exec"), {"__name__": "example"})


def examples():
    """Litmus tests and tables in the documents: fenced blocks without a language that have a header."""
    for page in PAGES:
        text = page.read_text()
        for block in re.finditer(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if re.search(r"^PTX ", block[1], re.MULTILINE):
                line = text.count("\n", 0, block.start(1))
                yield pytest.param(SourceFile(page.name, "\n" * line + block[1]), id=f"{page.name}:{line + 1}")


@pytest.mark.parametrize("source", list(examples()))
def test_examples_are_litmus_tests_with_these_verdicts(source):
    rows = [row.source for row in expand(source)] if "\n===\n" in source.text else [source]
    for row in rows:
        test = parse_test(row)
        for expectation in test.expectations:
            assert differences(check(test, expectation.model), expectation) == []
