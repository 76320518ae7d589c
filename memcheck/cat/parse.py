"""Text of a cat file to its syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from memcheck.cat.comments import blank_comments
from memcheck.cat.options import suggestion
from memcheck.cat.tree import Assertion, Binding, File, Form, Include, Let, Show, Statement, Term
from memcheck.errors import SourceError
from memcheck.relations.expression import Op, Test
from memcheck.source import SourceFile, Span

MAX_DEPTH = 200
"""Nesting of one expression; readers of the tree may recurse."""

_KEYWORDS = ("let", "rec", "and", "acyclic", "irreflexive", "empty", "flag", "as", "include", "show", "unshow", "if")
_NOT_HERE = frozenset(
    ("procedure", "call", "with", "from", "match", "enum", "instructions", "default", "forall", "fun", "try", "in")
    + ("undefined_unless", "assert", "debug", "when", "begin", "end")
)


def parse(source: SourceFile) -> File:
    """The syntax tree. SourceError where the text is not in the language or nested deeper than MAX_DEPTH."""
    text, comments = blank_comments(source)
    builder = _builder()
    builder.source = source
    try:
        read: Any = _parser().parse(text)  # what `_Builder.start` makes, since it runs inside the parser
    except UnexpectedInput as error:
        raise _explain(error, source) from None
    title, statements = read
    return File(title, statements, comments)


class _Builder(Transformer[Token, Any]):
    """Builds the tree bottom-up as the parser reduces; `source` is the file being read."""

    source: SourceFile

    def _span(self, token: Token) -> Span:
        return Span(self.source, token.line or 1, token.column or 1, len(token))

    def _term(self, head: Op | Form, args: tuple[Term, ...], name: str = "", span: Span | None = None) -> Term:
        depth = 1 + max((arg.depth for arg in args), default=0)
        at = span if span is not None else args[0].span
        if depth > MAX_DEPTH:
            raise SourceError(f"this expression is nested more than {MAX_DEPTH} deep", at, "name its parts with `let`")
        return Term(head, args, name, at, depth)

    def start(self, children: list[Any]) -> tuple[str, tuple[Statement, ...]]:
        title = children.pop(0) if children and isinstance(children[0], str) else ""
        return title, tuple(children)

    def title(self, tokens: list[Token]) -> str:
        if tokens[0] in _NOT_HERE:
            raise _not_supported(str(tokens[0]), self._span(tokens[0]))
        return str(tokens[-1]).strip('"')

    def let(self, bindings: list[Binding]) -> Let:
        return Let(tuple(bindings), recursive=False)

    def rec(self, bindings: list[Binding]) -> Let:
        return Let(tuple(bindings), recursive=True)

    def binding(self, children: list[Any]) -> Binding:
        name, *params, body = children
        return Binding(str(name), params[0] if params else None, body, self._span(name))

    def params(self, names: list[Token]) -> tuple[str, ...]:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise SourceError(f"the parameter `{name}` is named twice", self._span(name))
        return tuple(map(str, names))

    def axiom(self, children: list[Any]) -> Assertion:
        flag = children[0] is not None and getattr(children[0], "type", "") == "FLAG"
        test, body, *name = children[1:] if flag else children
        word = str(test).lstrip("~ \t\r\n")
        span = self._span(children[0] if flag else test)
        return Assertion(flag, test[0] == "~", Test(word), body, str(name[0]) if name else None, span)

    def include(self, children: list[Token]) -> Include:
        return Include(str(children[0])[1:-1], self._span(children[0]))

    def show(self, children: list[Any]) -> Show:
        name = str(children.pop()) if isinstance(children[-1], Token) else None
        return Show(tuple(children), name, children[0].span)

    def unshow(self, names: list[Token]) -> Show:
        return Show((), None, self._span(names[0]))

    def choice(self, children: list[Any]) -> Term:
        option, then, other = children
        return self._term(Form.CHOICE, (then, other), str(option)[1:-1], self._span(option))

    def name(self, children: list[Token]) -> Term:
        return self._term(Form.NAME, (), str(children[0]), self._span(children[0]))

    def call(self, children: list[Any]) -> Term:
        name, *args = children
        return self._term(Form.CALL, tuple(args), str(name), self._span(name))

    def call_name(self, children: list[Token]) -> Term:
        return self.call([children[0], self.name(children[1:])])

    def constant(self, children: list[Token]) -> Term:
        if children[0].type == "ZERO":
            return self._term(Form.ZERO, (), "0", self._span(children[0]))
        return self._term(Form.NAME, (), "_", self._span(children[0]))


def _joined(op: Op) -> Callable[[_Builder, list[Term]], Term]:
    """A chain of one associative operator: from the left, a long one as a balanced tree, so that it is not deep."""

    def build(builder: _Builder, terms: list[Term]) -> Term:
        if len(terms) <= 16:
            return reduce(lambda left, right: builder._term(op, (left, right)), terms)
        while len(terms) > 1:
            pairs = [builder._term(op, (terms[i], terms[i + 1])) for i in range(0, len(terms) - 1, 2)]
            terms = pairs + terms[len(terms) - len(terms) % 2 :]
        return terms[0]

    return build


def _difference(builder: _Builder, terms: list[Term]) -> Term:
    """a \\ b \\ c groups to the left, which is a \\ (b | c)."""
    if len(terms) == 2:
        return builder._term(Op.DIFF, tuple(terms))
    return builder._term(Op.DIFF, (terms[0], _joined(Op.UNION)(builder, terms[1:])))


def _operator(op: Op) -> Callable[[_Builder, list[Term]], Term]:
    return lambda builder, terms: builder._term(op, tuple(terms))


_Builder.union = _joined(Op.UNION)  # type: ignore[attr-defined]
_Builder.sequence = _joined(Op.SEQ)  # type: ignore[attr-defined]
_Builder.intersection = _joined(Op.INTER)  # type: ignore[attr-defined]
_Builder.difference = _difference  # type: ignore[attr-defined]
for _rule, _op in (
    ("cross", Op.PRODUCT),
    ("complement", Op.COMPLEMENT),
    ("plus", Op.PLUS),
    ("star", Op.STAR),
    ("optional", Op.OPT),
    ("inverse", Op.INVERSE),
    ("identity", Op.IDENTITY),
):
    setattr(_Builder, _rule, _operator(_op))


@cache
def _builder() -> _Builder:
    return _Builder()


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("cat.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=_builder(),
    )


def _explain(error: UnexpectedInput, source: SourceFile) -> SourceError:
    line, column = max(error.line, 1), max(error.column, 1)
    if isinstance(error, UnexpectedCharacters):
        return SourceError(f"unexpected character {error.char!r}", Span(source, line, column))
    if not isinstance(error, UnexpectedToken):
        return SourceError("this is not a cat file", Span(source, line, column))
    token = error.token
    if token.type == "$END":
        lines = source.text.rstrip().splitlines() or [""]
        at = Span(source, len(lines), max(1, len(lines[-1])))
        return SourceError("the file ends in the middle of a statement", at)
    span = Span(source, line, column, len(token))
    for word, start in ((str(token), column), ((source.line(line).split() or [""])[0], 1)):
        if word in _NOT_HERE:
            return _not_supported(word, Span(source, line, start, len(word)))
    hint = suggestion(str(token), _KEYWORDS) if token.type == "NAME" else None
    return SourceError(f"unexpected `{token}`", span, hint if hint and hint.startswith("did") else None)


def _not_supported(word: str, span: Span) -> SourceError:
    known = "statements are let, acyclic, irreflexive, empty, flag, include, show"
    return SourceError(f"`{word}` is not supported", span, known)
