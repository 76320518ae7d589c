"""The command ends with a status and a line, whatever it is given."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = "PTX T\n{ x = 0; }\nP0 @ cta 0 { ld.global.u32 r0, [x]; }\n"
BAD = {
    "empty": b"",
    "blank": b"\n\n\n",
    "nul": b"PTX T\0",
    "no UTF-8": b"PTX T { x = 0; }\n\xff\xfe",
    "cut in a character": b"PTX T \xe2\x82",
    "UTF-16": HEAD.encode("utf-16"),
    "binary": bytes(range(256)) * 40,
    "a huge number": (HEAD + "exists (x = " + "9" * 5_000 + ")").encode(),
    "a huge offset": HEAD.replace("[x]", "[x+" + "9" * 400 + "]").encode(),
    "10,000 deep": (HEAD + "exists " + "~(x=1/\\" * 10_000 + "x=1" + ")" * 10_000).encode(),
    "10,000 open": (HEAD + "exists " + "(" * 10_000).encode(),
    "a huge array": HEAD.replace("x = 0", ".global .u32 x[999999999999]").encode(),
    "a huge loop": HEAD.replace("ld", "L: " + "ld" * 50_000).encode(),
}


def _run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "memcheck", "run", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False)


def _ended_well(done: subprocess.CompletedProcess[bytes], status: int) -> None:
    shown = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert "Traceback" not in shown
    assert "internal error" not in shown
    assert done.returncode == status, shown
    assert shown.strip()


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    for name, data in BAD.items():
        (folder / f"{name.replace(' ', '-')}.litmus").write_bytes(data)
    return folder


def test_a_folder_of_odd_files(files):
    """All of them in one run: each has an error of its own."""
    done = _run(str(files))
    _ended_well(done, 2)
    shown = (done.stdout + done.stderr).decode("utf-8", "replace")
    for path in files.iterdir():
        assert path.name in shown


def test_the_same_in_json(files):
    done = _run("--json", str(files))
    _ended_well(done, 2)
    assert len(done.stdout.splitlines()) == len(BAD)
    assert b'"error": null' not in done.stdout


@pytest.mark.parametrize("name", ["empty", "no UTF-8", "10,000 deep"])
def test_standard_input(name):
    _ended_well(_run("-", stdin=BAD[name]), 2)


def test_what_is_no_file(tmp_path):
    (tmp_path / "folder.litmus").mkdir()
    (tmp_path / "loop.litmus").symlink_to(tmp_path / "loop.litmus")
    (tmp_path / "void").mkdir()
    for name in ("folder.litmus", "loop.litmus", "void", "missing.litmus", "x" * 300, "nul\\0", "é\udcff"):
        _ended_well(_run(str(tmp_path / name)), 2)


def test_tables(tmp_path):
    table = tmp_path / "t.table"
    for text in ("", "===", "a | b\n===\nPTX", "a\n1 | 2\n===\nPTX $a", "a\n1\n===\nPTX $a $b", "a\n1\n===\nPTX $"):
        table.write_text(text)
        _ended_well(_run(str(table)), 2)


def test_a_large_condition_is_decided():
    """What is only long has an answer."""
    text = HEAD + "exists (" + "(" * 10_000 + "x = 0" + ")" * 10_000 + ")"
    _ended_well(_run("-", stdin=text.encode()), 0)
