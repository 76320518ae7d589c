"""Ctrl-C, kill and a closed pipe, in real processes, with the real engine on a test that takes too long."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.bench.rings import ring

SLOW = 24


@pytest.fixture
def files(tmp_path):
    names = []
    for name, text in (("first", ring(2)), ("slow", ring(SLOW)), ("last", ring(3))):
        (tmp_path / f"{name}.litmus").write_text(text)
        names.append(f"{name}.litmus")
    return names


def start(tmp_path, *arguments):
    command = [sys.executable, "-m", "memcheck", "run", "--json", "--no-verify", *arguments]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_ends_the_run_with_what_is_known(tmp_path, files, jobs, number):
    process = start(tmp_path, "-j", jobs, *files)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert first["test"] == "ring-2"
    time.sleep(1.5)  # into the slow test
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == 3
    slow = json.loads(out.splitlines()[0])
    assert slow["test"] == f"ring-{SLOW}"
    assert "interrupted" in slow["undecided"] or slow["holds"] is not None
    assert slow["complete"] is False


def test_the_time_limit_keeps_what_was_found(tmp_path, files):
    process = start(tmp_path, "--timeout", "3", files[1])
    out, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == 3
    fields = json.loads(out)
    assert "the time limit" in fields["undecided"]


def test_a_closed_pipe_is_no_error(tmp_path, files):
    process = start(tmp_path, "-j", "2", *files)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 3
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
