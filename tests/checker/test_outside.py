"""Remarks on undefined behaviour: the rule, what is wrong with just this instruction, and where it stands."""

from __future__ import annotations

import pytest

import memcheck
from memcheck.language.load import parse_test
from memcheck.result import Remark
from memcheck.source import SourceFile

MEMORY = (
    ".global .align 16 .b32 x[8]; .global .b32 w; .shared .align 16 .b32 s[8] = {0}; .shared .align 8 .b32 t[8] = {0};"
)
BULK = "cp.async.bulk.global.shared::cta.bulk_group"
COPY = "cp.async.ca.shared::cta.global [s], [x], 4, r0"
RELAXED = "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128"


def remarks(body: str) -> tuple[Remark, ...]:
    text = f"PTX made\n{{ {MEMORY} }}\nP0 @ cta 0 {{\n{body}\n}}\nexists (w = 0)\n"
    return tuple(memcheck.check(parse_test(SourceFile("made.litmus", text))).outside)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"{BULK} [x], [s+4], 16;",
         f"Misaligned access (this address is not aligned to 16 bytes): P0: `{BULK} [x], [s+4], 16`"),
        (f"{BULK} [x], [t], 16;",
         "Misaligned access (this address is not aligned to 16 bytes: declare the variable .align 16):"
         f" P0: `{BULK} [x], [t], 16`"),
        (f"mov.u32 r0, 5; {COPY};",
         "cp.async that reads more than it copies (cp.async reads at most the 4 bytes that it copies (ISA"
         f" 9.7.10.28.3)): P0: `{COPY}`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_in_brackets(body: str, text: str) -> None:
    assert [remark.text for remark in remarks(body)] == [text]


def test_an_instruction_without_events_has_its_place() -> None:
    (remark,) = remarks(f"mov.u32 r0, 8;\n{RELAXED} [x], [s], r0;")
    assert remark.name == "undefined-behaviour: a bulk copy of no multiple of 16 bytes"
    assert remark.text.endswith(f"a multiple of 16 bytes, not 8 (ISA 9.7.10.28.4)): `{RELAXED} [x], [s], r0`")
    assert list(remark.places) == ["made.litmus:5:1"]


def test_of_two_alike_the_certain_one_is_told() -> None:
    guarded = f"ld.global.b32 r1, [w];\nsetp.eq.u32 p0, r1, 1;\nmov.u32 r2, 24;\n@p0 {RELAXED} [x], [s], r0;"
    found = remarks(f"mov.u32 r0, 8;\n{guarded}\n{RELAXED} [x], [s], r0;")
    assert [list(remark.places) for remark in found] == [["made.litmus:9:1"]]
