"""The command as a whole: versions, help, listings."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from memcheck.commands.main import COMMANDS, main


def test_version_names_the_model_and_the_solver(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert re.fullmatch(r"memcheck \d+\.\d+\.\d+ \(model PTX ISA 9\.4.*; z3 5\.4\.\d.*\)\n", capsys.readouterr().out)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert "usage: memcheck" in capsys.readouterr().out


def test_models_lists_models_and_options(capsys):
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  ptx +PTX ISA 9\.4", out, re.MULTILINE)
    assert "tearing" in out


def test_list_shows_the_suite_by_theme(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("first steps\n  MP ")
    assert main(["list", "--names", "message", "passing"]) == 0
    assert "MP" in capsys.readouterr().out.splitlines()
    assert main(["list", "nothing-has-this-word"]) == 2


def test_importing_the_package_is_cheap():
    code = "import memcheck, sys; print(*(name for name in sys.modules if name.startswith(('memcheck', 'z3', 'lark'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["memcheck"]


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -W error -m memcheck list --names | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
