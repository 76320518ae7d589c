"""The page for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memcheck.render.ink import paint
from memcheck.render.page import page
from memcheck.render.sentence import sentence
from memcheck.render.states import state_table
from memcheck.render.summary import closing, summary_line
from tests.render import samples


def shown(report, room=80, everything=False):
    return paint(page(report, room, everything))


def test_a_forbidden_condition():
    assert shown(samples.MP) == (
        "MP\n"
        "Message passing: data, then a flag.\n"
        "\n"
        "  exists (P1:r0 == 1 /\\ P1:r1 == 0)\n"
        "\n"
        "    P1:r0   P1:r1\n"
        "    ─────────────\n"
        "        0       0\n"
        "        0       1\n"
        "        1       1\n"
        "\n"
        "✗ The condition fails: none of the 3 final states satisfies it (forbidden).\n"
        "\n"
        "litmus/mp.litmus · model ptx · 4 ms\n"
    )


def test_satisfying_states_are_marked_and_remarks_have_their_places():
    text = shown(samples.RACY)
    assert "  ●     1              0   0xffffffff\n" in text
    assert text.count("●") == 2, "one state, and the legend"
    assert (
        "⚑ race  `st.u32 [y], 1` of P0 and `ld.u32 r0, [y]` of P1 race.\n    racy.litmus:4:3 · racy.litmus:7:3\n"
        in text
    )
    assert "note  Register P0:r7 is never written and reads 0." in text
    assert "The condition fails: 1 of 3 final states is one that it rules out." in text


@pytest.mark.parametrize("room", [40, 60, 80, 100])
@pytest.mark.parametrize("report", samples.ALL, ids=lambda report: report.test)
def test_no_line_is_wider_than_the_room(report, room):
    for line in shown(report, room).splitlines():
        assert len(line) <= room or " " not in line.strip(), line


def test_a_wide_table_becomes_a_list():
    keys = tuple(f"P{i}:r0" for i in range(20))
    report = replace(samples.MP, keys=keys, states=(tuple(range(20)),), satisfying=frozenset())
    text = paint(state_table(report, 80))
    assert "P0:r0=0  P1:r0=1" in text
    assert "P19:r0=19" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_long_table_keeps_the_satisfying_states():
    states = tuple((i, 0) for i in range(100))
    report = replace(samples.MP, states=states, satisfying=frozenset({(99, 0)}), holds=True)
    text = paint(state_table(report, 80, 10))
    assert "  ●    99       0\n" in text
    assert "… and 90 more states, 0 of them satisfying (--all shows them)" in text
    assert paint(state_table(report, 80, None)).count("\n") == 102


@pytest.mark.parametrize(
    ("quantifier", "holds", "total", "yes", "text"),
    [
        ("exists", True, 3, 1, "holds: 1 of 3 final states satisfies it (allowed)."),
        ("exists", True, 3, 2, "holds: 2 of 3 final states satisfy it (allowed)."),
        ("exists", True, 1, 1, "holds: the only final state satisfies it (allowed)."),
        ("exists", False, 1, 0, "fails: the only final state does not satisfy it (forbidden)."),
        ("exists", False, 0, 0, "fails: there is no final state, so none satisfies it (forbidden)."),
        ("~exists", True, 3, 0, "holds: none of the 3 final states is one that it rules out."),
        ("~exists", True, 1, 0, "holds: the only final state is not one that it rules out."),
        ("~exists", False, 3, 2, "fails: 2 of 3 final states are ones that it rules out."),
        ("forall", True, 3, 3, "holds: all 3 final states satisfy it."),
        ("forall", True, 1, 1, "holds: the only final state satisfies it."),
        ("forall", False, 3, 2, "fails: 1 of 3 final states does not satisfy it."),
        ("forall", False, 1, 0, "fails: the only final state does not satisfy it."),
    ],
)
def test_the_sentence(quantifier, holds, total, yes, text):
    states = tuple((i, 0) for i in range(total))
    report = replace(samples.MP, quantifier=quantifier, holds=holds, states=states, satisfying=frozenset(states[:yes]))
    assert sentence(report).text == f"The condition {text}"


def test_only_some_of_many_flags_are_shown():
    report = replace(samples.RACY, flags=samples.RACY.flags * 9)
    assert shown(report).count("⚑ race") == 3
    assert "… and 6 more (--all shows them)" in shown(report)
    assert shown(report, everything=True).count("⚑ race") == 9


def test_words_for_what_is_no_verdict():
    assert [sentence(report).word for report in samples.ALL] == [
        "fails",
        "fails",
        "outside",
        "undecided",
        "deadlock",
        "error",
        "states",
    ]
    assert "Found so far: 1 final state." in sentence(samples.UNDECIDED).text
    assert "Of no final state at all, the condition holds, but emptily." in shown(samples.DEADLOCK)


def test_an_incomplete_search_is_told():
    assert "beyond the loop bound" in shown(replace(samples.MP, complete=False))
    assert "beyond the loop bound" not in shown(samples.MP)


def test_an_unexpected_result_is_told():
    report = replace(samples.MP, unexpected=("expected: holds, found: fails",))
    assert "not what the file expects\n    expected: holds, found: fails" in shown(report)
    assert "✗ expected: holds, found: fails" in paint([summary_line(report)])
    assert "not what the file expects" not in shown(replace(report, unexpected=()))


def test_the_closing_line_counts():
    text = paint(closing(samples.ALL, len(samples.ALL), 2.5))
    assert text == "\n7 tests: 2 fails, 1 states, 1 deadlock, 1 outside, 1 undecided, 1 error; 2.5 s\n"
    expecting = [replace(samples.MP, unexpected=()), replace(samples.MP, unexpected=("x",))]
    assert "1 not as expected" in paint(closing(expecting, 3, 0))
    assert "2 of 3 tests" in paint(closing(expecting, 3, 0))
    assert "all as expected" in paint(closing(expecting[:1], 1, 0))
