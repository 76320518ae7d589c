"""The house: every module imports, none outgrows its room, words and walls are kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "memcheck").rglob("*.py")
    if path.name != "__main__.py"
)
SOURCES = sorted((ROOT / "memcheck").rglob("*.py"))


def test_every_module_imports_without_a_warning():
    assert len(MODULES) > 20
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code, *MODULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is(path):
    text = path.read_text()
    assert not text or text.startswith('"""'), "begin with a docstring"
    assert path.stem not in {"utils", "helpers", "common", "misc"}


def test_every_package_is_a_package():
    """A folder of modules without `__init__.py` would be left out of the wheel's tools silently."""
    for path in SOURCES:
        assert (path.parent / "__init__.py").exists(), path.parent


def test_names_in_all_can_be_had():
    import memcheck

    for name in memcheck.__all__:
        assert getattr(memcheck, name) is not None
    assert set(memcheck.__all__) <= set(dir(memcheck))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = memcheck.nothing


def test_the_version_is_the_packages():
    import memcheck

    declared = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert memcheck.__version__ == declared[1]


def test_no_module_hides_a_public_name():
    """Importing a submodule sets its name on the package: none may be called as what the package offers."""
    import memcheck

    assert not {path.stem for path in (ROOT / "memcheck").iterdir()} & set(memcheck.__all__)
