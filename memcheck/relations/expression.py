"""Expressions over sets of events and relations between events: what a cat text means, evaluator by evaluator.

Nodes are hash-consed by `Expressions`; equal nodes of one model are one object, so evaluators may memoise by node.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.source import Span


class ExprKind(Enum):
    SET = "set of events"
    RELATION = "relation"


class Op(Enum):
    """Operators. S sets, r relations."""

    BASE = "base"
    """A name of the vocabulary (`Expr.name`)."""
    EMPTY = "empty"
    """The empty set or relation, by kind."""
    UNION = "|"
    INTER = "&"
    DIFF = "\\"
    COMPLEMENT = "~"
    PRODUCT = "*"
    """S * S: relation."""
    IDENTITY = "[]"
    """[S]: relation."""
    DOMAIN = "domain"
    RANGE = "range"
    SEQ = ";"
    INVERSE = "^-1"
    PLUS = "+"
    STAR = "^*"
    OPT = "?"
    """r? and r^*: with the identity over all executed events."""
    FROM_READ = "from-read"
    """from-read(r): R before W where, for some byte of both, R reads it from a W' with (W', W) in r (ISA 8.9.7.3)."""
    REC = "rec"
    """A name bound by `let rec`: `Expr.group` and `Expr.index` in it."""


class RecursiveGroup:
    """One `let rec … and …`: least fixed point of `bodies`, which refer to the group by REC nodes."""

    __slots__ = ("bodies", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.bodies: tuple[Expr, ...] = ()


class Expr:
    """One node; identity is equality."""

    __slots__ = ("args", "group", "index", "kind", "name", "op")

    def __init__(
        self,
        op: Op,
        kind: ExprKind,
        args: tuple[Expr, ...] = (),
        name: str = "",
        group: RecursiveGroup | None = None,
        index: int = 0,
    ) -> None:
        self.op = op
        self.kind = kind
        self.args = args
        self.name = name
        self.group = group
        self.index = index

    def __repr__(self) -> str:
        if self.op in (Op.BASE, Op.REC):
            return self.name
        return f"{self.op.value}({', '.join(map(repr, self.args))})"


class Expressions:
    """Makes the nodes of one model."""

    def __init__(self) -> None:
        self._table: dict[object, Expr] = {}

    def node(self, op: Op, kind: ExprKind, *args: Expr, name: str = "") -> Expr:
        key = (op, kind, args, name)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Expr(op, kind, args, name)
        return found

    def recursive(self, group: RecursiveGroup, index: int, kind: ExprKind) -> Expr:
        key = (id(group), index)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Expr(Op.REC, kind, (), group.names[index], group, index)
        return found


class Test(Enum):
    """What an axiom or a flag asserts of its expression."""

    ACYCLIC = "acyclic"
    IRREFLEXIVE = "irreflexive"
    EMPTY = "empty"
    __test__ = False


@dataclass(frozen=True, slots=True, eq=False)
class Axiom:
    """`[flag] [~]acyclic|irreflexive|empty expr as name`. `comment`: the comment just before it, for its section."""

    test: Test
    negated: bool
    expr: Expr
    name: str
    span: Span
    comment: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """`let name = expr`; functions are expanded and do not appear."""

    name: str
    expr: Expr
    span: Span
    comment: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A cat file, read. Later definitions of a name hide earlier ones (each use already points at the right node).

    An execution is consistent when every axiom holds. A flag whose test holds in a consistent execution is reported.
    `coherence`: the last definition called `coherence`, else the base relation `co`; it says which writes can be final.
    """

    name: str
    path: str
    title: str
    definitions: tuple[Definition, ...]
    axioms: tuple[Axiom, ...]
    flags: tuple[Axiom, ...]
    shows: tuple[str, ...]
    coherence: Expr
    names: frozenset[str]
    """Vocabulary names that the text uses."""
    interchange: Expr | None = None
    """The order without which operations on one mbarrier can change places; None: that is not known of this text."""
