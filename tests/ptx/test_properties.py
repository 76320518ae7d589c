"""Properties of decoding: any order of qualifiers, no exception but a located one, the spelling decodes again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.errors import SourceError
from memcheck.ptx.decode import decode
from memcheck.ptx.decode.dispatch import USUAL, analyse
from memcheck.ptx.decode.families import COLUMNS, FAMILIES
from memcheck.ptx.decode.nearest import FORMS
from memcheck.ptx.decode.spelling import spell
from memcheck.ptx.raw import (
    RawAddress,
    RawInstruction,
    RawName,
    RawNumber,
    RawOperand,
    RawPair,
    RawTensor,
    RawVector,
)
from memcheck.source import SourceFile, Span
from tests.ptx.reading import TestNames, bare, read
from tests.ptx.test_forms import forms

ACCEPTED = forms("accepted")
WORDS = sorted({word for form in ACCEPTED + forms("refused") for word in form.split()[0].split(".")[1:]})
FREE = ("ld", "st", "atom", "red")
"""Mnemonics without bound sub-operation names."""
UNBOUND = [f for f in ACCEPTED if f.split(".")[0] in FREE and "proxy" not in f and "async" not in f]

SPAN = Span(SourceFile("<generated>", "generated"), 1, 1)


@given(
    st.sampled_from(UNBOUND),
    st.randoms(),
)
def test_qualifiers_in_any_order(form: str, order: random.Random) -> None:
    opcode, _, operands = form.partition(" ")
    mnemonic, *words = opcode.split(".")
    order.shuffle(words)
    assert bare(read(f"{'.'.join([mnemonic, *words])} {operands}")) == bare(read(form))


names = st.builds(
    RawName,
    st.sampled_from(["r0", "r1", "rd0", "rd1", "rs0", "rq0", "p0", "p1", "x", "s", "c", "_", "L", "laneid"]),
    st.just(SPAN),
    percent=st.booleans(),
    negated=st.booleans(),
)
numbers = st.builds(RawNumber, st.integers(-(2**70), 2**70) | st.sampled_from([0, 1, 15, 16, 32, 128]), st.just(SPAN))
scalars = names | numbers
vectors = st.builds(RawVector, st.lists(scalars, max_size=9).map(tuple), st.just(SPAN))
operands: st.SearchStrategy[RawOperand] = st.one_of(
    scalars,
    st.builds(RawAddress, scalars, st.integers(-8, 8), st.just(SPAN)),
    vectors,
    st.builds(RawTensor, names, vectors, st.just(SPAN)),
    st.builds(RawPair, names, names, st.just(SPAN)),
)
legal_opcodes = st.sampled_from([f.split()[0].removeprefix("@%p0") for f in ACCEPTED if not f.startswith("@")])
opcodes = st.one_of(
    legal_opcodes.map(lambda opcode: tuple(opcode.split("."))),
    st.tuples(st.sampled_from(sorted(FAMILIES)), st.lists(st.sampled_from(WORDS), max_size=5)).map(
        lambda pair: (pair[0], *pair[1])
    ),
    st.lists(st.text("abcdlstmor:._0123456789", min_size=0, max_size=6), min_size=1, max_size=4).map(tuple),
)


@st.composite
def instructions(draw: st.DrawFn) -> RawInstruction:
    words = draw(opcodes)
    return RawInstruction(
        words,
        (SPAN,) * len(words),
        draw(st.lists(operands, max_size=6).map(tuple)),
        draw(st.none() | names),
        "generated",
        SPAN,
    )


@settings(max_examples=300, deadline=None)
@given(instructions(), st.booleans())
def test_every_instruction_decodes_or_is_refused(raw: RawInstruction, columns: bool) -> None:
    try:
        instruction = decode(raw, TestNames(columns))
    except SourceError:  # anything else is a fault of ours
        return
    text = spell(instruction)
    if text.endswith("generated"):  # a hint, which is spelled as it was written
        return
    assert bare(read(text, columns)) == bare(instruction)


@pytest.mark.parametrize("mnemonic", sorted(FORMS))
def test_suggested_forms_are_legal(mnemonic: str) -> None:
    for form in FORMS[mnemonic].split():
        analyse(tuple(form.split(".")), columns=False)


def test_the_short_table_says_the_same() -> None:
    assert USUAL
    assert {word: FAMILIES[word] for word in USUAL} == USUAL
    assert not USUAL.keys() & COLUMNS.keys()
