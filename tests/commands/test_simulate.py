"""`memcheck simulate`: pages, runs, traces, statuses, and every way in which it can end early."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time

import pytest

from memcheck.commands.main import main
from tests.bench.rings import ring

MP = "MP+rlx+rlx"


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def test_all_runs_of_a_test(capsys):
    assert main(["simulate", MP]) == 0
    out = capsys.readouterr().out
    assert "  ●     1       0\n" in out
    assert "✓ 4 final states, and no others: every run was explored" in out


def test_json_of_all_runs(capsys):
    assert main(["simulate", "--json", "mp.litmus", MP]) == 0
    first, second = lines(capsys)
    assert first["states"] == [
        {"P1:r0": 0, "P1:r1": 0},
        {"P1:r0": 0, "P1:r1": 1},
        {"P1:r0": 1, "P1:r1": 1},
    ]
    assert (first["complete"], first["counts"], first["hangs"], first["traps"]) == (True, None, False, False)
    assert len(second["states"]) == 4


def test_random_runs_are_counted_and_repeat(capsys):
    assert main(["simulate", "--json", "--runs", "300", "--seed", "5", MP]) == 0
    assert main(["simulate", "--json", "--runs", "300", "--seed", "5", MP]) == 0
    assert main(["simulate", "--json", "--runs", "300", "--seed", "6", MP]) == 0
    first, again, other = lines(capsys)
    assert first == again
    assert first["counts"] != other["counts"]
    assert sum(first["counts"]) == first["runs"] == 300
    assert first["complete"] is False
    assert main(["simulate", "--runs", "300", MP]) == 0
    out = capsys.readouterr().out
    assert "in 300 random runs with seed 0; there may be others." in out
    assert "P1:r1   runs" in out


def test_states_that_the_filter_leaves_out_are_runs_all_the_same(write, capsys):
    name = write(
        "f.litmus",
        "PTX f { x = 0; } P0 { ld.u32 r0, [x]; } P1 { st.u32 [x], 1; }\nfilter (P0:r0 = 1) exists (P0:r0 = 1)\n",
    )
    assert main(["simulate", "--json", "--runs", "50", name]) == 0
    (fields,) = lines(capsys)
    assert fields["runs"] == 50
    assert fields["states"] == [{"P0:r0": 1}]
    assert fields["counts"][0] < 50


def test_the_trace_of_a_state(capsys):
    assert main(["simulate", MP, "--trace", "P1:r0=1,P1:r1=0"]) == 0
    out = capsys.readouterr().out
    assert "A shortest run to P1:r0=1, P1:r1=0: 4 steps." in out
    rows = [line for line in out.splitlines() if line[2:3].isdigit()]
    assert [row.split()[:2] for row in rows[1:]] == [["1", "P0"], ["2", "P0"], ["3", "P1"], ["4", "P1"]]
    assert "P1:r1 = 0" in rows[4]


def test_the_trace_in_json(capsys):
    assert main(["simulate", "--json", MP, "--trace", "P1:r1 = 0x1"]) == 0
    (fields,) = lines(capsys)
    assert (fields["reached"], fields["state"]) == (True, {"P1:r1": 1})
    assert fields["trace"][-1]["changed"] == ["P1:r0 = 0"] or fields["trace"][-1]["thread"] == "P1"
    assert [step["step"] for step in fields["trace"]] == list(range(len(fields["trace"])))


def test_a_state_that_is_not_reached(capsys):
    assert main(["simulate", "mp.litmus", "--trace", "P1:r0=1,P1:r1=0"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("The machine does not reach P1:r0=1, P1:r1=0 in MP: every run was explored.\n")
    assert "        1       1\n" in out, "those that are reached are shown"
    assert main(["simulate", "--json", "mp.litmus", "--trace", "P1:r0=1,P1:r1=0"]) == 1
    (fields,) = lines(capsys)
    assert (fields["reached"], fields["complete"], fields["trace"]) == (False, True, None)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("P1:r7=0", "a final state of MP has no `P1:r7`; it has P1:r0, P1:r1"),
        ("P1:r0", "`P1:r0` is no value; write NAME=NUMBER, such as 'P1:r0=1,P1:r1=1'"),
        ("P1:r0=one", "`one` is no number; write P1:r0=1 or P1:r0=0x1"),
        ("P1:r0=1,P1:r0=0", "P1:r0 is given two values, 1 and 0"),
        ("P1:r0=4294967296", "4294967296 does not fit into the 32 bits of P1:r0"),
    ],
)
def test_what_is_no_state(capsys, state, words):
    assert main(["simulate", "mp.litmus", "--trace", state]) == 2
    assert words in capsys.readouterr().err


def test_steps_come_one_by_one(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\nq\n"))
    assert main(["simulate", MP, "--trace", "P1:r0=1", "--steps"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line[2:3].isdigit()] == ["0", "1", "2"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["simulate", MP, "--trace", "P1:r0=1", "--steps"]) == 0
    assert "P1:r0 = 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--steps"],
        ["--seed", "1"],
        ["--runs", "3", "--trace", "P1:r0=1"],
        ["missing.litmus"],
        ["--json", "missing.litmus"],
    ],
)
def test_what_cannot_be(capsys, arguments):
    names = [] if "missing.litmus" in arguments else ["mp.litmus"]
    assert main(["simulate", *arguments, *names]) == 2
    out, err = capsys.readouterr()
    assert ("--json" in arguments) is bool(out)
    if out:
        assert json.loads(out)["error"].startswith("missing.litmus: no such file")
    else:
        assert err


def test_a_budget_ends_with_what_is_known(write, capsys):
    name = write("ring.litmus", ring(8))
    assert main(["simulate", "--json", "--budget", "2000", name]) == 3
    (fields,) = lines(capsys)
    assert fields["complete"] is False
    assert fields["visited"] >= 2000
    assert main(["simulate", "--budget", "2000", name]) == 3
    assert "so far, and perhaps others" in capsys.readouterr().out
    assert main(["simulate", "--json", "--timeout", "0.2", name]) == 3
    assert main(["simulate", "--json", "--timeout", "0.2", "--runs", "1000000", name]) == 3
    assert main(["simulate", "--budget", "500", "--trace", "P0:r0=5", name]) == 3
    assert "not every run was explored" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_with_what_is_known(write, tmp_path, number):
    names = [write("first.litmus", ring(2)), write("slow.litmus", ring(9)), write("next.litmus", ring(2))]
    arguments = ["--json", "--budget", "100000000", "--timeout", "1000", *names]
    command = [sys.executable, "-m", "memcheck", "simulate", *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["complete"] is True
    time.sleep(1.5)  # into the slow test
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == 3
    (line,) = out.splitlines()
    assert json.loads(line)["complete"] is False


def test_an_interrupt_of_random_runs_keeps_their_count(capsys, monkeypatch):
    from memcheck.machine import explore

    one_run, begun = explore._Walk.run, []

    def interrupted(*arguments):
        begun.append(1)
        if len(begun) > 20:
            raise KeyboardInterrupt
        return one_run(*arguments)

    monkeypatch.setattr(explore._Walk, "run", interrupted)
    assert main(["simulate", "--runs", "50", MP, "mp.litmus"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "in 20 random runs with seed 0; there may be others. Not all runs were made: it was interrupted." in out
    assert "MP+rlx+rlx" in out
    assert len(begun) == 21, "the next test is not begun"


def test_an_internal_error_is_a_line_and_the_next_test_follows(capsys, monkeypatch):
    from memcheck.machine import explore

    working = explore.explore

    def broken(machine, *limits):
        if machine.test.name == "MP":
            raise ZeroDivisionError("a fault of ours")
        return working(machine, *limits)

    monkeypatch.delenv("MEMCHECK_RAISE")
    monkeypatch.setattr(explore, "explore", broken)
    assert main(["simulate", "--json", "mp.litmus", MP]) == 2
    first, second = lines(capsys)
    assert "internal error: ZeroDivisionError: a fault of ours." in first["error"]
    assert second["complete"] is True


def test_a_limit_is_named_as_it_was_given(write, capsys):
    assert main(["simulate", "--budget", "1", MP]) == 3
    assert "1 state of the machine (--budget) was not enough" in " ".join(capsys.readouterr().out.split())
    body = "L0: add.u32 r1, r1, 1; bra L0;"
    name = write("round.litmus", f"PTX round {{ x = 0; }} P0 {{ {body} }}\nexists (x = 0)\n")
    assert main(["simulate", name]) == 3
    assert "a thread goes round a loop" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["simulate", "--runs", "12345678901", MP])
    assert "12345678901 is too large" in capsys.readouterr().err


def test_undefined_behaviour_has_its_place(capsys):
    assert main(["simulate", "--trace", "undefined", "bar.warp.sync+caller-outside"]) == 0
    assert "⚑ This is undefined behaviour: P0 is at `bar.warp.sync 0x2`." in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "simulate"])
@pytest.mark.parametrize(("where", "status", "words"), [(">&-", 0, ""), (">/dev/full", 2, "cannot be written")])
def test_output_that_cannot_be_written(command, where, status, words):
    script = f"{sys.executable} -m memcheck {command} mp.litmus {where}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert words in done.stderr
    assert bool(done.stderr) is bool(words)
