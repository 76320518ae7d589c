"""What a run of one plain test imports: nothing that takes longer than to decide it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memcheck.corpus import suite

SLOW = {"z3", "lark", "rich", "difflib", "pathlib", "shutil", "multiprocessing", "tempfile"}
UNUSED = {"memcheck.plain", "memcheck.reference", "memcheck.cat", "memcheck.table", "memcheck.ptx.decode.families"}
OTHERS = {
    "memcheck.machine",
    "memcheck.crossrun",
    "memcheck.tensor",
    "memcheck.ptx.asynchronous",
    "memcheck.ptx.tensors",
}
"""What a test without asynchronous operations needs only for the machine."""
CODE = """
import sys
before = set(sys.modules)
from memcheck.commands.main import main
status = main(["run", *sys.argv[1:]])
print(status, *sorted(set(sys.modules) - before))
"""


def imported(cache: Path, *options: str) -> list[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", CODE, *options, os.path.join(suite(), "mp.litmus")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    status, *modules = done.stdout.splitlines()[-1].split()
    assert status == "0"
    return modules


def test_a_page_without_the_machine_imports_nothing_of_it(tmp_path: Path) -> None:
    assert not OTHERS & set(imported(tmp_path, "--no-machine"))
    assert "memcheck.crossrun" in imported(tmp_path, "--machine")


def test_the_second_run_imports_nothing_slow(tmp_path: Path) -> None:
    first = imported(tmp_path, "--quiet")
    assert {"lark", "memcheck.cat"} <= set(first)
    assert {path.name.split(".cpython")[0] for path in (tmp_path / "memcheck").iterdir()} == {
        "litmus.tables",
        "ptx.cat",
    }
    second = imported(tmp_path, "--quiet")
    assert not (SLOW | UNUSED) & set(second)
