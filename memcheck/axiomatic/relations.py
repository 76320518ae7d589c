"""Literals for the sets and relations of a model, made on demand from its axioms.

Every node has bounds: pairs that may be in it, and pairs that must be where both events are executed; only the others
cost a literal of their own. An *upper* literal is true whenever the pair is in the relation, a *lower* one is true only
if it is (see `clauses`); axioms need the first, except to the right of a difference.
"""

from __future__ import annotations

from typing import Protocol

from memcheck.axiomatic.clauses import FALSE, Clauses
from memcheck.axiomatic.plan import (
    BASE,
    COMPLEMENT,
    DIFF,
    DOMAIN,
    EMPTY,
    FROM_READ,
    IDENTITY,
    INTER,
    INVERSE,
    OPT,
    PLUS,
    PRODUCT,
    RANGE,
    REC,
    SEQ,
    STAR,
    UNION,
    Opcode,
    Plan,
)
from memcheck.relations.expression import Expr, RecursiveGroup
from memcheck.relations.matrix import Matrices, bits

Pair = int
"""i * n + j; for sets, i."""


class BaseLiterals(Protocol):
    """The vocabulary of one structure, as bounds and exact literals."""

    always: int
    """Events that every execution has."""

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
    """A node of the model's expressions, simplified for one structure; `args` are nodes, `name` is a base name's."""

    __slots__ = (
        "args",
        "columns",
        "hops",
        "is_set",
        "lower",
        "may",
        "must",
        "name",
        "opcode",
        "rows",
        "unrolled",
        "upper",
    )

    def __init__(
        self, opcode: Opcode, args: tuple[Node, ...], may: int, must: int, name: str = "", is_set: bool = False
    ) -> None:
        self.opcode = opcode
        self.args = args
        self.may = may
        self.must = must
        self.name = name
        self.is_set: bool = is_set or opcode in (DOMAIN, RANGE)
        if opcode in (UNION, INTER, DIFF):
            self.is_set = args[0].is_set
        self.upper: dict[Pair, int] = {}
        self.lower: dict[Pair, int] = {}
        self.rows: list[int] | None = None
        self.columns: list[int] | None = None
        self.hops: tuple[int, list[int]] | None = None
        self.unrolled: Node | None = None


class Relations:
    """All nodes of one model over one structure."""

    def __init__(self, base: BaseLiterals, clauses: Clauses, space: Matrices, plan: Plan) -> None:
        self.base = base
        self.clauses = clauses
        self.space = space
        self.n = space.n
        self.plan = plan
        self._into_always = space.column * base.always
        self._from_always = space.product(base.always, space.row)
        self._nodes: list[Node | None] = [None] * len(plan.steps)
        self._shared: dict[tuple[Opcode, int, int], Node] = {}
        self._named: dict[str, Node] = {}
        self._rounds: dict[RecursiveGroup, list[Node]] = {}
        self._pending: list[tuple[Node, Pair]] = []
        self.empty = Node(EMPTY, (), 0, 0)

    # ---- nodes and bounds

    def node(self, expr: Expr) -> Node:
        """The simplified node of an expression of the plan."""
        return self._at(self.plan.position(expr))

    def _at(self, position: int) -> Node:
        found = self._nodes[position]
        if found is None:
            found = self._nodes[position] = self._build(position)
        return found

    def _build(self, position: int) -> Node:
        """Operands that cannot matter are not built: nothing meets an empty one."""
        step = self.plan.steps[position]
        opcode = step.opcode
        if opcode == BASE:
            return self._base(step.name, step.is_set)
        if opcode == EMPTY:
            return self.empty
        if opcode == REC:
            assert step.group is not None
            return self._recursive(step.group, step.index)
        first = self._at(step.first)
        if opcode == UNION:
            return self._union(first, self._at(step.second))
        if opcode in (INTER, SEQ, PRODUCT, DIFF):
            if not first.may:
                return self.empty
            second = self._at(step.second)
            if opcode == INTER:
                return self._intersection(first, second)
            if opcode == SEQ:
                return self._sequence(first, second)
            if opcode == DIFF:
                return self._difference(first, second)
            space = self.space
            may, must = space.product(first.may, second.may), space.product(first.must, second.must)
            return self._make(PRODUCT, first, second, may, must)
        return self._unary(opcode, first)

    def _unary(self, opcode: Opcode, a: Node) -> Node:
        space = self.space
        if opcode == IDENTITY:
            return self._make(opcode, a, None, space.diagonal(a.may), space.diagonal(a.must))
        if opcode == INVERSE:
            return self._make(opcode, a, None, space.inverse(a.may), space.inverse(a.must))
        if opcode == PLUS:
            return self.closure(a)
        if opcode == STAR:
            return self._union(self.closure(a), self._base("id"))
        if opcode == OPT:
            return self._union(a, self._base("id"))
        if opcode == DOMAIN:
            must = a.must & (self._into_always | space.identity)
            return self._make(opcode, a, None, space.domain(a.may), space.domain(must))
        if opcode == RANGE:
            must = a.must & (self._from_always | space.identity)
            return self._make(opcode, a, None, space.range(a.may), space.range(must))
        if opcode == FROM_READ:
            return self._from_read(a)
        everyone = self._base("_", is_set=True)
        if opcode == COMPLEMENT:
            may, must = space.product(everyone.may, everyone.may), space.product(everyone.must, everyone.must)
            everyone = self._make(PRODUCT, everyone, everyone, may, must)
        return self._difference(everyone, a)

    def _base(self, name: str, is_set: bool = False) -> Node:
        found = self._named.get(name)
        if found is None:
            if name == "fr":
                found = self._from_read(self._base("co"))
            else:
                may, must = self.base.bounds(name)
                found = Node(BASE, (), may, must, name, is_set) if may else self.empty
            self._named[name] = found
        return found

    def _make(self, opcode: Opcode, a: Node, b: Node | None, may: int, must: int) -> Node:
        """The node of these operands: the same one for the same operands."""
        if not may:
            return self.empty
        key = (opcode, id(a), id(b))
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = Node(opcode, (a,) if b is None else (a, b), may, must)
        return found

    def _union(self, a: Node, b: Node) -> Node:
        if not b.may & ~a.must:
            return a
        if not a.may & ~b.must:
            return b
        return self._make(UNION, a, b, a.may | b.may, a.must | b.must)

    def _intersection(self, a: Node, b: Node) -> Node:
        if not a.may & ~b.must:
            return a
        if not b.may & ~a.must:
            return b
        return self._make(INTER, a, b, a.may & b.may, a.must & b.must)

    def _difference(self, a: Node, b: Node) -> Node:
        if not a.may & b.may:
            return a
        return self._make(DIFF, a, b, a.may & ~b.must, a.must & ~b.may)

    def _sequence(self, a: Node, b: Node) -> Node:
        space = self.space
        if not b.may:
            return self.empty
        if a.opcode == IDENTITY and not b.may & ~space.product(a.args[0].must, space.row):
            return b
        if b.opcode == IDENTITY and not a.may & ~(space.column * b.args[0].must):
            return a
        if a.opcode == IDENTITY:
            kept, known = (space.product(bound, space.row) for bound in (a.args[0].may, a.args[0].must))
            return self._make(SEQ, a, b, b.may & kept, b.must & known)
        if b.opcode == IDENTITY:
            kept, known = (space.column * bound for bound in (b.args[0].may, b.args[0].must))
            return self._make(SEQ, a, b, a.may & kept, a.must & known)
        surely = a.must & (self._into_always | space.identity)
        must = space.compose(surely, b.must)
        if surely != a.must:
            must |= space.compose(a.must & ~surely, b.must & space.identity)
        return self._make(SEQ, a, b, space.compose(a.may, b.may), must)

    def closure(self, a: Node) -> Node:
        """The transitive closure of a node."""
        if a.opcode == PLUS or a.name in ("po", "co") or not self.space.compose(a.may, a.may) & ~a.must:
            return a
        return self._make(PLUS, a, None, self.space.closure(a.may), self._closed(a.must))

    def _closed(self, must: int) -> int:
        """What a closure has at least: paths by events that every execution has."""
        surely = must & self._into_always
        closed = self.space.closure(surely)
        return closed if surely == must else must | self.space.compose(closed, must)

    def _from_read(self, a: Node) -> Node:
        return self._make(FROM_READ, a, None, self.base.from_read_may(a.may), 0) if a.may else self.empty

    def _recursive(self, group: RecursiveGroup, index: int) -> Node:
        """`let rec`: bounds by iteration; the literals of its names follow the bodies (upper only)."""
        if group in self._rounds:
            return self._rounds[group][index]
        sets = [self.plan.steps[position].is_set for position in self.plan.bodies[group]]
        nodes = [Node(REC, (), 0, 0, is_set=is_set) for is_set in sets]
        while True:
            saved, shared = list(self._nodes), dict(self._shared)
            self._rounds[group] = nodes
            bodies = [self._at(position) for position in self.plan.bodies[group]]
            if all(body.may == node.may and body.must == node.must for body, node in zip(bodies, nodes)):
                for node, body in zip(nodes, bodies):
                    node.args = (body,)
                return nodes[index]
            self._nodes, self._shared = saved, shared
            nodes = [
                Node(REC, (), body.may | node.may, body.must | node.must, is_set=node.is_set)
                for node, body in zip(nodes, bodies)
            ]

    # ---- literals

    def upper(self, node: Node, pair: Pair) -> int:
        """A literal that is true whenever the pair is in the relation. Call `settle` before solving."""
        if not node.may >> pair & 1:
            return FALSE
        if node.must >> pair & 1:
            return self._there(node, pair)
        found = node.upper.get(pair)
        if found is None:
            if node.opcode in (PLUS, REC):
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
            return self._there(node, pair)
        found = node.lower.get(pair)
        if found is None:
            found = node.lower[pair] = self._literal(node, pair, False)
        return found

    def _there(self, node: Node, pair: Pair) -> int:
        """Exact: the events of a pair are executed."""
        if node.is_set:
            return self.base.executed(pair)
        i, j = divmod(pair, self.n)
        return self.clauses.both((self.base.executed(i), self.base.executed(j)))

    def ways(self, node: Node, pair: Pair) -> list[tuple[int, int]]:
        """Of a sequence a;b the (upper) literals of its two steps, for each event between."""
        first, second = node.args
        i, j = divmod(pair, self.n)
        between = bits(self._rows(first)[i] & self._columns(second)[j])
        return [(self.upper(first, i * self.n + k), self.upper(second, k * self.n + j)) for k in between]

    def restricted(self, node: Node, pairs: int) -> Node:
        """The node, limited to some pairs."""
        if not node.may & ~pairs:
            return node
        if not node.may & pairs:
            return self.empty
        return Node(INTER, (node, Node(EMPTY, (), pairs, pairs)), node.may & pairs, node.must & pairs)

    def settle(self) -> None:
        """Write the clauses that closures and recursive relations still owe."""
        while self._pending:
            node, pair = self._pending.pop()
            if node.opcode == REC:
                self.clauses.require(-self.upper(node.args[0], pair), node.upper[pair])
            else:
                self._extend(node, pair)

    def _extend(self, node: Node, pair: Pair) -> None:
        """closure(i, j) by a last hop (a, b): i is a or before a, b is j or before j. One way: it is only forbidden."""
        n, relation, gate = self.n, node.args[0], node.upper[pair]
        known, hops = self._hops(node)
        i, j = divmod(pair, n)
        for b in range(n):
            if hops[b] and (b == j or known >> (b * n + j) & 1):
                after = () if b == j else (-self.base.executed(j),)
                for a in bits(hops[b]):
                    if a == i:
                        before: tuple[int, ...] = ()
                    elif known >> (i * n + a) & 1:
                        before = (-self.base.executed(i),)
                    elif node.may >> (i * n + a) & 1:
                        before = (-self.upper(node, i * n + a),)
                    else:
                        continue
                    self.clauses.require(*before, -self.upper(relation, a * n + b), *after, gate)

    def _hops(self, node: Node) -> tuple[int, list[int]]:
        """A transitive part of what a closure has at least, and by target the pairs of its relation that are not there.

        Every path is hops with steps of that part before, between and after them.
        """
        if node.hops is None:
            space = self.space
            known = 0 if space.compose(node.must, node.must) & ~node.must else node.must
            node.hops = known, space.rows(space.inverse(node.args[0].may & ~known))
        return node.hops

    def _rows(self, node: Node) -> list[int]:
        if node.rows is None:
            node.rows = self.space.rows(node.may)
        return node.rows

    def _columns(self, node: Node) -> list[int]:
        if node.columns is None:
            node.columns = self.space.rows(self.space.inverse(node.may))
        return node.columns

    def _literal(self, node: Node, pair: Pair, upper: bool) -> int:
        """By operator; both directions but for closures, whose lower literals are exact by repeated squaring."""
        opcode, args, clauses = node.opcode, node.args, self.clauses
        same = self.upper if upper else self.lower
        if opcode == INTER:
            first = same(args[0], pair)
            return FALSE if first == FALSE else clauses.conjunction((first, same(args[1], pair)), upper)
        if opcode == UNION:
            return clauses.disjunction((same(args[0], pair), same(args[1], pair)), upper)
        if opcode == BASE:
            return self.base.literal(node.name, pair)
        if opcode == DIFF:
            other = self.lower if upper else self.upper
            return clauses.conjunction((same(args[0], pair), -other(args[1], pair)), upper)
        n = self.n
        i, j = divmod(pair, n)
        if opcode == SEQ:
            ways = []
            for k in bits(self._rows(args[0])[i] & self._columns(args[1])[j]):
                left = same(args[0], i * n + k)
                if left != FALSE:
                    ways.append(clauses.conjunction((left, same(args[1], k * n + j)), upper))
            return clauses.disjunction(ways, upper)
        if opcode == IDENTITY:
            return same(args[0], i)
        if opcode == FROM_READ:
            ways = [
                clauses.conjunction((read, same(args[0], source * n + target)), upper)
                for read, source, target in self.base.from_read(pair)
            ]
            return clauses.disjunction(ways, upper)
        if opcode == PRODUCT:
            return clauses.conjunction((same(args[0], i), same(args[1], j)), upper)
        if opcode == INVERSE:
            return same(args[0], j * n + i)
        if opcode in (DOMAIN, RANGE):
            mates = self._rows(args[0])[pair] if opcode == DOMAIN else self._columns(args[0])[pair]
            pairs = [pair * n + k if opcode == DOMAIN else k * n + pair for k in bits(mates)]
            return clauses.disjunction([same(args[0], p) for p in pairs], upper)
        if opcode == PLUS:
            return self.lower(self._unrolled(node), pair)
        raise NotEncodableError(node.name)

    def _unrolled(self, node: Node) -> Node:
        """The closure as an expression without recursion: a path need not take two hops from the same event."""
        if node.unrolled is None:
            (relation,), space = node.args, self.space
            must, _ = self._hops(node)
            hops, known = self.restricted(relation, relation.may & ~must), Node(EMPTY, (), must, must)
            power = self._union(hops, self._sequence(hops, known))
            longest, length = space.domain(hops.may).bit_count(), 1
            while length < longest:
                power = self._union(power, self._sequence(power, power))
                length *= 2
            node.unrolled = self._union(known, self._union(power, self._sequence(known, power)))
        return node.unrolled
