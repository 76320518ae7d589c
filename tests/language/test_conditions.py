"""Conditions: precedence, terms, and truth in a state."""

from __future__ import annotations

import pytest

from memcheck.language.condition import satisfies, terms
from memcheck.language.test import (
    And,
    Compare,
    MemoryTerm,
    Not,
    NumberTerm,
    Or,
    RegisterTerm,
    Truth,
)
from tests.language.reading import read

STATE = "x = 0; y = 0; .global .b32 a[3]; .shared .b32 s"


def prop(text: str):
    test = read(f"PTX T {{ {STATE} }} P0 @ cta 0 {{ ld r0, [x]; ld.b64 rd1, [y]; }} P1 @ cta 1 {{ }} exists ({text})")
    assert test.condition is not None
    return test.condition.prop


def equal(name: str, value: int) -> Compare:
    return Compare("==", MemoryTerm(name), NumberTerm(value))


def test_precedence():
    assert prop("x = 1 \\/ ~ x = 2 /\\ y = 3") == Or((equal("x", 1), And((Not(equal("x", 2)), equal("y", 3)))))
    assert prop("(x = 1 \\/ x = 2) /\\ not (y = 3)") == And((Or((equal("x", 1), equal("x", 2))), Not(equal("y", 3))))


def test_same_connectives_are_one():
    assert prop("x = 1 /\\ (x = 2 /\\ x = 3) /\\ x = 4") == And(tuple(equal("x", n) for n in (1, 2, 3, 4)))
    assert prop("~~(((x = 1)))") == equal("x", 1)
    assert prop("true") == Truth(True)


def test_terms():
    got = list(terms(prop("P0:r0 < 0:%rd1 /\\ [x] = a[1] /\\ [a] = 1 /\\ s @ cta 1 >= 0x10 /\\ 1 = 1")))
    assert got == [
        RegisterTerm(0, "r0"),
        RegisterTerm(0, "rd1"),
        MemoryTerm("x"),
        MemoryTerm("a", 1),
        MemoryTerm("a", 0),
        MemoryTerm("s", 0, 1),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = -1", True),
        ("x = 0xffffffff", True),
        ("x != -1", False),
        ("x = 0x1ffffffff", True),  # modulo the width
        ("x < 0", False),
        ("x > 4294967294", True),
        ("x >= -1", True),
        ("x < -1", False),
        ("x < 0x100000000", True),  # no wrap of what is larger than any value
        ("y = -1", False),
        ("y = 4294967295", True),
        ("x = y", True),
        ("y = x", True),
        ("P0:r0 = P0:rd1", True),  # 5 and 2**32 + 5, modulo the narrower width
        ("P0:r0 < P0:rd1", True),
        ("P0:r0 == 5 /\\ (x = 1 \\/ ~ (y = 1))", True),
        ("P0:r0 = 6 \\/ false", False),
        ("3 < 4", True),
        ("3 = -1", False),
    ],
)
def test_truth(text, expected):
    state = {
        MemoryTerm("x"): (0xFFFFFFFF, 32),
        MemoryTerm("y"): (0xFFFFFFFF, 64),
        RegisterTerm(0, "r0"): (5, 32),
        RegisterTerm(0, "rd1"): (2**32 + 5, 64),
    }
    assert satisfies(prop(text), state.__getitem__) is expected


def test_predicates_are_bits():
    condition = Compare("==", RegisterTerm(0, "p0"), NumberTerm(-1))
    assert satisfies(condition, lambda _: (1, 1))
    assert not satisfies(condition, lambda _: (0, 1))


def test_locations_come_first_and_filter_does_not_count():
    text = "locations [a; P1:r7; x] filter (y = 1) forall (P0:r0 = 1 /\\ x = 1)"
    test = read(f"PTX T {{ {STATE} }} P0 @ cta 0 {{ ld r0, [x]; }} P1 @ cta 1 {{ }} {text}")
    assert [test.key(term) for term in test.observed] == ["a[0]", "a[1]", "a[2]", "P1:r7", "x", "P0:r0"]
    assert test.filter == equal("y", 1)
    assert test.threads[1].widths == {"r7": 32}
    assert test.notes == ("nothing sets P1:r7, which the condition names: it is 0",)


def test_locations_without_a_condition():
    test = read("PTX T { x = 0; y = 0 } P0 { ld r0, [x]; } locations [y;]")
    assert test.condition is None
    assert test.observed == (MemoryTerm("y"),)
