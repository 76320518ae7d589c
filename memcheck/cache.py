"""What is dear to make and the same each time, kept between runs in the user's own cache folder.

A value is used only where it was made from the same input by the same code; whatever is wrong with a file, it is as if
it were not there. Values are pickled, and unpickling runs code: files that others could have written are not read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

Value = TypeVar("Value")

_PLACE = format(int.from_bytes(os.fsencode(__file__), "big") % (2**61 - 1), "x")
"""Several installations keep their own files, and do not overwrite each other's."""


def kept(name: str, source: str, code: Sequence[str], make: Callable[[], Value]) -> Value:
    """What `make` makes from `source` with the modules at the paths `code`; from the file `name` where that has it."""
    folder = _folder()
    if folder is None:
        return make()
    path = os.path.join(folder, f"{name}.{sys.implementation.cache_tag}.{_PLACE}")
    try:
        key = (source, tuple(_stamp(module) for module in code))
    except OSError:
        return make()
    found = _read(path)
    if isinstance(found, tuple) and len(found) == 2 and found[0] == key:
        value: Value = found[1]
        return value
    value = make()
    _write(path, (key, value))
    return value


def _stamp(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return path, status.st_mtime_ns, status.st_size


def _folder() -> str | None:
    """The folder, made where it is not there; None where there can be none or it is not ours alone."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "memcheck")
    try:
        if not os.path.isabs(folder):
            return None
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder if _ours(folder) else None
    except OSError:
        return None


def _ours(path: str) -> bool:
    """Whether it belongs to this user and nobody else can write it."""
    status = os.lstat(path)
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _read(path: str) -> object:
    import pickle

    try:
        if not _ours(path):
            return None
        with open(path, "rb") as file:
            return pickle.loads(file.read())
    except Exception:  # an unreadable pickle can raise anything
        return None


def _write(path: str, value: object) -> None:
    """Whole or not at all: beside it first, then in its place."""
    import pickle

    beside = f"{path}.{os.getpid()}"
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        os.replace(beside, path)
    except (OSError, pickle.PicklingError, RecursionError):
        try:
            os.unlink(beside)
        except OSError:
            return
