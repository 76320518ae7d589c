"""JSON lines, herd's log, colours and encodings."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest

from memcheck.render.herd import herd_log
from memcheck.render.ink import encodable, paint, wants_colour
from memcheck.render.jsonlines import json_line
from memcheck.render.page import page
from memcheck.report import combined_status
from memcheck.result import Remark
from tests.render import samples

REQUIRED = {
    "schema",
    "file",
    "test",
    "model",
    "condition",
    "holds",
    "states",
    "flags",
    "outside",
    "complete",
    "undecided",
    "error",
}


@pytest.mark.parametrize("report", samples.ALL, ids=lambda report: report.test)
def test_every_json_line_has_every_key(report):
    line = json_line(report)
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert json.loads(line).keys() >= REQUIRED


def test_a_json_line_says_what_the_report_says():
    fields = json.loads(json_line(samples.RACY))
    assert fields["schema"] == 1
    assert fields["states"][1] == {"P1:r0": 1, "x[1] @ cta 1": 0, "y": 4294967295}
    assert fields["flags"] == ["race"]
    assert fields["holds"] is False
    assert json.loads(json_line(samples.OUTSIDE))["outside"] == ["mixed-size-race"]
    assert json.loads(json_line(samples.OUTSIDE))["holds"] is None
    assert json.loads(json_line(samples.UNDECIDED))["undecided"] == "the time limit of 1 s was reached"
    assert json.loads(json_line(samples.ERROR))["error"].startswith("bad.litmus:3:5")


def test_a_flag_is_named_once():
    twice = replace(samples.RACY, flags=samples.RACY.flags * 2 + (Remark("async-in-flight", "…"),))
    fields = json.loads(json_line(twice))
    assert fields["flags"] == ["race", "async-in-flight"]
    assert len(fields["remarks"]) == 3


def test_the_herd_log():
    text = herd_log(samples.MP)
    assert re.sub("Hash=[0-9a-f]{32}", "Hash=…", text) == (
        "Test MP Allowed\n"
        "States 3\n"
        "1:r0=0; 1:r1=0;\n"
        "1:r0=0; 1:r1=1;\n"
        "1:r0=1; 1:r1=1;\n"
        "No\n"
        "Witnesses\n"
        "Positive: 0 Negative: 3\n"
        "Condition exists (1:r0 = 1 /\\ 1:r1 = 0)\n"
        "Observation MP Never 0 3\n"
        "Time MP 0.00\n"
        "Hash=…\n"
        "\n"
    )


def test_names_that_herds_tools_cannot_read_are_changed():
    text = herd_log(replace(samples.RACY, test="MP@weak"))
    assert "Test MP_weak Forbidden\n" in text
    assert "1:r0=1; x.cta1[1]=0; [y]=4294967295;\n" in text
    assert "Condition ~exists (1:r0 = 1 /\\ x.cta1[1] = 0)\n" in text
    assert "Flag race\n" in text
    assert "Observation MP_weak Sometimes 1 2\n" in text


HERD_LINE = re.compile(
    # The state lines that herd's log reader knows: registers by number, locations by name, one index.
    r"(?:(?:\d+:[A-Za-z][\w.]*|\[?[A-Za-z][\w.]*\]?|[A-Za-z][\w.]*\[\d+\])=-?\d+; ?)*"
)


@pytest.mark.parametrize("report", samples.ALL, ids=lambda report: report.test)
def test_herds_reader_knows_every_line(report):
    lines = herd_log(report).splitlines()
    if report.error:
        assert not lines
        return
    states = len(report.states)
    assert all(HERD_LINE.fullmatch(line) for line in lines[2 : 2 + states])
    assert lines[2 + states] in {"Ok", "No", "Undef"}
    assert re.fullmatch(r"Time \S+ \d+\.\d+", next(line for line in lines if line.startswith("Time")))


def test_colour_only_where_it_is_wanted(monkeypatch):
    lines = page(samples.MP, 80)
    assert "\x1b" not in paint(lines)
    coloured = paint(lines, colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == paint(lines)
    assert not wants_colour(io.StringIO())
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(terminal)


def test_a_poor_encoding_still_says_everything():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    text = encodable(paint(page(samples.RACY, 80)), stream)
    text.encode("ascii")
    assert "! race" in text
    assert "\n  *     1" in text


@pytest.mark.parametrize(
    ("statuses", "status"), [([], 0), ([0, 0], 0), ([0, 1], 1), ([1, 3], 1), ([3, 0], 3), ([1, 2, 3], 2)]
)
def test_one_status_for_many(statuses, status):
    assert combined_status(statuses) == status


def test_the_status_of_each():
    assert [report.status for report in samples.ALL] == [1, 1, 3, 3, 3, 2, 0]
    assert replace(samples.MP, holds=True).status == 0
