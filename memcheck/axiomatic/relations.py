"""Literals for the sets and relations of a model, made on demand from its axioms.

Every node has bounds: pairs that may be in it and pairs that must be. Only a pair that may but need not be in it costs
a literal. An *upper* literal is true whenever the pair is in the relation, a *lower* one is true only if it is (see
`clauses`); axioms need the first, except to the right of a difference.
"""

from __future__ import annotations

from typing import Protocol

from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.axiomatic.matrix import Matrices, bits
from memcheck.relations.expression import Expr, ExprKind, Op

Pair = int
"""i * n + j; for sets, i."""


class BaseLiterals(Protocol):
    """The vocabulary of one structure, as bounds and exact literals."""

    def bounds(self, name: str) -> tuple[int, int]:
        """(may, must) of a base set or relation."""

    def literal(self, name: str, pair: Pair) -> int:
        """Exact literal of a pair (or element) that may but need not be in it."""

    def from_read(self, pair: Pair) -> list[tuple[int, int, int]]:
        """For from-read(r): (reads-from literal, write read from, write) for each way; see `Relations`."""

    def executed(self, event: int) -> int:
        """Literal of an event's being executed."""

    def from_read_may(self, may: int) -> int:
        """Upper bound of from-read(r) from that of r."""


class NotEncodableError(Exception):
    """The model needs a recursive relation to be exact; the plain encoder can decide it."""


class Node:
    """A node of the model's expression tree, simplified for one structure."""

    __slots__ = ("args", "cols", "expr", "lower", "may", "must", "name", "op", "rows", "step", "upper")

    def __init__(self, op: Op, args: tuple[Node, ...], may: int, must: int, name: str = "") -> None:
        self.op = op
        self.args = args
        self.may = may
        self.must = must
        self.name = name
        self.upper: dict[Pair, int] = {}
        self.lower: dict[Pair, int] = {}
        self.rows: list[int] | None = None
        self.cols: list[int] | None = None
        self.step: tuple[list[int], list[int]] | None = None


class Relations:
    """All nodes of one model over one structure."""

    def __init__(self, base: BaseLiterals, clauses: Clauses, space: Matrices) -> None:
        self.base = base
        self.clauses = clauses
        self.space = space
        self.n = space.n
        self._nodes: dict[Expr, Node] = {}
        self._table: dict[tuple[Op, tuple[int, ...], str], Node] = {}
        self._groups: dict[tuple[int, int], Node] = {}
        self._pending: list[tuple[Node, Pair]] = []
        self.empty = Node(Op.EMPTY, (), 0, 0)

    # ---- nodes and bounds

    def node(self, expr: Expr) -> Node:
        """The simplified node of an expression."""
        found = self._nodes.get(expr)
        if found is None:
            if expr.op is Op.REC:
                return self._groups.get((id(expr.group), expr.index)) or self._recursive(expr)
            found = self._nodes[expr] = self._build(expr)
        return found

    def _build(self, expr: Expr) -> Node:
        op = expr.op
        if op is Op.BASE and expr.name == "fr":
            may, must = self.base.bounds("co")
            return self._combine(Op.FROM_READ, (self._make(op, (), may, must, "co"),), expr.kind)
        if op is Op.BASE:
            may, must = self.base.bounds(expr.name)
            return self._make(op, (), may, must, expr.name) if may else self.empty
        if op is Op.EMPTY:
            return self.empty
        args = tuple(self.node(arg) for arg in expr.args)
        return self._combine(op, args, expr.kind)

    def _make(self, op: Op, args: tuple[Node, ...], may: int, must: int, name: str = "") -> Node:
        if not may:
            return self.empty
        key = (op, tuple(map(id, args)), name)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Node(op, args, may, must, name)
        return found

    def _combine(self, op: Op, args: tuple[Node, ...], kind: ExprKind) -> Node:
        space = self.space
        a = args[0]
        if op is Op.UNION:
            b = args[1]
            if not b.may & ~a.must:
                return a
            if not a.may & ~b.must:
                return b
            return self._make(op, args, a.may | b.may, a.must | b.must)
        if op is Op.INTER:
            b = args[1]
            if not a.may & ~b.must:
                return a
            if not b.may & ~a.must:
                return b
            return self._make(op, args, a.may & b.may, a.must & b.must)
        if op is Op.DIFF:
            b = args[1]
            if not a.may & b.may:
                return a
            return self._make(op, args, a.may & ~b.must, a.must & ~b.may)
        if op is Op.COMPLEMENT:
            universe = self.node_of_universe(kind)
            return self._combine(Op.DIFF, (universe, a), kind)
        if op is Op.PRODUCT:
            return self._make(op, args, space.product(a.may, args[1].may), space.product(a.must, args[1].must))
        if op is Op.IDENTITY:
            return self._make(op, args, space.diagonal(a.may), space.diagonal(a.must))
        if op is Op.DOMAIN:
            return self._make(op, args, space.domain(a.may), space.domain(a.must))
        if op is Op.RANGE:
            return self._make(op, args, space.range(a.may), space.range(a.must))
        if op is Op.SEQ:
            return self._sequence(a, args[1])
        if op is Op.INVERSE:
            return self._make(op, args, space.inverse(a.may), space.inverse(a.must))
        if op is Op.PLUS:
            return self._plus(a)
        if op is Op.STAR:
            return self._optional(self._plus(a))
        if op is Op.OPT:
            return self._optional(a)
        if op is Op.FROM_READ:
            return self._make(op, args, self.base.from_read_may(a.may), 0)
        raise AssertionError(op)

    def node_of_universe(self, kind: ExprKind) -> Node:
        everyone = self._make(Op.BASE, (), *self.base.bounds("_"), "_")
        return everyone if kind is ExprKind.SET else self._combine(Op.PRODUCT, (everyone, everyone), kind)

    def _sequence(self, a: Node, b: Node) -> Node:
        space = self.space
        if a.op is Op.IDENTITY and not b.may & ~space.product(a.args[0].must, space.row):
            return b
        if b.op is Op.IDENTITY and not a.may & ~(space.column * b.args[0].must):
            return a
        return self._make(Op.SEQ, (a, b), space.compose(a.may, b.may), space.compose(a.must, b.must))

    def _plus(self, a: Node) -> Node:
        if (
            a.op is Op.PLUS
            or (a.op is Op.BASE and a.name in ("po", "co"))
            or not self.space.compose(a.may, a.may) & ~a.must
        ):
            return a
        return self._make(Op.PLUS, (a,), self.space.closure(a.may), self.space.closure(a.must))

    def _optional(self, a: Node) -> Node:
        may, must = self.base.bounds("id")
        identity = self._make(Op.BASE, (), may, must, "id")
        return self._combine(Op.UNION, (a, identity), ExprKind.RELATION)

    def _recursive(self, expr: Expr) -> Node:
        """`let rec`: bounds by iteration; the literals of its names follow the bodies (upper only)."""
        group = expr.group
        assert group is not None
        nodes = [Node(Op.REC, (), 0, 0, name) for name in group.names]
        while True:
            saved, saved_table = dict(self._nodes), dict(self._table)
            for index, node in enumerate(nodes):
                self._groups[id(group), index] = node
            bodies = [self.node(body) for body in group.bodies]
            if all(body.may == node.may and body.must == node.must for body, node in zip(bodies, nodes)):
                for node, body in zip(nodes, bodies):
                    node.args = (body,)
                return nodes[expr.index]
            self._nodes, self._table = saved, saved_table
            nodes = [
                Node(Op.REC, (), body.may | node.may, body.must | node.must, node.name)
                for node, body in zip(nodes, bodies)
            ]

    # ---- literals

    def upper(self, node: Node, pair: Pair) -> int:
        """A literal that is true whenever the pair is in the relation. Call `settle` before solving."""
        if not node.may >> pair & 1:
            return FALSE
        if node.must >> pair & 1:
            return TRUE
        found = node.upper.get(pair)
        if found is None:
            if node.op in (Op.PLUS, Op.REC):
                found = node.upper[pair] = self.clauses.variable()
                self._pending.append((node, pair))
            else:
                found = node.upper[pair] = self._literal(node, pair, True)
        return found

    def lower(self, node: Node, pair: Pair) -> int:
        """A literal that is true only if the pair is in the relation."""
        if not node.may >> pair & 1:
            return FALSE
        if node.must >> pair & 1:
            return TRUE
        found = node.lower.get(pair)
        if found is None:
            found = node.lower[pair] = self._literal(node, pair, False)
        return found

    def ways(self, node: Node, pair: Pair) -> list[tuple[int, int]]:
        """Of a sequence a;b the (upper) literals of its two steps, for each event between."""
        first, second = node.args
        i, j = divmod(pair, self.n)
        between = bits(self._rows(first)[i] & self._columns(second)[j])
        return [(self.upper(first, i * self.n + k), self.upper(second, k * self.n + j)) for k in between]

    def closure(self, node: Node) -> Node:
        """The transitive closure of a node."""
        return self._plus(node)

    def restricted(self, node: Node, pairs: int) -> Node:
        """The node, limited to some pairs."""
        if not node.may & ~pairs:
            return node
        return Node(Op.INTER, (node, Node(Op.EMPTY, (), pairs, pairs)), node.may & pairs, node.must & pairs)

    def settle(self) -> None:
        """Write the clauses that closures and recursive relations still owe."""
        while self._pending:
            node, pair = self._pending.pop()
            if node.op is Op.REC:
                self.clauses.require(-self.upper(node.args[0], pair), node.upper[pair])
            else:
                self._extend(node, pair)

    def _extend(self, node: Node, pair: Pair) -> None:
        """closure(i, j) when r(i, j), or closure(i, k) and r(k, j): one way, as it is only forbidden here."""
        (relation,) = node.args
        i, j = divmod(pair, self.n)
        gate, clauses = node.upper[pair], self.clauses
        if relation.may >> pair & 1:
            clauses.require(-self.upper(relation, pair), gate)
        _, columns = self._step(node)
        for k in bits(self._rows(node)[i] & columns[j]):
            if k != i or node.may >> (i * self.n + i) & 1:
                clauses.require(-self.upper(node, i * self.n + k), -self.upper(relation, k * self.n + j), gate)

    def _step(self, node: Node) -> tuple[list[int], list[int]]:
        """Of a closure's relation, the pairs worth a step: necessary pairs that others imply are left out."""
        if node.step is None:
            relation = node.args[0]
            space = self.space
            must = relation.must
            closed = space.closure(must)
            steps = relation.may & ~must | (must & space.reduction(closed) if not closed & space.identity else must)
            node.step = (space.rows(steps), space.rows(space.inverse(steps)))
        return node.step

    def _rows(self, node: Node) -> list[int]:
        if node.rows is None:
            node.rows = self.space.rows(node.may)
        return node.rows

    def _columns(self, node: Node) -> list[int]:
        if node.cols is None:
            node.cols = self.space.rows(self.space.inverse(node.may))
        return node.cols

    def _literal(self, node: Node, pair: Pair, upper: bool) -> int:
        """By operator; both directions but for closures, whose lower literals are exact by repeated squaring."""
        op, args, n = node.op, node.args, self.n
        same = self.upper if upper else self.lower
        if op is Op.BASE:
            return self.base.literal(node.name, pair)
        if op is Op.UNION:
            return self.clauses.disjunction((same(args[0], pair), same(args[1], pair)), upper)
        if op is Op.INTER:
            first = same(args[0], pair)
            return FALSE if first == FALSE else self.clauses.conjunction((first, same(args[1], pair)), upper)
        if op is Op.DIFF:
            other = self.lower if upper else self.upper
            return self.clauses.conjunction((same(args[0], pair), -other(args[1], pair)), upper)
        if op is Op.DOMAIN or op is Op.RANGE:
            mates = self._rows(args[0])[pair] if op is Op.DOMAIN else self._columns(args[0])[pair]
            pairs = [pair * n + k if op is Op.DOMAIN else k * n + pair for k in bits(mates)]
            return self.clauses.disjunction([same(args[0], p) for p in pairs], upper)
        i, j = divmod(pair, n)
        if op is Op.PRODUCT:
            return self.clauses.conjunction((same(args[0], i), same(args[1], j)), upper)
        if op is Op.IDENTITY:
            return same(args[0], i)
        if op is Op.INVERSE:
            return same(args[0], j * n + i)
        if op is Op.SEQ:
            ways = []
            for k in bits(self._rows(args[0])[i] & self._columns(args[1])[j]):
                left = same(args[0], i * n + k)
                if left != FALSE:
                    ways.append(self.clauses.conjunction((left, same(args[1], k * n + j)), upper))
            return self.clauses.disjunction(ways, upper)
        if op is Op.FROM_READ:
            ways = [
                self.clauses.conjunction((read, same(args[0], source * n + target)), upper)
                for read, source, target in self.base.from_read(pair)
            ]
            return self.clauses.disjunction(ways, upper)
        if op is Op.PLUS:
            return self.lower(self._squared(node), pair)
        if op is Op.REC:
            raise NotEncodableError(node.name)
        raise AssertionError(op)

    def _squared(self, node: Node) -> Node:
        """The closure as an expression without recursion: r, r|r;r, … until paths of n steps are in."""
        (power,) = node.args
        length = 1
        while length < self.n:
            power = self._combine(Op.UNION, (power, self._sequence(power, power)), ExprKind.RELATION)
            length *= 2
        return power
