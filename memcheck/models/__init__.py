"""The models that come with memcheck, and any other cat file, by name or path."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from memcheck.cache import kept
from memcheck.errors import MemcheckError
from memcheck.relations.expression import Model
from memcheck.source import SourceFile

FOLDER = os.path.dirname(os.path.abspath(__file__))

NAMES = ("ptx", "ptx-7.5", "ptx-6.0", "sc")
"""The models by name, the default first."""


def available() -> dict[str, str]:
    """Name to title of each model that comes with memcheck."""
    return {name: load(name).title for name in NAMES if os.path.isfile(os.path.join(FOLDER, f"{name}.cat"))}


def load(name_or_path: str, options: Iterable[str] = frozenset()) -> Model:
    """The model of a name of NAMES or of a path that ends in `.cat`.

    `options` choose between readings (`memcheck.cat.OPTIONS`). MemcheckError for an unknown name or a file that
    cannot be read, SourceError for a fault in its text.
    """
    if name_or_path in NAMES:
        path, shown = os.path.join(FOLDER, f"{name_or_path}.cat"), f"{name_or_path}.cat"
    elif name_or_path.endswith(".cat"):
        path, shown = name_or_path, name_or_path
    else:
        from memcheck.cat.options import suggestion

        hint = suggestion(name_or_path, NAMES)
        raise MemcheckError(f"there is no model `{name_or_path}`; {hint}" + "; a file's name must end in .cat")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise MemcheckError(f"the model {shown} cannot be read: {reason}") from None
    if re.search(r'include\s*"', text):  # what it includes can change
        return _parse(path, text, frozenset(options))
    return _parsed(path, text, frozenset(options), name_or_path in NAMES)


@lru_cache(maxsize=16)
def machine_model(**sets: str) -> Model:
    """PTX with what the machine does beyond it as further axioms; `sets` are what machine.cat leaves open."""
    path = os.path.join(FOLDER, "machine.cat")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, value in sets.items():
        before, _, rest = text.partition(f"\nlet {name} = ")
        text = f"{before}\nlet {name} = {value}\n{rest.partition(chr(10))[2]}"
    with open(os.path.join(FOLDER, "ptx.cat"), encoding="utf-8") as file:
        source = f"{text}\n{file.read()}"
    kind = format(zlib.crc32("/".join(sets.values()).encode()), "08x")
    return kept(f"machine-{kind}.cat", source, _code(), lambda: _parse(path, text, frozenset()))


@lru_cache(maxsize=32)
def _parsed(path: str, text: str, options: frozenset[str], ours: bool) -> Model:
    """`ours`: a model of NAMES, kept from run to run."""
    if not ours:
        return _parse(path, text, options)
    name = "+".join([os.path.basename(path), *sorted(options)])
    return kept(name, f"{path}\n{text}", _code(), lambda: _with_interchange(_parse(path, text, options), options))


def _with_interchange(model: Model, options: frozenset[str]) -> Model:
    """In ptx.cat operations on an mbarrier can change places where causality does not order them.

    With strict-mbarrier-chain it matters which of two a wait observes through the other.
    """
    if model.name != "ptx" or "strict-mbarrier-chain" in options:
        return model
    causality = next(d.expr for d in reversed(model.definitions) if d.name == "causality")
    return replace(model, interchange=causality)


def _parse(path: str, text: str, options: frozenset[str]) -> Model:
    from pathlib import Path

    from memcheck.cat import parse_model

    return parse_model(SourceFile(path, text), options, Path(FOLDER))


def _code() -> list[str]:
    """Every module and grammar that has a part in what a model becomes."""
    package = os.path.dirname(FOLDER)
    folders = [os.path.join(package, name) for name in ("cat", "relations")]
    files = [entry.path for folder in folders for entry in os.scandir(folder) if entry.is_file()]
    return [*sorted(files), os.path.join(package, "events", "vocabulary.py"), os.path.join(package, "source.py")]
