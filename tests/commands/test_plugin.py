"""The pytest plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("fakes")


@pytest.fixture
def collect(pytester, write):
    """Runs pytest over tests of these names; its outcomes and its text."""

    def run(*names, table=None):
        files = write(*names)
        if table:
            Path("rows.table").write_text(table)
            files.append("rows.table")
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *files)
        return result.parseoutcomes(), result.stdout.str()

    return run


def test_an_item_for_each_expectation(collect):
    names = ["holds+expects-holds+expects-holds-2", "fails+expects-fails", "outside+expects-outside"]
    assert collect(*names, "slow+expects-undecided")[0] == {"passed": 5}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails+expects-holds", "expected: holds, found: fails"),
        ("holds+expects-holds-3", "expected 3 final states, found 2"),
        ("outside+expects-fails", "found: outside (mixed-size-race)"),
        ("listed+expects-holds", "no verdict, since the test has no condition"),
        ("holds+expects-deadlock", "expected a deadlock"),
        ("holds", "holds expects nothing"),
        ("bad", "bad.litmus:1:1: this is no litmus test"),
        ("refused+expects-holds", "The model does not fit."),
    ],
)
def test_failures_are_told_in_words(collect, name, words):
    outcomes, text = collect(name)
    assert outcomes == {"failed": 1}
    assert words in text
    assert "Traceback" not in text
    if "expects-holds" in name and "refused" not in name:
        assert "the file's reason: 8.10.6" in text


def test_an_internal_error_keeps_its_traceback(collect):
    outcomes, text = collect("breaks+expects-holds")
    assert outcomes == {"failed": 1}
    assert "ZeroDivisionError" in text
    assert "conftest.py" in text


def test_a_deadlock_is_a_flag_beside_the_verdict(collect):
    assert collect("hangs+expects-deadlock+expects-holds")[0] == {"passed": 2}


def test_the_rows_of_a_table_are_tests(collect):
    table = "name|verdict\na|holds\nb|fails\n===\nPTX holds+$name+expects-$verdict\n"
    outcomes, text = collect(table=table)
    assert outcomes == {"passed": 1, "failed": 1}
    assert "holds+b+expects-fails[ptx]" in text


def test_a_broken_table_is_a_failing_test(collect):
    outcomes, text = collect(table="name|verdict\na|b|c\n===\nPTX x\n")
    assert outcomes == {"failed": 1}
    assert "rows.table:2:1" in text


def test_other_architectures_and_tables_are_left_alone(collect):
    Path("arm.litmus").write_text("AArch64 MP\n{}\n")
    Path("a.table").write_text("a | b\n")
    assert "no tests ran" in collect()[1]
