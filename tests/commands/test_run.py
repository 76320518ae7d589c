"""`memcheck run`: statuses, order, formats, and every way in which a test can end badly."""

from __future__ import annotations

import io
import json
import os
import resource
import sys

import pytest

from memcheck.commands.main import main

pytestmark = pytest.mark.usefixtures("fakes")


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["holds"], 0),
        (["fails"], 1),
        (["listed"], 0),
        (["known"], 0),
        (["outside"], 3),
        (["slow"], 3),
        (["huge"], 3),
        (["fills"], 3),
        (["bad"], 2),
        (["refused"], 2),
        (["deep"], 2),
        (["holds", "fails", "slow"], 1),
        (["holds", "slow"], 3),
        (["bad", "fails", "slow"], 2),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"], ["--format", "herd"], ["--quiet"]])
def test_exit_status(write, names, status, form, capsys):
    assert main(["run", *form, *write(*names)]) == status
    assert "Traceback" not in capsys.readouterr().err


def test_json_lines_are_in_the_order_of_the_files(write, capsys):
    files = write("holds", "bad", "fails", "outside", "slow")
    main(["run", "--json", *files, "--timeout", "2"])
    found = lines(capsys)
    assert [fields["file"] for fields in found] == files
    assert [fields["test"] for fields in found] == ["holds", "bad", "fails", "outside", "slow"]
    assert [fields["holds"] for fields in found] == [True, None, False, None, None]
    assert found[0]["states"] == [{"P0:r0": 0, "x": 0}, {"P0:r0": 1, "x": 2}]
    assert found[1]["error"] == "bad.litmus:1:1: this is no litmus test\n  PTX bad\n  ^^^\n  begin with PTX NAME"
    assert found[4]["undecided"] == "the time limit of 2.0 s was reached"


def test_a_verdict_found_before_the_end_stands(write, capsys):
    main(["run", "--json", *write("known")])
    (fields,) = lines(capsys)
    assert (fields["holds"], fields["undecided"], fields["complete"]) == (True, None, False)
    main(["run", *write("known")])
    assert "The search ended early (the time limit was reached)" in capsys.readouterr().out


def test_options_reach_the_engine(write, capsys):
    arguments = ["--bound", "7", "--memory", "100", "--no-verify", "--option", "tearing"]
    assert main(["run", "--json", *arguments, *write("holds")]) == 0
    assert lines(capsys)[0]["notes"] == ["bound 7, memory 100, verify False, options ['tearing']"]


def test_errors_go_to_standard_error(write, capsys):
    assert main(["run", *write("bad", "holds")]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("bad.litmus:1:1: this is no litmus test\n")
    assert "bad" in out, "the list still has a line for it"
    assert main(["run", *write("bad")]) == 2
    assert capsys.readouterr().out == ""


def test_one_test_has_a_page_and_several_have_lines(write, capsys):
    main(["run", *write("holds")])
    assert "The condition holds: 1 of 2 final states satisfies it (allowed)." in capsys.readouterr().out
    main(["run", *write("holds", "fails")])
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "✓ holds        2  holds"
    assert out[1] == "✗ fails        1  fails"
    assert out[3].startswith("2 tests: 1 holds, 1 fails;")
    main(["run", "--full", *write("holds", "fails")])
    assert capsys.readouterr().out.count("The condition") == 2


def test_quiet_says_nothing(write, capsys):
    assert main(["run", "--quiet", *write("holds", "fails")]) == 1
    assert capsys.readouterr() == ("", "")


def test_standard_input(write, capsys, monkeypatch):
    write()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"PTX holds\n")))
    assert main(["run", "--json", "-"]) == 0
    assert lines(capsys)[0]["file"] == "<stdin>"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_is_walked_in_order(write, capsys, jobs):
    write("t/b", "t/a", "t/z/bad", "t/c/d", "t/.hidden/e")
    (open("t/notes.txt", "w")).close()
    assert main(["run", "--json", "-j", str(jobs), "t"]) == 2
    assert [fields["file"] for fields in lines(capsys)] == [
        os.path.join("t", *path) for path in (["a.litmus"], ["b.litmus"], ["c", "d.litmus"], ["z", "bad.litmus"])
    ]


def test_processes_keep_the_order(write, capsys):
    names = [f"{'holds' if i % 3 else 'fails'}+{i:02}" for i in range(40)]
    assert main(["run", "--json", "-j", "3", *write(*names)]) == 1
    assert [fields["test"] for fields in lines(capsys)] == names


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_unreadable_file_does_not_stop_the_others(write, capsys, jobs):
    files = write("holds")
    with open("binary.litmus", "wb") as file:
        file.write(b"PTX x\xff\n")
    assert main(["run", "--json", "-j", jobs, "missing.litmus", "binary.litmus", *files]) == 2
    missing, binary, good = lines(capsys)
    assert "missing.litmus: no such file" in missing["error"]
    assert binary["error"].startswith("binary.litmus:1:6: this is no UTF-8 text: a byte 0xff\n")
    assert good["holds"] is True


def test_an_empty_folder_is_an_error(tmp_path, capsys):
    assert main(["run", str(tmp_path)]) == 2
    assert "no .litmus or .table file" in capsys.readouterr().err


def test_an_internal_error_is_a_line(write, capsys, monkeypatch):
    monkeypatch.delenv("MEMCHECK_RAISE")
    assert main(["run", "--json", *write("breaks", "holds")]) == 2
    broken, good = lines(capsys)
    assert broken["error"].startswith("breaks.litmus: internal error: ZeroDivisionError: a fault of ours.")
    assert "report" in broken["error"]
    assert good["holds"] is True


def test_an_internal_error_is_raised_for_tests(write):
    with pytest.raises(ZeroDivisionError):
        main(["run", *write("breaks")])


@pytest.mark.parametrize("name", ["stops", "interrupts"])
def test_an_interrupt_ends_the_run(write, capsys, name):
    assert main(["run", "--json", *write("holds", name, "fails")]) == 3
    found = lines(capsys)
    assert [fields["test"] for fields in found] == ["holds", name]
    assert found[1]["undecided"] == "interrupted"
    assert main(["run", *write("holds", name, "fails")]) == 3
    assert "2 of 3 tests" in capsys.readouterr().out


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("where", ["parse_test", "check"])
def test_the_time_limit_holds_wherever_the_time_goes(write, capsys, monkeypatch, jobs, where):
    module = sys.modules["memcheck.language.load" if where == "parse_test" else "memcheck.checker"]
    working = getattr(module, where)

    def dawdle(what, *rest, **options):
        if "dawdles" in getattr(what, "text", "") or getattr(what, "name", "") == "dawdles":
            while True:
                pass
        return working(what, *rest, **options)

    monkeypatch.setattr(module, where, dawdle)
    assert main(["run", "--json", "--timeout", "0.2", "-j", jobs, *write("dawdles", "holds")]) == 3
    late, good = lines(capsys)
    assert late["undecided"] == "the time limit of 0.2 s was reached"
    assert good["holds"] is True


def test_the_memory_limit_holds(write, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["memcheck.checker"], "check", lambda *_, **__: bytearray(2**32))
    assert main(["run", "--json", "--memory", "100", *write("holds")]) == 3
    assert lines(capsys)[0]["undecided"] == "the memory limit of 100 MB was reached"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY, "lifted again"


def test_a_killed_process_costs_one_test(write, capsys, monkeypatch):
    def die(test, *_, **__):
        if test.name == "dies":
            os._exit(9)
        return check(test)

    check = sys.modules["memcheck.checker"].check
    monkeypatch.setattr(sys.modules["memcheck.checker"], "check", die)
    assert main(["run", "--json", "-j", "2", *write("holds+1", "dies", "holds+2", "holds+3")]) == 3
    found = lines(capsys)
    assert [fields["holds"] for fields in found] == [True, None, True, True]
    assert "killed" in found[1]["undecided"]


def test_expectations_can_be_the_judge(write, capsys):
    assert main(["run", "--expect", *write("fails+expects-fails-1")]) == 0
    assert main(["run", "--expect", *write("fails+expects-holds", "holds+expects-holds")]) == 1
    assert "✗ expected: holds, found: fails" in capsys.readouterr().out
    assert main(["run", "--expect", *write("holds")]) == 1, "nothing expected is not as expected"
    assert main(["run", "--expect", *write("bad")]) == 2


def test_one_test_runs_on_the_machine_too(write, capsys):
    main(["run", *write("holds")])
    assert "P0:r0   x   model     machine\n" in capsys.readouterr().out
    main(["run", "--json", *write("holds")])
    assert lines(capsys)[0]["machine"] == {"reached": [{"P0:r0": 0, "x": 0}, {"P0:r0": 1, "x": 2}], "complete": True}


@pytest.mark.parametrize(
    "arguments", [["--no-machine"], ["--option", "tearing"], ["--model", "sc"], ["--model", "ptx-7.5"]]
)
def test_the_machine_is_left_out_on_request_and_for_other_readings(write, capsys, arguments):
    main(["run", "--json", *arguments, *write("holds")])
    assert lines(capsys)[0]["machine"] is None
    main(["run", *arguments, *write("holds")])
    assert "machine" not in capsys.readouterr().out


def test_several_tests_run_on_it_if_asked_to(write, capsys):
    files = write("holds", "fails+short")
    main(["run", "--json", *files])
    assert [fields["machine"] for fields in lines(capsys)] == [None, None]
    for jobs in ("1", "2"):
        main(["run", "--json", "--machine", "-j", jobs, *files])
        assert [len(fields["machine"]["reached"]) for fields in lines(capsys)] == [2, 1]
    main(["run", "--machine", *files])
    assert "✓ holds        2  holds  machine 2\n" in capsys.readouterr().out


@pytest.mark.parametrize("form", [[], ["--json"], ["--quiet"]])
def test_a_contradiction_is_an_error_whatever_the_verdict(write, form):
    assert main(["run", *form, *write("holds+refutes")]) == 1
    assert main(["run", *form, "--no-machine", *write("holds+refutes")]) == 0
    assert main(["run", *form, "--machine", *write("holds", "holds+refutes")]) == 1
    assert main(["run", *form, "--expect", "--machine", *write("holds+refutes+expects-holds")]) == 1
    assert main(["run", *form, "--expect", "--machine", *write("holds+expects-holds")]) == 0


def test_a_contradiction_is_told_with_its_run(write, capsys):
    main(["run", "--machine-time", "2.5", *write("holds+refutes")])
    out = capsys.readouterr().out
    assert "✗ machine  reaches a state that the model forbids: P0:r0=7  x=7." in out
    assert "Forbidden by Causality." in out
    assert "st [x], 7 within 2.5 s" in out


def test_what_the_machine_cannot_execute_changes_no_verdict(write, capsys):
    assert main(["run", *write("holds+foreign")]) == 0
    assert "machine  not run: the machine does not execute this instruction yet: st\n" in capsys.readouterr().out
    assert main(["run", "--json", *write("holds+foreign")]) == 0
    assert lines(capsys)[0]["machine"] is None


def test_nothing_runs_where_the_model_says_nothing(write, capsys):
    main(["run", "--json", *write("outside+refutes")])
    assert lines(capsys)[0]["machine"] is None


@pytest.mark.parametrize("name", ["holds+halts", "holds+unplugged"])
def test_an_interrupt_of_the_machine_ends_the_run_after_the_verdict(write, capsys, name):
    assert main(["run", "--json", "--machine", *write(name, "fails")]) == 3
    (fields,) = lines(capsys)
    assert fields["holds"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "ptz"], "there is no model `ptz`"),
        (["--option", "taering"], "there is no option `taering`; did you mean `tearing`"),
        (["--model", "missing.cat"], "missing.cat"),
    ],
)
def test_usage_errors_are_told_once(write, capsys, arguments, words):
    assert main(["run", *arguments, *write("holds", "fails")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count(words) == 1


@pytest.mark.parametrize("words", ["run", "run --bound x f", "run --timeout -1 f", "run --format xml f", "nix", ""])
def test_arguments_that_are_none(capsys, words):
    with pytest.raises(SystemExit) as exit:
        main(words.split())
    assert exit.value.code == 2
    assert "usage: memcheck" in capsys.readouterr().err
