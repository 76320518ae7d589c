"""Expectations: what a file says of the verdict of a model, in a comment.

    (* expect MODEL, MODEL: VERDICT; states: STATES; why: TEXT *)

VERDICT is `holds`, `fails`, `outside`, `undecided` or `deadlock`, and may be missing where there is no condition.
STATES is the number of final states, or all of them, each between braces: `{P1:r0=1, x=0} {P1:r0=0, x=0}`, over exactly
the registers and locations that states are over (`x[1] @ cta 1=3` for an element of a shared array). A negative
number is taken modulo the width. `states: {}` is one state of nothing; no states are `states: 0`. A `;` in TEXT is
part of it unless `states:` follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memcheck.errors import SourceError
from memcheck.language.nearest import nearest
from memcheck.language.position import Positions
from memcheck.language.syntax import Clause
from memcheck.language.test import Expectation, Observable, Verdict
from memcheck.source import Span

_START = re.compile(r"\s*expect(?=\s|$)")
_FORM = re.compile(r"\s*expect\s+(?P<models>[^:;{}]+?)\s*:(?P<rest>.*)", re.DOTALL)
_MODEL = re.compile(r"[\w.+-]+")
_FIELD = re.compile(r"\s*(?P<key>states|why)\s*:\s*(?P<value>.*)", re.DOTALL)
_STATE = re.compile(r"\s*\{(?P<body>[^{}]*)\}\s*")
_EQUATION = re.compile(r"\s*(?P<key>[^=]*?)\s*==?\s*(?P<value>-?\s*(?:0[xX][0-9a-fA-F]{1,32}|\d{1,39}))\s*")
_HINT = "write `(* expect ptx: holds; states: 3; why: 8.10.6 *)`"

Keys = Callable[[str, int], Observable]
"""Resolves a term, as a condition writes it, at an offset of the file."""


def read_expectations(
    comments: Sequence[Clause],
    positions: Positions,
    resolve: Keys,
    observed: Sequence[Observable],
    describe: Callable[[Observable], tuple[str, int]],
) -> tuple[Expectation, ...]:
    """The expectations among the comments. `describe` gives the JSON key and the width of a term."""
    found: dict[str, Expectation] = {}
    for comment in comments:
        start = _START.match(comment.text)
        if start is None:
            continue
        word = comment.at + start.end() - len("expect")
        reader = _Reader(comment, positions.span(word, len("expect")), positions, resolve, observed, describe)
        for expectation in reader.read():
            if expectation.model in found:
                raise SourceError(f"what {expectation.model} gives is expected twice", expectation.span)
            found[expectation.model] = expectation
    return tuple(found.values())


class _Reader:
    __slots__ = ("comment", "describe", "observed", "positions", "resolve", "span")

    def __init__(
        self,
        comment: Clause,
        span: Span,
        positions: Positions,
        resolve: Keys,
        observed: Sequence[Observable],
        describe: Callable[[Observable], tuple[str, int]],
    ) -> None:
        self.comment = comment
        self.span = span
        self.positions = positions
        self.resolve = resolve
        self.observed = observed
        self.describe = describe

    def read(self) -> list[Expectation]:
        form = _FORM.fullmatch(self.comment.text)
        if form is None:
            raise SourceError("this expectation names no model", self.span, _HINT)
        models = [model.strip() for model in form["models"].split(",")]
        for model in models:
            if not _MODEL.fullmatch(model):
                raise SourceError(f"`{model[:80]}` is no name of a model", self.span, _HINT)
        verdict: Verdict | None = None
        states: int | frozenset[frozenset[tuple[str, int]]] | None = None
        why: str | None = None
        at = form.start("rest")
        for number, part in enumerate(form["rest"].split(";")):
            field = _FIELD.fullmatch(part)
            if field is not None and field["key"] == "states" and states is None:
                states = self.states(field["value"].strip(), at + field.start("value"))
            elif field is not None and why is None and field["key"] == "why":
                why = field["value"].strip()
            elif number == 0 and part.strip():
                verdict = self.verdict(part, at)
            elif why is not None:
                why = f"{why};{part.rstrip()}"
            elif part.strip():
                raise SourceError(f"unexpected `{part.strip()[:80]}`", self.place(part, at), _HINT)
            at += len(part) + 1
        reason = " ".join((why or "").split())
        return [Expectation(model, verdict, states, reason, self.span) for model in models]

    def place(self, part: str, at: int) -> Span:
        words = part.strip()
        return self.positions.span(self.comment.at + at + part.index(words), max(1, len(words.split("\n")[0])))

    def verdict(self, part: str, at: int) -> Verdict:
        word = part.strip()
        try:
            return Verdict(word)
        except ValueError:
            names = [verdict.value for verdict in Verdict]
            raise SourceError(f"`{word[:80]}` is no verdict", self.place(part, at), nearest(word, names)) from None

    def states(self, text: str, at: int) -> int | frozenset[frozenset[tuple[str, int]]]:
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        states: set[frozenset[tuple[str, int]]] = set()
        position = 0
        while position < len(text):
            match = _STATE.match(text, position)
            if match is None:
                break
            span = self.positions.span(self.comment.at + at + match.start("body") - 1, len(match["body"]) + 2)
            state = self.state(match["body"], self.comment.at + at + match.start("body"), span)
            if state in states:
                raise SourceError("this state is listed twice", span)
            states.add(state)
            position = match.end()
        if position < len(text) or not states:
            span = self.positions.span(self.comment.at + at + position, max(1, len(text[position:].split("\n")[0])))
            raise SourceError("states are a number or a list such as `{P1:r0=1, x=0} {P1:r0=0, x=0}`", span)
        return frozenset(states)

    def state(self, body: str, at: int, span: Span) -> frozenset[tuple[str, int]]:
        values: dict[str, int] = {}
        named: set[Observable] = set()
        for part in body.split(",") if body.strip() else ():
            match = _EQUATION.fullmatch(part)
            if match is None:
                raise SourceError(f"`{part.strip()[:80]}` is no value of a term", span, "write `P1:r0=1` or `x=0`")
            term = self.resolve(match["key"], at + match.start("key"))
            key, width = self.describe(term)
            if term not in self.observed:
                keys = ", ".join(self.describe(other)[0] for other in self.observed)
                raise SourceError(f"states are not over `{key}`", span, f"they are over {keys}")
            number = int("".join(match["value"].split()), 0 if "x" in match["value"].lower() else 10)
            if not -(1 << width - 1 if width > 1 else 1) <= number < 1 << width:
                raise SourceError(f"{number} does not fit in the {width} bits of {key}", span)
            values[key] = number % (1 << width)
            if term in named:
                raise SourceError(f"`{key}` is given twice", span)
            named.add(term)
            at += len(part) + 1
        for term in self.observed:
            if term not in named:
                raise SourceError(f"this state says nothing about `{self.describe(term)[0]}`", span)
        return frozenset(values.items())
