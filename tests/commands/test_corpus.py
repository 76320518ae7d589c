"""Finding tests: files, tables, the suite."""

from __future__ import annotations

import pytest

from memcheck import corpus
from memcheck.errors import MemcheckError, SourceError
from memcheck.source import SourceFile
from memcheck.table import expand

TABLE = """# two fences
name | fence         | verdict
-----|---------------|--------
sc   | fence.sc.gpu  | fails
ar   |               | holds
===
PTX SB+$name
P0 { ${fence}; }
(* costs $$1; expect ptx: $verdict *)
"""


def test_a_table_has_a_test_in_each_row():
    rows = expand(SourceFile("t.table", TABLE))
    assert [row.line for row in rows] == [4, 5]
    assert rows[0].cells == {"name": "sc", "fence": "fence.sc.gpu", "verdict": "fails"}
    assert rows[0].source.text.lstrip() == "PTX SB+sc\nP0 { fence.sc.gpu; }\n(* costs $1; expect ptx: fails *)\n"
    assert "P0 { ; }" in rows[1].source.text


def test_lines_of_a_row_are_lines_of_the_table():
    source = expand(SourceFile("t.table", TABLE))[0].source
    assert source.line(7) == "PTX SB+sc"
    assert SourceFile("t.table", TABLE).line(7) == "PTX SB+$name"


@pytest.mark.parametrize("bars", [False, True])
def test_bars_at_both_ends_are_free(bars):
    rows = ["a | b", "1 |", "|| 2"] if not bars else ["| a | b |", "| 1 |  |", "|  | 2 |"]
    text = "\n".join([*rows, "===", "PTX $a-$b"])
    assert [row.cells for row in expand(SourceFile("t", text))] == [{"a": "1", "b": ""}, {"a": "", "b": "2"}]


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a | b\n1 | 2\nPTX x\n", "needs a line `===`", 1, 1),
        ("a | b\n===\nPTX x\n", "at least one row", 2, 1),
        ("a | b\n1 | 2 | 3\n===\nPTX x\n", "has 3 cells, the table 2 columns", 2, 1),
        ("a | b\n1 | 2\n===\nPTX x\n  $c\n", "no column `c`", 5, 3),
        ("a | b\n1 | 2\n===\nPTX x $ y\n", "`$$` is a dollar sign", 4, 7),
    ],
)
def test_faults_of_a_table_have_a_place(text, message, line, column):
    with pytest.raises(SourceError) as error:
        expand(SourceFile("t.table", text))
    assert message in error.value.message
    assert (error.value.span.line, error.value.span.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PTX MP+a.b\n", "MP+a.b"),
        ('\n(* note *) // more\nPTX x "d"', "x"),
        ("AArch64 MP\n", None),
        ("", None),
        ("P PTX x", None),
    ],
)
def test_the_header(text, name):
    assert corpus.header(text) == name


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "classic").mkdir()
    (tmp_path / "mp.litmus").write_text("PTX MP\n")
    (tmp_path / "classic" / "sb.litmus").write_text("PTX SB+weak\n")
    (tmp_path / "classic" / "MP.table").write_text(TABLE.replace("SB", "MP"))
    (tmp_path / "classic" / "broken.table").write_text("nothing\n")
    monkeypatch.setattr(corpus, "suite", lambda: str(tmp_path))
    monkeypatch.chdir(tmp_path / "classic")
    return tmp_path


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(
    ("argument", "names"),
    [
        ("mp.litmus", ["MP"]),
        ("MP", ["MP"]),
        ("mp", ["MP"]),
        ("classic/sb.litmus", ["SB+weak"]),
        ("sb", ["SB+weak"]),
        ("sb+WEAK", ["SB+weak"]),
        ("MP.table", ["MP+sc", "MP+ar"]),
        ("MP+ar", ["MP+ar"]),
    ],
)
def test_a_name_that_is_no_file_is_looked_up_in_the_suite(argument, names):
    assert [case.name for case in corpus.find(argument)] == names


@pytest.mark.usefixtures("suite")
def test_a_theme_is_all_its_tests():
    found = corpus.find("classic")
    assert [case.name for case in found if not case.fault] == ["MP+sc", "MP+ar", "SB+weak"]


@pytest.mark.usefixtures("suite")
def test_near_names_are_told():
    with pytest.raises(MemcheckError, match=r"no such file.*Near names: .*SB\+weak"):
        corpus.find("SB+weka")
    with pytest.raises(MemcheckError, match="memcheck list"):
        corpus.find("qqqqqqqq")


def test_a_file_comes_before_the_suite(suite):
    (suite / "classic" / "MP").write_text("PTX mine\n")
    assert corpus.find("MP")[0].name == "mine"


def test_line_ends_and_byte_order_marks_are_read_away(tmp_path):
    path = tmp_path / "windows.litmus"
    path.write_bytes(b"\xef\xbb\xbfPTX a\r\n{}\rP0 {}\n")
    assert corpus.read(str(path)).text == "PTX a\n{}\nP0 {}\n"


@pytest.mark.usefixtures("fakes")
def test_load(suite):
    assert corpus.load("PTX text\n").name == "text"
    assert corpus.load("PTX text\n").source.name == "<text>"
    assert corpus.load(suite / "mp.litmus").name == "MP"
    assert [test.name for test in corpus.load_all("MP.table")] == ["MP+sc", "MP+ar"]
    with pytest.raises(MemcheckError, match="holds 2 tests"):
        corpus.load("MP.table")
