"""The machine on a page, in JSON and in a list."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memcheck.crossrun import REASONS, Crossrun, Refutation
from memcheck.machine.trace import TraceStep
from memcheck.render.ink import paint
from memcheck.render.jsonlines import json_line
from memcheck.render.page import page
from memcheck.render.summary import summary_line
from memcheck.render.trace import trace_table
from tests.render import samples

AGREED = replace(samples.MP, machine=Crossrun(samples.MP.states, True, {}))
SHORT = replace(samples.MP, machine=Crossrun(((0, 0),), True, {(0, 1): "write-order", (1, 1): "thread-order"}))
PARTIAL = replace(samples.MP, machine=Crossrun(((0, 0),), False, {(0, 1): "budget", (1, 1): "budget"}))
STEPS = (
    TraceStep(0, "", "", "the threads start", ("P0 has issued 2 accesses",)),
    TraceStep(1, "thread", "P0", "st.release.gpu.global.u32 [flag], 1 leaves the thread", ("flag = 1", "x = 2")),
    TraceStep(2, "SM 0", "", "a write goes on", ()),
)
REFUTED = replace(
    samples.MP,
    holds=True,
    machine=Crossrun(((0, 0), (0, 1), (1, 0), (1, 1)), True, {}, (Refutation((1, 0), ("Causality",), STEPS),)),
)
WITHOUT = replace(samples.MP, unmachined="the machine does not execute this instruction yet: tcgen05.mma")
ALL = (AGREED, SHORT, PARTIAL, REFUTED, WITHOUT)


def shown(report, room=80):
    return paint(page(report, room))


def test_both_answers_stand_beside_the_states():
    assert (
        "    P1:r0   P1:r1   model     machine\n"
        "    ─────────────────────────────────\n"
        "        0       0   allowed   reached\n"
        "        0       1   allowed   reached\n"
        "        1       1   allowed   reached\n"
        "\n"
        "✗ The condition fails: none of the 3 final states satisfies it (forbidden).\n"
        "\n"
        "litmus/mp.litmus"
    ) in shown(AGREED)


def test_what_is_not_reached_has_its_reason():
    text = shown(SHORT)
    assert "        0       1   allowed   not reached\n" in text
    assert "machine  1 allowed state is not reached, write-order: " in text
    assert "machine  1 allowed state is not reached, thread-order: " in text
    text = shown(PARTIAL)
    assert "        0       1   allowed   budget\n" in text
    assert "machine  2 allowed states are not reached so far: " in text


def test_what_is_reached_and_forbidden_is_an_error_with_its_story():
    text = shown(REFUTED)
    assert "        1       0   forbidden   reached\n" in text
    assert "✗ machine  reaches a state that the model forbids: P1:r0=1  P1:r1=0." in text
    assert "One of the two is wrong: please report this test." in " ".join(text.split())
    assert "please report" not in shown(replace(REFUTED, model="sc"))
    assert "\n\n\n" not in text
    assert "Forbidden by Causality." in text
    assert "  2     SM 0          a write goes on" in text
    assert (samples.MP.status, replace(samples.MP, holds=True).status, REFUTED.status) == (1, 0, 1)
    assert "machine reaches what is forbidden" in paint([summary_line(REFUTED)])


def test_a_state_beyond_an_unfinished_search_is_no_error():
    found = Crossrun(((0, 0), (1, 0)), True, {(0, 1): "budget", (1, 1): "budget"})
    report = replace(samples.MP, complete=False, holds=None, undecided="the time limit was reached", machine=found)
    assert "        1       0   not found   reached\n" in shown(report)
    assert report.status == 3


def test_one_faint_note_where_the_machine_cannot():
    text = shown(WITHOUT)
    assert "  machine  not run: the machine does not execute this instruction yet:\n           tcgen05.mma\n" in text
    assert "model   " not in text
    assert WITHOUT.status == samples.MP.status


@pytest.mark.parametrize("room", [40, 60, 80, 100])
@pytest.mark.parametrize("report", ALL)
def test_no_line_is_wider_than_the_room(report, room):
    if report.is_refuted and room < 60:
        pytest.skip("a trace has five columns")
    for line in shown(report, room).splitlines():
        assert len(line) <= room, line


def test_a_wide_table_is_a_list_that_says_both():
    keys = tuple(f"P{i}:r0" for i in range(20))
    states = (tuple(range(20)),)
    report = replace(samples.MP, keys=keys, states=states, machine=Crossrun(states, True, {}))
    text = shown(report)
    assert "    model: allowed  machine: reached\n" in text


def test_json():
    fields = json.loads(json_line(SHORT))
    assert fields["machine"] == {"reached": [{"P1:r0": 0, "P1:r1": 0}], "complete": True}
    assert json.loads(json_line(PARTIAL))["machine"]["complete"] is False
    assert json.loads(json_line(samples.MP))["machine"] is None
    assert json.loads(json_line(WITHOUT))["machine"] is None


def test_a_line_of_a_list_has_the_number():
    assert "machine 3" in paint([summary_line(AGREED)])
    assert "machine 1+" in paint([summary_line(PARTIAL)])
    assert "machine" not in paint([summary_line(samples.MP)])


def test_a_trace_has_no_empty_columns():
    text = paint(trace_table(STEPS[:2], 80))
    assert text.splitlines()[0].split() == ["step", "thread", "what", "happened", "what", "changed"]
    assert "flag = 1\n" in text
    assert "unit" in paint(trace_table(STEPS, 80))


def test_every_reason_reads_as_a_sentence():
    for reason in REASONS:
        report = replace(samples.MP, machine=Crossrun(((0, 0),), True, {(0, 1): reason}))
        assert "1 allowed state is not reached" in " ".join(shown(report).split())


def test_a_long_instruction_is_told_in_short():
    name = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
    text = paint(trace_table((TraceStep(1, "TMA", "P0", f"{name} [b], [g], 16, [m]: 16 bytes land", ()),), 80))
    assert "cp.async.bulk… [b], [g], 16, [m]:" in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("report", "hangs", "words"),
    [
        (samples.MP, True, "some run never ends, and the model has no execution that hangs"),
        (samples.DEADLOCK, False, "no run hangs"),
        (samples.DEADLOCK, True, None),
        (samples.MP, False, None),
    ],
)
def test_hangs_are_compared(report, hangs, words):
    text = shown(replace(report, machine=Crossrun(report.states, True, {}, hangs=hangs)))
    assert ("  machine  " in text) is (words is not None)
    assert words is None or words in " ".join(text.split())
    partial = shown(replace(report, machine=Crossrun(report.states, False, {}, hangs=hangs)))
    assert "hangs" not in partial.partition("⚑")[0]


@pytest.mark.parametrize(
    ("axioms", "words"),
    [
        (("Causality",), "Forbidden by Causality."),
        (("Causality", "Coherence"), "Forbidden by Causality and Coherence together."),
        ((), "Forbidden by several axioms, each of which suffices."),
        (None, "Forbidden by axioms that there was no time to tell apart."),
    ],
)
def test_the_axioms_behind_a_contradiction(axioms, words):
    assert REFUTED.machine is not None
    machine = replace(REFUTED.machine, refuted=(Refutation((1, 0), axioms, ()),))
    assert words in shown(replace(REFUTED, machine=machine))
