"""The automaton and lark read the same from the same tables: every clause of the suite, whole and damaged."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from lark import Token, Tree, UnexpectedInput

from memcheck.corpus import find, suite
from memcheck.language import grammar
from memcheck.language.automaton import Automaton, RejectedError
from memcheck.language.comments import blank_comments
from memcheck.language.parse import outline
from memcheck.language.position import Positions
from memcheck.source import SourceFile


class Plain:
    """Makes of every rule its name and children, and of every terminal its name, text and offset."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper() or name.startswith("__"):
            return lambda token: (token.type, str(token), token.start_pos)
        return lambda children: (name, children)


def plain(tree: Any) -> Any:
    """The same of lark's tree."""
    if isinstance(tree, Token):
        return tree.type, str(tree), tree.start_pos
    assert isinstance(tree, Tree)
    return str(tree.data), [plain(child) for child in tree.children]


@pytest.fixture(scope="module")
def automaton() -> Automaton:
    tables = grammar.tables()
    spliced = tables._replace(rules=tuple(r._replace(name="") if r.origin.startswith("_") else r for r in tables.rules))
    return Automaton(spliced, _Spliced())


class _Spliced(Plain):
    def __getattr__(self, name: str) -> Any:
        return (lambda children: children) if name == "" else super().__getattr__(name)


def by_lark(text: str, start: str) -> Any:
    try:
        return plain(grammar.parser().parse(text, start=start))
    except UnexpectedInput:
        return None


def by_automaton(automaton: Automaton, text: str, start: str) -> Any:
    try:
        return automaton.parse(text, start)
    except RejectedError:
        return None


def clauses() -> list[tuple[str, str]]:
    """Each text of the suite with its start symbol, and each clause once."""
    found: dict[tuple[str, str], None] = {}
    for case in find(suite()):
        positions = Positions(SourceFile("", case.source.text))
        text, _ = blank_comments(positions)
        parts = outline(positions, text)
        found["test", text] = None
        for start, some in (("entry", parts.entries), ("head", parts.heads)):
            found.update(((start, clause.text), None) for clause in some)
        found.update((("statement", clause.text), None) for body in parts.bodies for clause in body)
        if parts.tail is not None:
            found["tail", parts.tail.text] = None
    return list(found)


def test_whole(automaton: Automaton) -> None:
    some = clauses()
    assert {start for start, _ in some} == set(grammar.STARTS)
    for start, text in some:
        expected = by_lark(text, start)
        assert expected is not None
        assert by_automaton(automaton, text, start) == expected, text


def test_damaged(automaton: Automaton) -> None:
    """Lexemes dropped, doubled, exchanged, put in from elsewhere."""
    rng = random.Random(1)
    some = [(start, text) for start, text in clauses() if len(text) < 400]
    lexemes = sorted({word for _, text in some for word in re.findall(r"[\w.$%]+|\s+|\S", text)})
    accepted = refused = 0
    for start, text in rng.sample(some, min(1200, len(some))):
        words = re.findall(r"[\w.$%]+|\s+|\S", text)
        at = rng.randrange(len(words))
        words[at : at + 1] = rng.choice([[], [words[at]] * 2, [rng.choice(lexemes)], [words[at], rng.choice(lexemes)]])
        damaged = "".join(words)
        expected = by_lark(damaged, start)
        assert by_automaton(automaton, damaged, start) == expected, (start, damaged)
        accepted += expected is not None
        refused += expected is None
    assert accepted > 100
    assert refused > 100
