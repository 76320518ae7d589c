"""The word of an mbarrier against counters of plain integers, and against rows worked out by hand."""

import random

import pytest

from memcheck.events import phase
from memcheck.events.value import Value, Values, evaluate

WORD = 0


def change(word: int, **amounts: int) -> tuple[int, bool, bool]:
    values = Values()
    given: dict[str, Value] = {name: values.const(number, 32) for name, number in amounts.items()}
    step = phase.step(values, values.read(WORD, phase.WORD), **given)  # type: ignore[arg-type]
    new, completes, overflows = (evaluate(value, {WORD: word}, {}) for value in step)
    return new, bool(completes), bool(overflows)


@pytest.mark.parametrize(
    ("before", "amounts", "after", "completes"),
    [
        # phase, expected, pending, tx
        ((0, 2, 2, 0), {"arrivals": 1}, (0, 2, 1, 0), False),
        ((0, 2, 1, 0), {"arrivals": 1}, (1, 2, 2, 0), True),
        ((0, 1, 1, 0), {"arrivals": 1, "transactions": 64}, (0, 1, 0, 64), False),
        ((0, 1, 0, 64), {"transactions": -64}, (1, 1, 1, 0), True),
        ((0, 1, 1, 0), {"transactions": -16}, (0, 1, 1, -16), False),
        # an expect-tx that brings the count to 0 completes the phase, as on an H200
        ((0, 3, 0, -32), {"transactions": 32}, (1, 3, 3, 0), True),
        ((3, 2, 1, 0), {"arrivals": 1}, (0, 2, 2, 0), True),
        ((1, 2, 2, 0), {"arrivals": 1, "fewer": 1}, (1, 1, 1, 0), False),
        ((1, 2, 1, 0), {"arrivals": 1, "fewer": 1}, (2, 1, 1, 0), True),
        ((0, 2, 2, 0), {"more": 1}, (0, 2, 3, 0), False),
    ],
)
def test_by_hand(before, amounts, after, completes):
    number, expected, pending, tx = before
    word = 1 << 63 | number << 61 | expected << 41 | pending << 21 | tx & (1 << 21) - 1
    assert phase.counts(word) == before
    new, done, overflows = change(word, **amounts)
    assert (phase.counts(new), done, overflows) == (after, completes, False)


@pytest.mark.parametrize(
    "amounts",
    [
        {"arrivals": 3},
        {"more": phase.MAX_COUNT},
        {"transactions": phase.MAX_COUNT + 1},
        {"arrivals": 2, "fewer": 2},
    ],
)
def test_out_of_range_the_object_is_lost(amounts):
    new, completes, overflows = change(phase.fresh(2), **amounts)
    assert (new, completes, overflows) == (0, False, True)
    assert phase.counts(new) is None


def test_against_counters():
    dice = random.Random(5)
    for _ in range(300):
        expected = pending = dice.randint(1, 4)
        number, tx, word = 0, 0, phase.fresh(expected)
        for _ in range(12):
            amounts = {"arrivals": dice.randint(0, 2), "transactions": dice.choice((-16, 0, 0, 16))}
            if dice.random() < 0.2:
                amounts["fewer"] = amounts["arrivals"]
            pending -= amounts["arrivals"]
            expected -= amounts.get("fewer", 0)
            tx += amounts["transactions"]
            word, completes, overflows = change(word, **amounts)
            assert overflows == (pending < 0 or expected < 1)
            if overflows:
                break
            assert completes == (pending == 0 and tx == 0)
            if completes:
                number, pending = number + 1, expected
            assert phase.counts(word) == (number % 4, expected, pending, tx)


def test_memory_that_is_no_mbarrier():
    assert phase.counts(0) is None
    values = Values()
    assert evaluate(phase.initial(values, values.read(WORD, 32)), {WORD: 5}, {}) == phase.fresh(5)
