"""The options that choose between readings of the text: `if "name" then … else …` in a cat file, `--option name`."""

from __future__ import annotations

from collections.abc import Collection

from memcheck.errors import MemcheckError

OPTIONS: dict[str, str] = {
    "tearing": "a scalar read may mix bytes of racing writes of the same size (the letter of 8.10.3)",
    "owner-scope": "the CTA that has an mbarrier executes the complete-tx of copies there, not the issuing thread's",
    "strict-mbarrier-chain": "links between operations on an mbarrier count only where these are morally strong",
    "cross-proxy-strong": "strong accesses of scope gpu or sys may be morally strong across generic and async proxy",
    "rmw-one-operation": "an atomic is one operation: what its write is observed by also bounds what it reads",
}
"""All options by name, with what they change."""


def suggestion(word: str, known: Collection[str]) -> str:
    """`did you mean …?` over the near names, or a list of all when none is near and there are few."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=3)
    if near:
        return "did you mean " + " or ".join(f"`{name}`" for name in near) + "?"
    return "known: " + ", ".join(sorted(known)) if len(known) <= 12 else ""


def check_options(options: Collection[str]) -> None:
    """MemcheckError for an option that is not in the table."""
    for option in options:
        if option not in OPTIONS:
            raise MemcheckError(f"there is no option `{option}`; {suggestion(option, OPTIONS)}")
