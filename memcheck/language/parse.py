"""Text to syntax tree: the outline of a file, and each of its clauses.

Clauses recur within and between tests (`P0:r0 = 0`, `ld.relaxed.gpu r0, x`), so their trees are kept and shared.
"""

# ruff: noqa: N802  (methods named as the terminals of the grammar)
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memcheck.cache import kept
from memcheck.errors import SourceError
from memcheck.language import automaton
from memcheck.language import syntax as s
from memcheck.language.automaton import Automaton, RejectedError, Tables, Token
from memcheck.language.position import Positions

if TYPE_CHECKING:
    from memcheck.language.complaints import Fault

Start = Literal["entry", "head", "statement", "tail"]

MAX_DEPTH = 100
"""Nesting of a condition, counted in alternations; readers of the tree may recurse."""


def outline(positions: Positions, text: str) -> s.Outline:
    """Cuts `text` (the source's, comments blanked) into clauses. SourceError where its frame is broken."""
    try:
        found: _Parts = _parser().parse(text, "test")
    except RejectedError:
        raise _malformed(text, "test").at(positions, 0) from None
    entries = tuple(_clauses(found.state, 1, len(found.state) - 1))
    heads: list[s.Clause] = []
    bodies: list[tuple[s.Clause, ...]] = []
    for part in found.threads:
        if part.type == "COLUMNS":
            rows = list(_clauses(part, 0, len(part)))
            heads = _cells(rows[0])
            bodies = _columns(positions, heads, rows[1:])
        else:
            brace = part.index("{")
            heads.append(s.Clause(part[:brace].rstrip(), part.start_pos))
            bodies.append(tuple(_clauses(part, brace + 1, len(part) - 1)))
    columns = found.threads[0].type == "COLUMNS"
    return s.Outline(found.name, found.description, entries, columns, tuple(heads), tuple(bodies), found.tail)


def clause(positions: Positions, start: Start, part: s.Clause) -> Any:
    """The tree of one clause; its offsets are relative to the clause. SourceError where it is malformed."""
    try:
        return _tree(start, part.text) if len(part.text) < _KEPT else _read(start, part.text)
    except MalformedError as error:
        raise error.at(positions, part.at) from None


class MalformedError(Exception):
    """A fault in a clause, at an offset of it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault

    def at(self, positions: Positions, base: int) -> SourceError:
        fault = self.fault
        return SourceError(fault.message, positions.span(base + fault.at, fault.length), fault.hint)


_KEPT = 1000
"""Clauses up to this length are kept."""


@lru_cache(maxsize=8192)
def _tree(start: Start, text: str) -> Any:
    return _read(start, text)


def _read(start: Start, text: str) -> Any:
    try:
        return _parser().parse(text, start)
    except RejectedError:
        raise _malformed(text, start) from None


def _malformed(text: str, start: str) -> MalformedError:
    from memcheck.language.grammar import fault

    return MalformedError(fault(text, start))


_CLAUSE = re.compile(r"[^;\s][^;]*")
_CUT = re.compile(r"%?[A-Za-z_$][\w$]*\s*\|\s*%?[A-Za-z_$][\w$]*(?=\s*,)|(\|)")


def _clauses(part: Token, begin: int, end: int) -> Iterator[s.Clause]:
    """A part cut at `;`, without blanks around and without empty clauses."""
    at = part.start_pos
    for match in _CLAUSE.finditer(str(part), begin, end):
        yield s.Clause(match.group().rstrip(), at + match.start())


def _cells(row: s.Clause) -> list[s.Clause]:
    """A row cut at `|`; the one of a pair of destinations, `d|p,`, stays."""
    text, at = row
    if "," not in text:  # no pairs
        cuts = [index for index, character in enumerate(text) if character == "|"]
    else:
        cuts = [match.start() for match in _CUT.finditer(text) if match.group(1)]
    begins = [0, *(cut + 1 for cut in cuts)]
    return [s.Clause(text[begin:end], at + begin) for begin, end in zip(begins, [*cuts, len(text)])]


def _columns(positions: Positions, heads: Sequence[s.Clause], rows: Sequence[s.Clause]) -> list[tuple[s.Clause, ...]]:
    bodies: list[list[s.Clause]] = [[] for _ in heads]
    for row in rows:
        cells = _cells(row)
        if len(cells) != len(heads):
            extra = len(cells) > len(heads)
            cell = cells[len(heads)] if extra else cells[-1]
            text = cell.text.strip()
            at = cell.at + len(cell.text) - len(cell.text.lstrip()) if text else cell.at
            raise SourceError(
                f"this row has {len(cells)} cell{'s' * (len(cells) != 1)}, and the test {len(heads)}"
                f" thread{'s' * (len(heads) != 1)}",
                positions.span(at, max(1, len(text.split("\n")[0]))),
                "separate threads with `|` and end every row with `;`",
            )
        for body, cell in zip(bodies, cells):
            text = cell.text.strip()
            if text:
                body.append(s.Clause(text, cell.at + cell.text.index(text)))
    return [tuple(body) for body in bodies]


class _Parts(NamedTuple):
    """What the start `test` gives. The state and a block have their braces, columns their rows."""

    name: s.Clause
    description: tuple[str, ...]
    state: Token
    threads: tuple[Token, ...]
    tail: s.Clause | None


_ADDRESS = re.compile(r"\[?\s*(?P<base>-?%?[\w$]+)\s*(?P<offset>[+-]\s*-?\s*\w+)?\s*\]?")


def _inner(token: Token, skip: str) -> s.Word:
    """The name in a token like `@ ! %p`."""
    name = token.lstrip(skip)
    return s.Word(name, token.start_pos + len(token) - len(name))


def _halves(token: Token, mark: str) -> tuple[s.Word, s.Word]:
    """The names around the mark in `P0:r0`, `d|p`."""
    at = token.start_pos
    first, second = token.split(mark)
    name = second.lstrip()
    return s.Word(first.rstrip(), at), s.Word(name, at + len(token) - len(name))


class _Builder:
    """Builds the tree bottom-up as the parser reduces. Methods in capitals are for the terminal of that name."""

    # --- terminals

    def WORD(self, token: Token) -> s.Word:
        return s.Word(str(token), token.start_pos)

    DIRECTIVE = COMPARE = WORD

    def NUMBER(self, token: Token) -> s.Number:
        return s.Number("".join(token.split()), token.start_pos)

    def LABEL(self, token: Token) -> s.Word:
        return s.Word(token[:-1].rstrip(), token.start_pos)

    def GUARD(self, token: Token) -> s.Word | s.Negated:
        word = _inner(token, "@! \t\r\n\f\v")
        return s.Negated(word) if "!" in token else word

    def NEGATED(self, token: Token) -> s.Negated:
        return s.Negated(_inner(token, "! \t\r\n\f\v"))

    def PAIR(self, token: Token) -> s.Pair:
        return s.Pair(*_halves(token, "|"), len(token))

    def REGISTER(self, token: Token) -> s.RegisterName:
        return s.RegisterName(*_halves(token, ":"))

    def ADDRESS(self, token: Token) -> s.AddressSyntax:
        at = token.start_pos
        match = _ADDRESS.fullmatch(token)
        assert match is not None
        text, begin = match["base"], at + match.start("base")
        base = s.Number(text, begin) if text[0].isdigit() or text[0] == "-" else s.Word(text, begin)
        offset = None
        if match["offset"]:
            sign = "-" if match["offset"].count("-") == 1 else ""
            digits = match["offset"].lstrip("+- \t\r\n\f\v")
            offset = s.Number(sign + digits, at + match.start("offset"))
        return s.AddressSyntax(base, offset, at, len(token))

    SUM = ADDRESS

    # --- outline

    def test(self, children: list[Token]) -> _Parts:
        header, *rest = children
        name = header.split()[-1]
        strings = tuple(str(token[1:-1]) for token in rest if token.type == "STRING")
        state, *threads = rest[len(strings) :]
        tail = None
        if threads[-1].type == "TAIL":
            last = threads.pop()
            tail = s.Clause(last.rstrip(), last.start_pos)
        return _Parts(s.Clause(name, len(header) - len(name)), strings, state, tuple(threads), tail)

    # --- entries

    def cell(self, children: list[Any]) -> s.Cell:
        return s.Cell(*children)

    def register_value(self, children: list[Any]) -> s.RegisterValue:
        return s.RegisterValue(*children)

    def declaration(self, children: list[Any]) -> s.Declaration:
        qualifiers = tuple(child for child in children if isinstance(child, s.Qualifier))
        name, *rest = children[len(qualifiers) :]
        dimension = rest.pop(0) if rest and isinstance(rest[0], s.Dimension) else None
        return s.Declaration(qualifiers, name, dimension, rest[0] if rest else None)

    def qualifier(self, children: list[Any]) -> s.Qualifier:
        return s.Qualifier(children[0], children[1] if len(children) > 1 else None)

    def dimension(self, children: list[s.Number]) -> s.Dimension:
        return s.Dimension(children[0] if children else None)

    def alias(self, children: list[Any]) -> s.Alias:
        qualifiers = tuple(child for child in children if isinstance(child, s.Qualifier))
        name, *rest = children[len(qualifiers) :]
        proxy = rest[0] if isinstance(rest[0], s.Proxied) else None
        return s.Alias(qualifiers, name, proxy.word if proxy else None, rest[-1])

    def proxy(self, children: list[s.Word]) -> s.Proxied:
        return s.Proxied(children[0])

    def order(self, children: list[Any]) -> s.Order:
        word, before, _, after, *mode = children
        return s.Order(before, after, mode[0] if mode else None, word.start_pos)

    def name(self, children: list[Any]) -> s.Name:
        return s.Name(children[-1])

    def type(self, children: list[s.Word]) -> s.Word:
        return s.Word("".join(word.text for word in children), children[0].at)

    def braces(self, children: list[Any]) -> s.Braces:
        return s.Braces(tuple(children))

    def field(self, children: list[Any]) -> s.Field:
        return s.Field(*children)

    # --- threads

    def head(self, children: list[Any]) -> s.Head:
        return s.Head(children[0], tuple(children[1:]))

    def place(self, children: list[Any]) -> s.PlaceField:
        return s.PlaceField(*children)

    def statement(self, children: list[Any]) -> s.Statement:
        body = children.pop() if children and not isinstance(children[-1], s.Word) else None
        return s.Statement(tuple(children), body)

    def instruction(self, children: list[Any]) -> s.InstructionSyntax:
        return s.InstructionSyntax(None, children[0], tuple(children[1:]))

    def guarded(self, children: list[Any]) -> s.InstructionSyntax:
        return s.InstructionSyntax(children[0], children[1], tuple(children[2:]))

    def registers(self, children: list[Any]) -> s.RegisterLine:
        count = sum(isinstance(child, s.Word) for child in children)
        return s.RegisterLine(tuple(children[:count]), tuple(children[count:]))

    def register(self, children: list[Any]) -> s.RegisterDeclaration:
        return s.RegisterDeclaration(children[0], children[1] if len(children) > 1 else None)

    def vector(self, children: list[Any]) -> s.Vector:
        return s.Vector(tuple(children))

    def tensor(self, children: list[Any]) -> s.Tensor:
        return s.Tensor(*children)

    # --- condition

    def tail(self, children: list[Any]) -> s.Tail:
        parts: dict[str, Any] = dict(children)
        return s.Tail(parts.get("locations", ()), parts.get("filter"), parts.get("condition"))

    def locations(self, children: list[Any]) -> tuple[str, tuple[s.TermSyntax, ...]]:
        return "locations", tuple(children[1:])

    def filter(self, children: list[Any]) -> tuple[str, s.PropSyntax]:
        return "filter", children[1]

    def condition(self, children: list[Any]) -> tuple[str, s.ConditionSyntax]:
        word = children[0]
        quantifier = s.Word("".join(word.split()), word.start_pos)
        return "condition", s.ConditionSyntax(quantifier, children[1])

    def disjunction(self, children: list[Any]) -> s.PropSyntax:
        return _connected(False, [child for child in children if not isinstance(child, Token)])

    def conjunction(self, children: list[Any]) -> s.PropSyntax:
        return _connected(True, [child for child in children if not isinstance(child, Token)])

    def negation(self, children: list[Any]) -> s.PropSyntax:
        body = children[1]
        return body.body if isinstance(body, s.Negation) else s.Negation(body, depth(body) + 1)

    def truth(self, children: list[Token]) -> s.TruthSyntax:
        return s.TruthSyntax(children[0] == "true")

    def comparison(self, children: list[Any]) -> s.Comparison:
        left, op, right = children
        return s.Comparison(op, left, right)

    def memory(self, children: list[Any]) -> s.MemoryName:
        name, *rest = children
        element = rest.pop(0).size if rest and isinstance(rest[0], s.Dimension) else None
        return s.MemoryName(name, element, rest[0] if rest else None)

    def index(self, children: list[s.Number]) -> s.Dimension:
        return s.Dimension(children[0])

    def instance(self, children: list[s.PlaceField]) -> s.PlaceField:
        return children[0]


def depth(prop: s.PropSyntax) -> int:
    """Nesting of a proposition."""
    return prop.depth if isinstance(prop, (s.Negation, s.Connective)) else 1


def _connected(conjunction: bool, parts: list[s.PropSyntax]) -> s.PropSyntax:
    """One connective of all parts; a part that is the same connective gives its own parts."""
    if len(parts) == 1:
        return parts[0]
    flat: list[s.PropSyntax] = []
    deepest = 0
    for part in parts:
        if isinstance(part, s.Connective) and part.conjunction is conjunction:
            flat += part.parts
            deepest = max(deepest, part.depth - 1)
        else:
            flat.append(part)
            deepest = max(deepest, depth(part))
    return s.Connective(conjunction, tuple(flat), 1 + deepest)


@cache
def _parser() -> Automaton:
    file = os.path.join(os.path.dirname(__file__), "litmus.lark")
    with open(file, encoding="utf-8") as grammar:
        source = grammar.read()
    code = (automaton.__file__, file.replace("litmus.lark", "grammar.py"))
    return Automaton(kept("litmus.tables", source, code, _tables), _Builder())


def _tables() -> Tables:
    from memcheck.language.grammar import tables

    return tables()
