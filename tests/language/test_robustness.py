"""Every input ends in a test or in an error that says where, soon."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.errors import MemcheckError, SourceError, TooLargeError
from memcheck.language.load import parse_test
from memcheck.language.parse import MAX_DEPTH
from memcheck.language.printer import print_test
from memcheck.language.test import Compare, Test
from memcheck.source import SourceFile
from tests.language.reading import read
from tests.language.test_errors import cases
from tests.language.test_layouts import BLOCKS, COLUMNS
from tests.language.test_printer import DIALECT, EVERYTHING

SEEDS = [COLUMNS, BLOCKS, DIALECT, EVERYTHING, *(text for text, _ in cases().values())]
SEEDS += [path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "litmus").rglob("*.litmus")][:200]
PIECES = ["{", "}", "(", ")", "[", "]", ";", "|", ",", '"', "(*", "*)", "//", "@", "!", "%", "::", ":", ".", "=", "~"]
PIECES += ["exists", "forall (", "/\\", "\\/", "-1", "0x", "9" * 40, "P0", "P1:r0", "x", "cta 0", ".reg .b32 q", "é"]
PIECES += ["aliases", "order grid 0 -> grid 1", "\n", "\t", "\0", "\u2028", "\x0b", "_", "{r0, r1}", "&x", "%laneid"]

edits = st.tuples(st.integers(0, 10**6), st.integers(0, 6), st.sampled_from(PIECES) | st.text(max_size=3) | st.just(""))


def ends_well(text: str) -> Test | None:
    """The test, or None where the text was refused with a place inside it."""
    fault: MemcheckError
    try:
        return parse_test(SourceFile("t", text))
    except MemcheckError as error:
        fault = error
    if isinstance(fault, SourceError):
        line, column = fault.span.line, fault.span.column
        assert str(fault).startswith(f"t:{line}:{column}: ")
        lines = text.split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
    else:
        assert isinstance(fault, TooLargeError)
        assert len(text) > 10_000
    return None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.lists(edits, min_size=1, max_size=5))
def test_changed_tests(seed, changes):
    text = seed
    for at, removed, piece in changes:
        at %= len(text) + 1
        text = text[:at] + piece + text[at + removed :]
    test = ends_well(text)
    if test is not None:
        read(print_test(test))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join))
def test_any_text(text):
    ends_well(text)
    ends_well("PTX T { x = 0 } " + text)
    ends_well("PTX T { x = 0 } P0 { " + text + " }")
    ends_well("PTX T { x = 0 } P0 { } exists (" + text + ")")


HEAD = "PTX T\n{ x = 0; }\nP0 @ cta 0 { ld r0, [x]; }\nexists "
HUGE = {
    "parentheses": HEAD + "(" * 10_000 + "x=1" + ")" * 10_000,
    "negations": HEAD + "~" * 10_000 + "(x=1)",
    "alternation": HEAD + "~(x=1/\\" * 8_000 + "x=1" + ")" * 8_000,
    "atoms": HEAD + "(" + "x=1 /\\ " * 12_000 + "x=1)",
    "endless condition": HEAD + "(" + "x=1 /\\ " * 200_000 + "x=1)",
    "digits in a condition": HEAD + "(x=" + "9" * 50_000 + ")",
    "digits": "PTX T {x=" + "9" * 1_000_000 + "} P0 {}",
    "digits of an operand": "PTX T {} P0 { st [x], " + "9" * 1_000_000 + "; }",
    "digits of an offset": "PTX T {} P0 { st [x+" + "9" * 1_000_000 + "], 1; }",
    "open braces": "PTX T " + "{" * 100_000,
    "open state": "PTX T { " + "a" * 100_000,
    "open block": "PTX T { } P0 { " + "a" * 100_000,
    "quotes": "PTX T " + '"' * 50_001,
    "open comments": "(*" * 100_000,
    "comments": "PTX T {} " + "(* *)" * 50_000 + "P0 { }",
    "threads": "PTX T {} " + " ".join(f"P{n} {{ }}" for n in range(5_000)),
    "locations": "PTX T {" + ";".join(f"x{n} = 0" for n in range(20_000)) + "} P0 {}",
    "undeclared locations": "PTX T {} P0 {" + ";".join(f"st [x{n}], 0" for n in range(3_000)) + "}",
    "aliases of aliases": "PTX T {x0=0;" + ";".join(f"x{n + 1} aliases x{n}" for n in range(5_000)) + "} P0 {}",
    "rows": "PTX T {} P0 | P1 ;\n" + "ld r0, x | st x, 1 ;\n" * 20_000,
    "a vector": "PTX T {} P0 { ld.v2.b32 {" + "r0," * 5_000 + "r0}, [x]; }",
    "a long word": "PTX T {} P0 { " + "x" * 1_000_000 + " }",
    "qualifiers": "PTX T {} P0 { ld" + ".weak" * 100_000 + " r0, x }",
    "models": "PTX T {} P0 { } (* expect " + "a," * 50_000 + ": holds *)",
    "lines": "PTX T {x=0} P0 { } " + "\n" * 500_000 + "exists",
    "blanks": "PTX T {x=0} P0 " + " " * 1_000_000,
    "columns": "PTX T {x=0} " + "P0 | " * 20_000,
    "a huge file": "PTX T {} P0 { } // " + "x" * 3_000_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge(name):
    start = process_time()
    ends_well(HUGE[name])
    assert process_time() - start < 10


def test_what_is_only_long_is_read():
    for name in ("parentheses", "negations"):
        test = read(HUGE[name])
        assert test.condition is not None
        assert isinstance(test.condition.prop, Compare)
    with pytest.raises(SourceError, match=f"nested more than {MAX_DEPTH} deep"):
        read(HUGE["alternation"])
    for name, what in (("threads", "5000 threads"), ("rows", "40000 statements"), ("a huge file", "characters")):
        with pytest.raises(TooLargeError, match=what):
            read(HUGE[name])


def test_nul():
    with pytest.raises(SourceError, match="t.litmus:1:17: this is no text"):
        read("PTX T { x = 0; }\0")
    assert ends_well("PTX T {} P0 { \0 }") is None


def test_excerpts_of_long_lines_are_short():
    with pytest.raises(SourceError) as caught:
        read("PTX T {} P0 { " + "ld r0, [x]; " * 500 + "ld r0 x; }")
    message, excerpt, carets, _ = str(caught.value).split("\n")
    assert len(excerpt) < 200
    assert excerpt[carets.index("^")] == "x"
    assert message.startswith("t.litmus:1:")
