"""The models that come with memcheck, and any other cat file, by name or path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from memcheck.cat import parse_model
from memcheck.cat.options import suggestion
from memcheck.errors import MemcheckError
from memcheck.relations.expression import Model
from memcheck.source import SourceFile

FOLDER = Path(__file__).parent

NAMES = ("ptx", "ptx-7.5", "ptx-6.0", "sc")
"""The models by name, the default first."""


def available() -> dict[str, str]:
    """Name to title of each model that comes with memcheck."""
    return {name: load(name).title for name in NAMES if (FOLDER / f"{name}.cat").is_file()}


def load(name_or_path: str, options: Iterable[str] = frozenset()) -> Model:
    """The model of a name of NAMES or of a path that ends in `.cat`.

    `options` choose between readings (`memcheck.cat.OPTIONS`). MemcheckError for an unknown name or a file that
    cannot be read, SourceError for a fault in its text.
    """
    if name_or_path in NAMES:
        path, shown = FOLDER / f"{name_or_path}.cat", f"{name_or_path}.cat"
    elif name_or_path.endswith(".cat"):
        path, shown = Path(name_or_path), name_or_path
    else:
        hint = suggestion(name_or_path, NAMES)
        raise MemcheckError(f"there is no model `{name_or_path}`; {hint}" + "; a file's name must end in .cat")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise MemcheckError(f"the model {shown} cannot be read: {reason}") from None
    name = str(path) if path.parent == FOLDER else name_or_path
    if re.search(r'include\s*"', text):
        return parse_model(SourceFile(name, text), options, FOLDER)
    return _parsed(name, text, frozenset(options))


@lru_cache(maxsize=32)
def _parsed(name: str, text: str, options: frozenset[str]) -> Model:
    return parse_model(SourceFile(name, text), options, FOLDER)
