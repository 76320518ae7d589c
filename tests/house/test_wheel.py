"""An installed wheel, away from the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The `bin` folder of a new environment with the wheel and pytest."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("memcheck-*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    bin = folder / "env" / "bin"
    pip[0] = str(bin / "python")
    subprocess.run([*pip, "install", wheel, "pytest>=9,<10"], check=True)
    return bin


def run(bin, tmp_path, *command):
    return subprocess.run([bin / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)


def test_the_command_finds_its_suite(installed, tmp_path):
    done = run(installed, tmp_path, "memcheck", "run", "mp.litmus")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The condition holds" in done.stdout
    done = run(installed, tmp_path, "memcheck", "list")
    assert done.stdout.startswith("first steps\n  MP ")
    assert run(installed, tmp_path, "memcheck", "--version").stdout.startswith("memcheck ")


def test_the_plugin_is_there(installed, tmp_path):
    (tmp_path / "own.litmus").write_text(
        "PTX own {}\nP0 { st.b32 [x], 1; }\nexists (x = 1)\n(* expect ptx: holds; states: 1; why: 8.9.6 *)\n"
    )
    done = run(installed, tmp_path, "pytest", "-q")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_types_are_there(installed):
    (package,) = (installed.parent / "lib").glob("*/site-packages/memcheck")
    assert (package / "py.typed").exists()
    assert (package / "models" / "ptx.cat").exists()
    assert (package / "suite" / "mp.litmus").exists()
