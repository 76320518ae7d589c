"""Statements of a thread to raw instructions, labels and register declarations."""

from __future__ import annotations

from dataclasses import dataclass, field

from memcheck.errors import SourceError
from memcheck.language import syntax as s
from memcheck.language.nearest import nearest
from memcheck.language.numbers import small, value
from memcheck.language.parse import clause as parse_clause
from memcheck.language.position import Positions
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
from memcheck.ptx.types import TYPES
from memcheck.source import Span

_CONSTANTS = {"WARP_SZ": 32}
_MAX_REGISTERS = 4096
_MAX_WORDS = 32
_MAX_MNEMONIC = 300


@dataclass(slots=True)
class Body:
    """The statements of one thread. `declared`: bits of the registers of `.reg` lines."""

    instructions: list[RawInstruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    declared: dict[str, int] = field(default_factory=dict)


def read_body(clauses: tuple[s.Clause, ...], positions: Positions) -> Body:
    body = Body()
    for part in clauses:
        statement: s.Statement = parse_clause(positions, "statement", part)
        reader = _Reader(positions, part)
        for label in statement.labels:
            if label.text in body.labels:
                raise SourceError(f"the label `{label.text}` is defined twice in this thread", reader.span(label))
            body.labels[label.text] = len(body.instructions)
        if isinstance(statement.body, s.RegisterLine):
            reader.registers(statement.body, body.declared)
        elif statement.body is not None:
            body.instructions.append(reader.instruction(statement.body))
    return body


class _Reader:
    """Reads one clause; offsets of its tree are relative to it."""

    __slots__ = ("at", "positions", "text")

    def __init__(self, positions: Positions, part: s.Clause) -> None:
        self.positions = positions
        self.text = part.text
        self.at = part.at

    def span(self, word: s.Word | s.Number) -> Span:
        return self.positions.span(self.at + word.at, len(word.text))

    def instruction(self, node: s.InstructionSyntax) -> RawInstruction:
        guard, mnemonic, operands = node
        first = mnemonic.at if guard is None else self.text.rindex("@", 0, _word(guard).at)
        words = tuple(mnemonic.text.split("."))
        if len(words) > _MAX_WORDS or len(mnemonic.text) > _MAX_MNEMONIC:
            raise SourceError("no instruction has so many qualifiers", self.span(mnemonic))
        spans, at = [], self.at + mnemonic.at
        for word in words:
            spans.append(self.positions.span(at, len(word)))
            at += len(word) + 1
        whole = self.text[first:]
        return RawInstruction(
            words,
            tuple(spans),
            tuple(map(self.operand, operands)),
            None if guard is None else self.name(_word(guard), isinstance(guard, s.Negated)),
            " ".join(whole.split()),
            self.positions.span(self.at + first, len(whole.split("\n", 1)[0].rstrip())),
        )

    def name(self, word: s.Word, negated: bool = False) -> RawName:
        percent = word.text[0] == "%"
        name = word.text[1:] if percent else word.text
        if not percent and ("." in name or ":" in name):
            hint = f"a special register is written `%{name}`" if ":" not in name else None
            raise SourceError(f"`{name}` is no operand", self.span(word), hint)
        return RawName(name, self.span(word), percent, negated)

    def number(self, number: s.Number) -> RawNumber:
        return RawNumber(value(number, self.positions, self.at), self.span(number))

    def operand(self, node: s.OperandSyntax) -> RawOperand:
        if isinstance(node, s.Word):
            if node.text in _CONSTANTS:
                return RawNumber(_CONSTANTS[node.text], self.span(node))
            return self.name(node)
        if isinstance(node, s.Number):
            return self.number(node)
        if isinstance(node, s.AddressSyntax):
            base = self.number(node.base) if isinstance(node.base, s.Number) else self.name(node.base)
            offset = 0 if node.offset is None else value(node.offset, self.positions, self.at)
            return RawAddress(base, offset, self.positions.span(self.at + node.at, node.length))
        if isinstance(node, s.Negated):
            return self.name(node.word, negated=True)
        if isinstance(node, s.Pair):
            span = self.positions.span(self.at + node.first.at, node.length)
            return RawPair(self.name(node.first), self.name(node.second), span)
        if isinstance(node, s.Vector):
            return self.vector(node)
        map, coordinates = self.name(node.map), self.vector(node.coordinates)
        return RawTensor(map, coordinates, map.span)

    def vector(self, node: s.Vector) -> RawVector:
        elements = []
        for element in node.elements:
            found = self.operand(element)
            if not isinstance(found, (RawName, RawNumber)) or (isinstance(found, RawName) and found.negated):
                raise SourceError("a vector holds registers and numbers", found.span)
            elements.append(found)
        return RawVector(tuple(elements), elements[0].span)

    def registers(self, line: s.RegisterLine, declared: dict[str, int]) -> None:
        first, *types = line.directives
        if first.text != ".reg":
            hint = "variables are declared in the initial state, registers with `.reg .b32 r0`"
            raise SourceError(f"`{first.text}` cannot stand here", self.span(first), hint)
        if len(types) != 1 or types[0].text[1:] not in TYPES:
            wrong = next((t for t in types if t.text[1:] not in TYPES), first)
            advice = nearest(wrong.text[1:], TYPES) if wrong is not first else "write `.reg .b32 r0`"
            raise SourceError("a register declaration needs one type", self.span(wrong), advice)
        kind = TYPES[types[0].text[1:]]
        for register in line.registers:
            name = register.name.text.removeprefix("%")
            names = [name]
            if register.length is not None:
                count = small(register.length, self.positions, self.at, "the count of registers", _MAX_REGISTERS)
                names = [f"{name}{number}" for number in range(count)]
            if "." in name or ":" in name:
                raise SourceError(f"`{name}` is no name for a register", self.span(register.name))
            for each in names:
                if each in declared:
                    raise SourceError(f"the register `{each}` is declared twice", self.span(register.name))
                declared[each] = kind.bits * kind.lanes


def _word(guard: s.Word | s.Negated) -> s.Word:
    return guard.word if isinstance(guard, s.Negated) else guard
