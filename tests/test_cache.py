"""What is kept between runs is used only when it is the same, and only from files that nobody else could write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memcheck.cache import kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "memcheck"


def made(source: str, code: list[str] | None = None) -> bool:
    """Whether the value had to be made."""
    calls = []

    def make() -> str:
        calls.append(source)
        return source.upper()

    assert kept("name", source, code or [], make) == source.upper()
    return bool(calls)


def test_made_once_for_the_same_source(folder: Path) -> None:
    assert made("a")
    assert not made("a")
    assert made("b")
    assert not made("b")
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o700, 0o600]


@pytest.mark.usefixtures("folder")
def test_made_again_where_the_code_changed(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1")
    assert made("a", [str(module)])
    assert not made("a", [str(module)])
    os.utime(module, (1, 1))
    assert made("a", [str(module)])


@pytest.mark.parametrize("text", [b"", b"nonsense", b"\x80\x05]\x94.", b"cno_module\nf\n."])
def test_an_unreadable_file_is_none(folder: Path, text: bytes) -> None:
    made("a")
    next(folder.iterdir()).write_bytes(text)
    assert made("a")
    assert not made("a")


def test_files_that_others_can_write_are_not_read(folder: Path) -> None:
    made("a")
    next(folder.iterdir()).chmod(0o666)
    assert made("a")
    folder.chmod(0o777)
    assert made("a")
    assert made("a")


def test_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert made("a")
    assert made("a")
