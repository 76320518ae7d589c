"""Runs the LALR tables of a grammar: text to tree, without the parser library that made the tables.

The lexer is contextual: in each state only the terminals that have an action there are tried, in the library's order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Token(str):
    """A lexeme: its text, the terminal's name and the offset."""

    __slots__ = ("start_pos", "type")
    type: str
    start_pos: int


class Rule(NamedTuple):
    """A production: what it is called, its length, its children (position, whether it is a list that is spliced in)."""

    origin: str
    name: str
    length: int
    children: tuple[tuple[int, bool], ...]
    single: bool
    """A node of one child is that child."""


class State(NamedTuple):
    """Actions by the name of a symbol: a state to go to, or -1 - r to reduce by rule r. Terminals in order of trial."""

    actions: dict[str, int]
    terminals: tuple[str, ...]


class Tables(NamedTuple):
    """`starts`: for each start symbol the first and the last state."""

    terminals: dict[str, tuple[str, bool]]
    """By name: a regular expression, or a literal text (true)."""
    ignored: frozenset[str]
    rules: tuple[Rule, ...]
    states: tuple[State, ...]
    starts: dict[str, tuple[int, int]]


class RejectedError(Exception):
    """The text is not in the language."""


END = "$END"
_Match = Callable[[str, int], int]


class Automaton:
    """A parser that hands what it reads to `builder`: to the method named as a terminal or a rule, where it has one."""

    def __init__(self, tables: Tables, builder: object) -> None:
        self._tables = tables
        self._terminals: dict[str, Callable[[Token], Any] | None] = {
            name: getattr(builder, name, None) for name in tables.terminals
        }
        self._rules: list[Callable[[list[Any]], Any] | None] = [getattr(builder, r.name, None) for r in tables.rules]
        self._lexemes: dict[str, _Match] = {}

    def parse(self, text: str, start: str) -> Any:
        """What the builder makes of the text; RejectedError where it is not in the language."""
        states, ignored, shifted = self._tables.states, self._tables.ignored, self._terminals
        first, last = self._tables.starts[start]
        stack, values = [first], list[Any]()
        at = 0
        while at < len(text):
            symbol, end = self._lexeme(text, at, states[stack[-1]].terminals)
            if symbol not in ignored:
                action = self._reduce(symbol, stack, values)
                token = Token(text[at:end])
                token.type, token.start_pos = symbol, at
                made = shifted[symbol]
                stack.append(action)
                values.append(made(token) if made is not None else token)
            at = end
        while stack[-1] != last:
            action = self._action(END, stack)
            if action >= 0:
                raise RejectedError
            self._apply(-1 - action, stack, values)
        return values[-1]

    def _lexeme(self, text: str, at: int, terminals: Sequence[str]) -> tuple[str, int]:
        """The first terminal that matches there, and where its match ends."""
        for name in terminals:
            match = self._lexemes.get(name) or self._compile(name)
            end = match(text, at)
            if end > at:
                return name, end
        raise RejectedError

    def _compile(self, name: str) -> _Match:
        """From a text and an offset to the end of the match there, or -1."""
        pattern, literal = self._tables.terminals[name]
        if literal:
            length = len(pattern)
            match: _Match = lambda text, at: at + length if text.startswith(pattern, at) else -1  # noqa: E731
        else:
            search = re.compile(pattern, re.ASCII).match

            def match(text: str, at: int) -> int:
                found = search(text, at)
                return found.end() if found else -1

        self._lexemes[name] = match
        return match

    def _action(self, symbol: str, stack: list[int]) -> int:
        action = self._tables.states[stack[-1]].actions.get(symbol)
        if action is None:
            raise RejectedError
        return action

    def _reduce(self, symbol: str, stack: list[int], values: list[Any]) -> int:
        """Reduces until the symbol can be shifted; the state after that."""
        action = self._action(symbol, stack)
        while action < 0:
            self._apply(-1 - action, stack, values)
            action = self._action(symbol, stack)
        return action

    def _apply(self, number: int, stack: list[int], values: list[Any]) -> None:
        rule = self._tables.rules[number]
        cut = len(values) - rule.length
        parts = values[cut:]
        del values[cut:]
        del stack[cut + 1 :]
        children: list[Any] = []
        for index, spliced in rule.children:
            if spliced:
                children += parts[index]
            else:
                children.append(parts[index])
        if rule.single and len(children) == 1:
            value = children[0]
        else:
            make = self._rules[number]
            value = make(children) if make is not None else children
        stack.append(self._tables.states[stack[-1]].actions[rule.origin])
        values.append(value)
