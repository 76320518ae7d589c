"""A line of PTX to a raw instruction, and names for it: what the language gives the decoder, in small."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from memcheck.errors import SourceError
from memcheck.ptx.decode import decode
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Register
from memcheck.ptx.qualifiers import Space
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

WIDTHS = {"p": 1, "rs": 16, "r": 32, "rd": 64, "rq": 128, "f": 32, "fd": 64}
VARIABLES = {"x": Space.GLOBAL, "s": Space.SHARED_CTA, "c": Space.CONST}
SPECIAL = {"laneid": 3, "cluster_ctarank": 1}
LABELS = ("L", "LC00")

_LINE = re.compile(r"(?:@(!?)\s*(%?)(\w+)\s+)?([\w.:]+)\s*(.*)", re.S)
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+)$")


class TestNames:
    """Registers by name, the variables x (global), s (shared), c (const)."""

    __test__ = False

    def __init__(self, columns: bool = False) -> None:
        self.columns = columns

    def space(self, name: str) -> Space | None:
        return VARIABLES.get(name)

    def register(self, name: RawName) -> Register:
        if name.name in SPECIAL:
            raise SourceError("The name of a special register.", name.span)
        letters = re.match(r"[a-z]*", name.name)
        return Register(name.name, WIDTHS.get(letters.group() if letters else "", 32))

    def special(self, name: str) -> int | None:
        return SPECIAL.get(name)

    def variables(self) -> Sequence[str]:
        return tuple(VARIABLES)

    def labels(self) -> Sequence[str]:
        return LABELS


def number(text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    if digits[:2] in ("0f", "0F", "0d", "0D"):
        return sign * int(digits[2:], 16)
    return sign * int(digits, 16 if digits[:2] in ("0x", "0X") else 10)


class _Line:
    def __init__(self, text: str) -> None:
        self.text = text
        self.source = SourceFile("<line>", text)

    def span(self, at: int, length: int) -> Span:
        return Span(self.source, 1, at + 1, max(1, length))

    def atom(self, text: str, at: int) -> RawName | RawNumber:
        if _NUMBER.match(text):
            return RawNumber(number(text), self.span(at, len(text)))
        bare = text.lstrip("!")
        return RawName(
            bare.lstrip("%"), self.span(at, len(text)), percent=bare.startswith("%"), negated=text.startswith("!")
        )

    def operand(self, text: str, at: int) -> RawOperand:
        span = self.span(at, len(text))
        if text.startswith("{"):
            parts = [p.strip() for p in text[1:-1].split(",")]
            return RawVector(tuple(self.atom(p, at) for p in parts), span)
        if text.startswith("[") and "{" in text:
            map = self.atom(text[1 : text.index(",")].strip(), at + 1)
            vector = self.operand(text[text.index("{") : text.index("}") + 1], at + text.index("{"))
            assert isinstance(map, RawName)
            assert isinstance(vector, RawVector)
            return RawTensor(map, vector, span)
        if "|" in text:
            first, second = (self.atom(p.strip(), at) for p in text.split("|"))
            assert isinstance(first, RawName)
            assert isinstance(second, RawName)
            return RawPair(first, second, span)
        inner = text[1:-1].strip() if text.startswith("[") else text
        split = re.fullmatch(r"(%?[\w$]+?)\s*([+-]\s*-?\d+)", inner)
        if split:
            return RawAddress(self.atom(split[1], at + 1), int(split[2].replace(" ", "").replace("+-", "-")), span)
        return RawAddress(self.atom(inner, at + 1), 0, span) if text.startswith("[") else self.atom(text, at)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def raw(text: str) -> RawInstruction:
    """One instruction, no label, no `;`."""
    line = _Line(text)
    match = _LINE.fullmatch(text)
    assert match, text
    negated, percent, guard, opcode, rest = match.groups()
    words = tuple(opcode.split("."))
    at, spans = match.start(4), []
    for word in words:
        spans.append(line.span(at, len(word)))
        at += len(word) + 1
    operands = [
        line.operand(part.group().strip(), match.start(5) + part.start() + _indent(part.group()))
        for part in re.finditer(r"(?:\{[^}]*\}|\[[^\]]*\]|[^,])+", rest)
        if part.group().strip()
    ]
    name = None if guard is None else RawName(guard, line.span(0, len(guard) + 1), bool(percent), bool(negated))
    return RawInstruction(words, tuple(spans), tuple(operands), name, text, line.span(0, len(text)))


def read(text: str, columns: bool = False) -> Instruction:
    """The decoded line."""
    return decode(raw(text), TestNames(columns))


NOWHERE = Span(SourceFile("", ""), 1, 1)


def bare(instruction: Instruction) -> Instruction:
    """The instruction without its text and place, to be compared."""
    return dataclasses.replace(instruction, text="", span=NOWHERE)
