"""The state of an mbarrier as a word of memory, and what each operation makes of it (ISA 9.7.15.16).

Its own layout, no machine's: bit 63 live, bits 61 and 62 the phase modulo 4, then expected arrivals (20 bits), pending
arrivals (20 bits) and the tx-count (21 bits, two's complement). 0 is memory that is no mbarrier.
"""

from __future__ import annotations

from typing import NamedTuple

from memcheck.events.value import Value, Values

MAX_COUNT = (1 << 20) - 1
"""The largest count of arrivals, and the largest size of a tx-count, of layout v0."""
WORD = 64
SIZE = WORD // 8
_TX, _PENDING, _EXPECTED, _PHASE, _LIVE = 0, 21, 41, 61, 63
_WIDE = 32
"""Bits in which counts are added up."""


def fresh(count: int) -> int:
    """The word of an object that was just initialised for `count` arrivals."""
    return 1 << _LIVE | count << _EXPECTED | count << _PENDING


def initial(values: Values, count: Value) -> Value:
    """`fresh` of a count that is a value, 32 bits."""
    field = values.extract(count, 0, 20)
    low = values.concat(field, values.const(0, _PENDING))
    return values.concat(values.const(1 << 2, 3), values.concat(field, low))


class Counts(NamedTuple):
    """A word, a number, taken apart. `transactions`: the tx-count, signed."""

    phase: int
    expected: int
    pending: int
    transactions: int


def counts(word: int) -> Counts | None:
    """What a word says; None where it is no live mbarrier."""
    if not word >> _LIVE & 1:
        return None
    tx = word & (1 << 21) - 1
    tx -= (tx >> 20) << 21
    return Counts(word >> _PHASE & 3, word >> _EXPECTED & MAX_COUNT, word >> _PENDING & MAX_COUNT, tx)


def is_live(values: Values, word: Value) -> Value:
    return values.extract(word, _LIVE, 1)


def phase(values: Values, word: Value) -> Value:
    """The phase modulo 4, 2 bits."""
    return values.extract(word, _PHASE, 2)


def parity(values: Values, word: Value) -> Value:
    return values.extract(word, _PHASE, 1)


def pending(values: Values, word: Value) -> Value:
    """Pending arrivals, 20 bits."""
    return values.extract(word, _PENDING, 20)


class Step(NamedTuple):
    """What an operation does to a word: the `word` after it, whether a phase is over, whether counts leave their range.

    Where they do, the object is lost: its word is 0.
    """

    word: Value
    completes: Value
    overflows: Value


def step(
    values: Values,
    word: Value,
    *,
    arrivals: Value | None = None,
    more: Value | None = None,
    fewer: Value | None = None,
    transactions: Value | None = None,
) -> Step:
    """`arrivals` arrive; `more` arrivals pend from now on; `fewer` are expected in later phases; `transactions` are
    added to the tx-count. All of 32 bits, the last signed; None for 0. The word is a live object's."""
    zero = values.const(0, _WIDE)
    expected = values.zext(values.extract(word, _EXPECTED, 20), _WIDE)
    left = values.zext(pending(values, word), _WIDE)
    tx = values.sext(values.extract(word, _TX, 21), _WIDE)
    if more is not None:
        left = values.binary("add", left, more)
    too_many = values.binary("ult", values.const(MAX_COUNT, _WIDE), left)
    if arrivals is not None:
        too_many = values.either(too_many, values.binary("ult", left, arrivals))
        left = values.binary("sub", left, arrivals)
    if fewer is not None:
        # an object expects one arrival at least
        too_many = values.either(too_many, values.negate(values.binary("ult", fewer, expected)))
        expected = values.binary("sub", expected, fewer)
    if transactions is not None:
        most, size = values.const(MAX_COUNT, _WIDE), transactions
        tx = values.binary("add", tx, size)
        low = values.const(-MAX_COUNT, _WIDE)
        too_many = values.either(too_many, values.binary("slt", most, tx))
        too_many = values.either(too_many, values.binary("slt", tx, low))
        too_many = values.either(too_many, values.binary("slt", most, size))
        too_many = values.either(too_many, values.binary("slt", size, low))
    over = values.both(values.binary("eq", left, zero), values.binary("eq", tx, zero))
    completes = values.both(over, values.negate(too_many))
    number = phase(values, word)
    number = values.ite(over, values.binary("add", number, values.const(1, 2)), number)
    left = values.ite(over, expected, left)
    new = values.concat(values.extract(left, 0, 20), values.extract(tx, 0, 21))
    new = values.concat(values.extract(expected, 0, 20), new)
    new = values.concat(values.const(1, 1), values.concat(number, new))
    return Step(values.ite(too_many, values.const(0, WORD), new), completes, too_many)
