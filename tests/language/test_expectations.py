"""Expectations in comments."""

from __future__ import annotations

import pytest

from memcheck.errors import SourceError
from memcheck.language.test import Verdict
from tests.language.reading import read

TEST = """PTX T { x = 0; .shared .b32 s[2] } P0 @ cta 0 { ld r0, [x]; } P1 @ cta 1 { }
exists (P0:r0 = 1 /\\ x = 1 /\\ s[1] @ cta 1 = 0)
"""


def expectations(*comments: str):
    return read(TEST + "\n".join(comments)).expectations


def test_one_a_model():
    got = expectations("(* expect ptx, ptx-7.5: fails; states: 3; why: 8.10.6; and more *)", "// expect sc: holds")
    assert [(e.model, e.verdict, e.states, e.why) for e in got] == [
        ("ptx", Verdict.FAILS, 3, "8.10.6; and more"),
        ("ptx-7.5", Verdict.FAILS, 3, "8.10.6; and more"),
        ("sc", Verdict.HOLDS, None, ""),
    ]
    assert got[0].span.line == 3


def test_states():
    (got,) = expectations(
        """(* expect ptx: deadlock; why: because;
             states: {P0:r0=1, x=-1, s[1] @ cta 1=0} { 0:%r0 = 0x10 , [x] == 2, s[1]@cta 1 = 7} *)"""
    )
    assert got.states == frozenset(
        {
            frozenset({("P0:r0", 1), ("x", 0xFFFFFFFF), ("s[1] @ cta 1", 0)}),
            frozenset({("P0:r0", 16), ("x", 2), ("s[1] @ cta 1", 7)}),
        }
    )
    assert (got.verdict, got.why) == (Verdict.DEADLOCK, "because")


def test_states_without_a_verdict():
    (got,) = read("PTX T { x = 0 } P0 { } (* expect ptx: states: {x=0}; why: there is one *)").expectations
    assert (got.verdict, got.states) == (None, frozenset({frozenset({("x", 0)})}))


def test_other_comments_are_comments():
    assert expectations("(* expected by everybody *)", "(* we expect ptx: fails *)", "// expectation") == ()


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("expect", "names no model"),
        ("expect ptx fails", "names no model"),
        ("expect : fails", "names no model"),
        ("expect p t x: fails", "no name of a model"),
        ("expect ptx: fail", "no verdict"),
        ("expect ptx: fails; holds", "unexpected `holds`"),
        ("expect ptx: fails; states: many", "states are a number or a list"),
        ("expect ptx: fails; states: {P0:r0=1}", "says nothing about `x`"),
        ("expect ptx: fails; states: {P1:r0=1, P0:r0=1, x=1, s[1] @ cta 1=0}", "states are not over `P1:r0`"),
        ("expect ptx: fails; states: {x=1, x=1, P0:r0=1, s[1] @ cta 1=0}", "`x` is given twice"),
        ("expect ptx: fails; states: {z=1}", "unknown name `z`"),
        ("expect ptx: fails; states: {x=4294967296}", "does not fit in the 32 bits of x"),
        ("expect ptx: fails; states: {x}", "`x` is no value of a term"),
        ("expect ptx, ptx: fails", "expected twice"),
        (
            "expect ptx: fails; states: {P0:r0=1, x=1, s[1]@cta 1=0} {x=1, P0:r0=1, s[1]@cta 1=0}",
            "this state is listed twice",
        ),
    ],
)
def test_faults(comment, message):
    with pytest.raises(SourceError, match=message):
        expectations(f"(* {comment} *)")
