"""Numbers as PTX writes them: decimal, 0x, 0b, octal with a leading 0, and the bits of floats, 0f and 0d (ISA 4.5)."""

from __future__ import annotations

from memcheck.errors import SourceError
from memcheck.language.position import Positions
from memcheck.language.syntax import Number
from memcheck.source import Span

MAX_BITS = 128
_BASES = {"x": 16, "f": 16, "d": 16, "b": 2}


def value(number: Number, positions: Positions, base: int) -> int:
    """The value of a number of the clause at offset `base`; SourceError beyond MAX_BITS."""
    text = number.text
    digits = text.lstrip("-").rstrip("U").lower()
    if len(digits) <= MAX_BITS + 2:
        try:
            found = _digits(digits)
        except ValueError:
            raise SourceError(f"`{text}` is not a number", positions.span(base + number.at, len(text))) from None
        if found < 1 << MAX_BITS:
            return -found if text[0] == "-" else found
    raise SourceError(
        f"this number does not fit in {MAX_BITS} bits", positions.span(base + number.at, min(len(text), 200))
    )


def small(number: Number, positions: Positions, base: int, what: str, limit: int) -> int:
    """A number from 0 to `limit`, of a place, a count or the like."""
    found = value(number, positions, base)
    if not 0 <= found <= limit:
        span = positions.span(base + number.at, len(number.text))
        raise SourceError(f"{what} is a number from 0 to {limit}", span)
    return found


def alignment(number: Number | None, span: Span, given: int | None, positions: Positions, at: int) -> int:
    """The number of `.align`, of which `given` may be an earlier one."""
    if number is None or given is not None:
        raise SourceError("`.align` takes one number, once", span)
    found = small(number, positions, at, "an alignment", 1 << 20)
    if found == 0 or found & (found - 1):
        raise SourceError("an alignment is a power of two", positions.span(at + number.at, len(number.text)))
    return found


def _digits(text: str) -> int:
    if text[0] != "0" or len(text) == 1:
        return int(text)
    return int(text[2:], _BASES[text[1]]) if text[1] in _BASES else int(text, 8)
