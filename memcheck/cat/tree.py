"""The syntax of a cat file, before names have a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.relations.expression import Op, Test
from memcheck.source import Span


class Form(Enum):
    """Heads of terms that are no operator of the algebra."""

    NAME = "name"
    CALL = "call"
    CHOICE = "if"
    ZERO = "0"


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One expression. `name`: of a NAME or CALL, the option of a CHOICE. `span`: its first token."""

    head: Op | Form
    args: tuple[Term, ...]
    name: str
    span: Span
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """`name(params) = body`; `params` None where it is no function."""

    name: str
    params: tuple[str, ...] | None
    body: Term
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    bindings: tuple[Binding, ...]
    recursive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Assertion:
    """An axiom or a flag; `name` None where there is no `as`."""

    flag: bool
    negated: bool
    test: Test
    body: Term
    name: str | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Include:
    path: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Show:
    terms: tuple[Term, ...]
    name: str | None
    span: Span


Statement = Let | Assertion | Include | Show


@dataclass(frozen=True, slots=True, eq=False)
class Comment:
    """`text` without its delimiters; `first` and `last` are line numbers. Line comments one below the other are one."""

    text: str
    first: int
    last: int
    block: bool


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A parsed file. `comments`: what is said about each line, by line number."""

    title: str
    statements: tuple[Statement, ...]
    comments: dict[int, Comment]
