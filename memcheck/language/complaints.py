"""What to say where the grammar cannot go on: the fault, and what could stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memcheck.language.nearest import nearest


@dataclass(frozen=True, slots=True)
class Fault:
    message: str
    at: int
    length: int
    hint: str | None


_NAMES = {
    "HEADER": "`PTX NAME`",
    "STRING": "a string",
    "WORD": "a name",
    "DIRECTIVE": "a word such as `.global`",
    "NUMBER": "a number",
    "REGISTER": "a register such as `P0:r1`",
    "ADDRESS": "an address such as `[x+4]`",
    "LOCATIONS": "`locations`",
    "FILTER": "`filter`",
    "QUANTIFIER": "`exists`, `~exists` or `forall`",
    "COMPARE": "a comparison",
    "ALIASES": "`aliases`",
    "GRID": "`grid`",
    "AND": "`/\\`",
    "OR": "`\\/`",
    "NOT": "`~`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "EQUAL": "`=`",
    "AT": "`@`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LESSTHAN": "`<`",
    "MORETHAN": "`>`",
}
_SILENT = frozenset(("PAIR", "NEGATED", "GUARD", "TRUTH", "AMPERSAND", "LABEL"))
_WHAT = {
    "test": "the test",
    "entry": "the initial value",
    "head": "the place of the thread",
    "statement": "the instruction",
    "tail": "the condition",
}
_INSTEAD = {
    "&&": "write `/\\` for and",
    "||": "write `\\/` for or",
    "=>": "write `~ a \\/ b` for an implication",
}


def explain(text: str, start: str, at: int, token: str | None, expected: Iterable[str]) -> Fault:
    """The fault at offset `at` of a clause; `token` is None where it ends too early."""
    wanted = set(expected)
    if start == "test":
        return _frame(text, at, token, wanted)
    if token is None:
        return Fault(f"{_WHAT[start]} ends too early", max(len(text.rstrip()) - 1, 0), 1, _listed(wanted))
    near = text[at : at + 2]
    first = token.split("\n")[0]
    if near in _INSTEAD:
        return Fault(f"unexpected `{near}`", at, 2, _INSTEAD[near])
    if token == "[" or (text.rfind("[", 0, at) > text.rfind("]", 0, at) and start == "statement"):
        return Fault(f"unexpected {_shown(first)}", at, len(first), "an address is `[x]`, `[x+4]`, `[r1]` or `[r1+4]`")
    if token[0].isdigit() and "NUMBER" in wanted:
        word = text[at:].split()[0].rstrip(",;)|")
        hint = "write floating-point values as their bits: `0f3F800000`" if "." in word else None
        return Fault(f"`{_clipped(word)}` is not a number", at, len(word), hint)
    if first in ("exists", "forall", "filter", "locations") and start == "statement":
        return Fault(f"unexpected `{first}`", at, len(first), "end the instruction, or the row, before it with `;`")
    hint = _listed(wanted)
    if start == "statement" and hint == "expected `,`":
        hint = "expected `,`, or `;` where the instruction ends"
    return Fault(f"unexpected {_shown(first)}", at, max(1, len(first)), hint)


def _frame(text: str, at: int, token: str | None, wanted: set[str]) -> Fault:
    """Faults between the parts of a file."""
    line = text[at:].split("\n", 1)[0].rstrip()
    if "HEADER" in wanted:
        at = len(text) - len(text.lstrip())
        word = text[at:].split(maxsplit=1)[0] if text.strip() else ""
        return Fault("a test begins with `PTX NAME`", at, max(1, len(word)), None)
    if token is None:
        hint = _THREADS if "COLUMNS" in wanted else _STATE
        return Fault("the test ends too early", max(len(text.rstrip()) - 1, 0), 1, hint)
    if token[0] == '"':
        return Fault("this string has no end", at, 1, 'write `"` at its end')
    if "STATE" in wanted and token[0] == "{":
        return Fault("the initial state has no end", at, 1, "its braces `{` and `}` do not match")
    if "STATE" in wanted:
        return Fault(f"unexpected {_shown(token[0])}", at, 1, _STATE)
    brace, end = text.find("{", at), text.find(";", at)
    if "BLOCK" in wanted and brace >= 0 and (end < 0 or brace < end):
        if scope := _SCOPE.search(text, brace + 1):
            hint = "leave its braces and `.reg` lines out: registers need no declaration"
            return Fault("a scope inside a thread is not read", scope.end() - 1, 1, hint)
        return Fault("this block has no end", brace, 1, "its braces `{` and `}` do not match")
    if "COLUMNS" in wanted:
        return Fault("a thread is expected here", at, max(1, len(line)), _THREADS)
    near = nearest(token, _LAST)
    if near is not None and near.startswith("did"):
        return Fault(f"unexpected {_shown(token)}", at, len(token), near)
    if "BLOCK" not in wanted:
        if swallowed := list(_TAIL.finditer(text, 0, at)):
            last = swallowed[-1]
            return Fault(f"unexpected `{last[1]}`", last.start(1), len(last[1]), "end the row before it with `;`")
        return Fault("this is no row and no condition", at, max(1, len(line)), f"a row ends with `;`; {_CONDITION}")
    hint = f"a thread is `P0 @ cta 0 {{ … }}`; {_CONDITION}"
    return Fault("this is no thread and no condition", at, max(1, len(line)), hint)


_STATE = "the initial state, between `{` and `}`, follows the name"
_THREADS = "threads are `P0 @ cta 0 { … }`, or a row `P0 @ cta 0 | P1 @ cta 1 ;`"
_CONDITION = "the condition, `exists (…)`, `~exists (…)` or `forall (…)`, comes last"
_SCOPE = re.compile(r"[;:]\s*\{(?=\s*[.@\w])")
_TAIL = re.compile(r"\n[ \t]*(~\s*exists|exists|forall|filter|locations)\b")
_LAST = ("exists", "~exists", "forall", "filter", "locations")


def _shown(text: str) -> str:
    return f"`{_clipped(text)}`" if text.isprintable() and text.strip() else f"character {text[:1]!r}"


def _clipped(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "…"


def _listed(wanted: set[str]) -> str | None:
    names = sorted({_NAMES[name] for name in wanted - _SILENT if name in _NAMES}, key=lambda n: (n[0] == "`", n))
    if not names or len(names) > 6:
        return None
    return "expected " + (names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1])
