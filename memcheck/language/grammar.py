"""The grammar of litmus tests in the hands of lark, which makes the tables and says what is wrong with a text.

Neither is needed to read a test that is right, and lark takes longer to import than most tests to decide.
"""

from __future__ import annotations

import pickle
import re
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from lark import Lark, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from memcheck.language.automaton import END, Rule, State, Tables
from memcheck.language.complaints import Fault, explain

STARTS = ("test", "entry", "head", "statement", "tail")
FILE = Path(__file__).with_name("litmus.lark")


@cache
def parser() -> Lark:
    return Lark.open(
        str(FILE),
        parser="lalr",
        lexer="contextual",
        start=list(STARTS),
        maybe_placeholders=False,
        g_regex_flags=re.ASCII,
    )


_COARSE = frozenset(("HEADER", "STATE", "BLOCK", "COLUMNS", "TAIL"))
_LEXEME = re.compile(r"%?[\w$]+(?:(?:\.|::)\w+)*|\S")


def fault(text: str, start: str) -> Fault:
    """What is wrong with a text that is not in the language."""
    error = _rejection(text, start)
    expected: set[str] = set()
    at = max(error.pos_in_stream or 0, 0)
    found = _LEXEME.match(text, at)
    token = found.group() if found else None
    if isinstance(error, UnexpectedToken):
        expected = set(error.accepts or error.expected)
        if error.token.type == END:
            token = None
        elif error.token.type not in _COARSE:
            token = str(error.token)
    elif isinstance(error, UnexpectedCharacters):
        expected = set(error.allowed or ())
    return explain(text, start, at, token, expected)


def _rejection(text: str, start: str) -> UnexpectedInput:
    try:
        parser().parse(text, start=start)
    except UnexpectedInput as error:
        return error
    raise AssertionError(f"lark accepts as {start}: {text!r}")


def tables() -> Tables:
    """The tables, from what `Lark.save` writes."""
    file = BytesIO()
    parser().save(file)
    saved = pickle.loads(file.getvalue())
    memo, conf, table = saved["memo"], saved["data"]["parser"]["lexer_conf"], saved["data"]["parser"]["parser"]
    terminals = {t["name"]: t for t in (memo[entry["@"]] for entry in conf["terminals"])}
    order = sorted(terminals, key=lambda name: _precedence(terminals[name]))
    numbers = {id_: index for index, id_ in enumerate(i for i, entry in memo.items() if entry["__type__"] == "Rule")}
    states = []
    for row in (table["states"][number] for number in range(len(table["states"]))):
        actions = {
            table["tokens"][symbol]: -1 - numbers[target["@"]] if reduce else target
            for symbol, (reduce, target) in row.items()
        }
        tried = tuple(name for name in order if name in actions or name in conf["ignore"])
        _check_apart([terminals[name] for name in tried])
        states.append(State(actions, tried))
    return Tables(
        {name: (t["pattern"]["value"], t["pattern"]["__type__"] == "PatternStr") for name, t in terminals.items()},
        frozenset(conf["ignore"]),
        tuple(_rule(memo[id_]) for id_ in numbers),
        tuple(states),
        {start: (begin, table["end_states"][start]) for start, begin in table["start_states"].items()},
    )


def _precedence(terminal: dict[str, Any]) -> tuple[int, int, int, str]:
    """Lark tries terminals by priority, then those that can be longer."""
    pattern = terminal["pattern"]
    assert not pattern["flags"]
    longest = pattern["_width"][1] if pattern["__type__"] == "PatternRE" else len(pattern["value"])
    return -terminal["priority"], -longest, -len(pattern["value"]), terminal["name"]


def _check_apart(terminals: list[dict[str, Any]]) -> None:
    """Lark prefers a literal to an expression that matches it too; no state of this grammar needs that."""
    literals = [t for t in terminals if t["pattern"]["__type__"] == "PatternStr"]
    for terminal in terminals:
        for literal in literals:
            if terminal is not literal and terminal["priority"] == literal["priority"]:
                value = literal["pattern"]["value"]
                same = terminal not in literals and re.fullmatch(terminal["pattern"]["value"], value, re.ASCII)
                assert not same, f"{literal['name']} and {terminal['name']} can both come here"


def _rule(saved: dict[str, Any]) -> Rule:
    origin: str = saved["origin"]["name"]
    options, expansion = saved["options"], saved["expansion"]
    assert not options["keep_all_tokens"]
    children = tuple(
        (index, symbol["__type__"] == "NonTerminal" and symbol["name"].startswith("_"))
        for index, symbol in enumerate(expansion)
        if not symbol.get("filter_out")
    )
    single = bool(options["expand1"]) and not saved["alias"]
    return Rule(origin, saved["alias"] or origin, len(expansion), children, single)
