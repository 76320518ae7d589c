"""What a misspelt name may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` over the near names; the names themselves where they are few and none is near."""
    from difflib import get_close_matches

    options = sorted(set(known))
    near = get_close_matches(word, options[:5000], n=2) if len(word) <= 100 else []
    if near:
        return "did you mean " + " or ".join(f"`{name}`" for name in near) + "?"
    if 0 < len(options) <= 10:
        return "known: " + ", ".join(f"`{name}`" for name in options)
    return None
