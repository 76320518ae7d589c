"""Where the parser tables of a grammar are kept between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def tables_file(grammar: str) -> str | bool:
    """For lark's `cache` option: a file in the user's own cache folder, or False where there is no such folder.

    Lark unpickles the file, so it must not lie where others can write; it checks that the file fits the grammar.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():
            base = Path.home() / ".cache"
        folder = base / "memcheck"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return False
    return str(folder / f"{grammar}.{sys.implementation.cache_tag}.tables")
