"""The syntax tree: what the grammar reads, nothing resolved. `at` is the offset of a lexeme in its clause."""

from __future__ import annotations

from typing import NamedTuple


class Clause(NamedTuple):
    """A stretch of the file that one start of the grammar reads; `at` is its offset in the file."""

    text: str
    at: int


class Outline(NamedTuple):
    """A file cut into clauses. `bodies`: the statements of each thread, in order."""

    name: Clause
    description: tuple[str, ...]
    entries: tuple[Clause, ...]
    columns: bool
    heads: tuple[Clause, ...]
    bodies: tuple[tuple[Clause, ...], ...]
    tail: Clause | None


class Word(NamedTuple):
    text: str
    at: int


class Number(NamedTuple):
    text: str
    at: int


# --- initial state


class Name(NamedTuple):
    """A name used as a value; `&x` is the same as `x`."""

    word: Word


class Field(NamedTuple):
    """`base = x` between the braces of a tensor map."""

    key: Word
    value: Value


class Braces(NamedTuple):
    items: tuple[Value | Field, ...]


Value = Number | Name | Word | Braces
"""The Word is a type such as `.u32`, `.f32.ftz`."""


class Cell(NamedTuple):
    """`x = 0`."""

    name: Word
    value: Value


class RegisterValue(NamedTuple):
    """`P0:r1 = 3`, `P0:r1 = x`."""

    register: RegisterName
    value: Number | Name


class Qualifier(NamedTuple):
    """`.global`, `.align 16`."""

    word: Word
    number: Number | None


class Dimension(NamedTuple):
    """`[4]` of an array, or the index in a condition."""

    size: Number | None


class Declaration(NamedTuple):
    qualifiers: tuple[Qualifier, ...]
    name: Word
    dimension: Dimension | None
    value: Value | None


class Proxied(NamedTuple):
    """`@ texture`."""

    word: Word


class Alias(NamedTuple):
    qualifiers: tuple[Qualifier, ...]
    name: Word
    proxy: Word | None
    target: Word


class Order(NamedTuple):
    before: Number
    after: Number
    mode: Word | None
    at: int


Entry = Cell | RegisterValue | Declaration | Alias | Order


# --- threads


class PlaceField(NamedTuple):
    """`cta 0`."""

    level: Word
    number: Number


class Head(NamedTuple):
    name: Word
    places: tuple[PlaceField, ...]


class Negated(NamedTuple):
    """`!p`."""

    word: Word


class AddressSyntax(NamedTuple):
    """`[x+4]`, or `x+4` where a value stands; `offset` has its sign."""

    base: Word | Number
    offset: Number | None
    at: int
    length: int


class Pair(NamedTuple):
    """`d|p`."""

    first: Word
    second: Word
    length: int


class Vector(NamedTuple):
    elements: tuple[OperandSyntax, ...]


class Tensor(NamedTuple):
    """`[map, {x, y}]`."""

    map: Word
    coordinates: Vector


OperandSyntax = Word | Negated | Number | AddressSyntax | Pair | Vector | Tensor


class InstructionSyntax(NamedTuple):
    guard: Word | Negated | None
    mnemonic: Word
    operands: tuple[OperandSyntax, ...]


class RegisterDeclaration(NamedTuple):
    """`r0`, or `%r<8>`: `length` registers."""

    name: Word
    length: Number | None


class RegisterLine(NamedTuple):
    """`.reg .b32 a, b`."""

    directives: tuple[Word, ...]
    registers: tuple[RegisterDeclaration, ...]


class Statement(NamedTuple):
    labels: tuple[Word, ...]
    body: InstructionSyntax | RegisterLine | None


# --- condition


class RegisterName(NamedTuple):
    """`P0:r0`; `thread` as written, `0` or `P0`."""

    thread: Word
    name: Word


class MemoryName(NamedTuple):
    name: Word
    element: Number | None
    instance: PlaceField | None


TermSyntax = Number | RegisterName | MemoryName


class Comparison(NamedTuple):
    op: Word
    left: TermSyntax
    right: TermSyntax


class Negation(NamedTuple):
    body: PropSyntax
    depth: int


class Connective(NamedTuple):
    """`/\\` or `\\/` between two or more parts that are not the same connective."""

    conjunction: bool
    parts: tuple[PropSyntax, ...]
    depth: int


class TruthSyntax(NamedTuple):
    value: bool


PropSyntax = Comparison | Negation | Connective | TruthSyntax


class ConditionSyntax(NamedTuple):
    quantifier: Word
    prop: PropSyntax


class Tail(NamedTuple):
    locations: tuple[TermSyntax, ...]
    filter: PropSyntax | None
    condition: ConditionSyntax | None


Node = Entry | Head | Statement | Tail
