"""memcheck: which final states does the PTX memory model allow?

    test = memcheck.load("mp.litmus")
    result = memcheck.check(test, "ptx")
    result.holds, result.states, result.flags

Everything below is imported on first use, so that `import memcheck` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memcheck.checker import check
    from memcheck.corpus import load, load_all
    from memcheck.errors import MemcheckError, SourceError
    from memcheck.language.test import Test
    from memcheck.result import Remark, Result

__version__ = "0.1.0"
__all__ = ["MemcheckError", "Remark", "Result", "SourceError", "Test", "__version__", "check", "load", "load_all"]

_HOMES = {
    "check": "memcheck.checker",
    "load": "memcheck.corpus",
    "load_all": "memcheck.corpus",
    "MemcheckError": "memcheck.errors",
    "SourceError": "memcheck.errors",
    "Test": "memcheck.language.test",
    "Remark": "memcheck.result",
    "Result": "memcheck.result",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memcheck' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
