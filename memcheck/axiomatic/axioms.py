"""A model's axioms and flags as clauses."""

from __future__ import annotations

from typing import NamedTuple

from memcheck.axiomatic.clauses import TRUE, Clauses
from memcheck.axiomatic.plan import DIFF, INTER, SEQ, UNION
from memcheck.axiomatic.relations import Node, Relations
from memcheck.relations.expression import Axiom, ExprKind, Model, Test
from memcheck.relations.matrix import Matrices, bits


class FlagLiteral(NamedTuple):
    """`literal` (true only if so): the flag `name` is raised, about these events."""

    name: str
    events: tuple[int, ...]
    literal: int


class AxiomEncoder:
    """Writes the axioms of a model over one structure; `settle` of the relations is the caller's to call."""

    def __init__(self, relations: Relations, clauses: Clauses, space: Matrices) -> None:
        self.relations = relations
        self.clauses = clauses
        self.space = space

    def require_all(self, model: Model) -> None:
        for axiom in model.axioms:
            node = self.relations.node(axiom.expr)
            if axiom.negated:
                self.clauses.require(*(literal for _, literal in self._violations(axiom, node)))
            elif axiom.test is Test.EMPTY:
                for pair in bits(node.may):
                    self._forbid(node, pair)
            elif axiom.test is Test.IRREFLEXIVE:
                for pair in bits(node.may & self.space.identity):
                    self._forbid(node, pair)
            else:
                self._forbid_cycles(node)

    def flags(self, model: Model) -> list[FlagLiteral]:
        """A literal for each way in which a flag of the model can be raised."""
        found = []
        for flag in model.flags:
            node = self.relations.node(flag.expr)
            if flag.negated:
                for pair, literal in self._violations(flag, node):
                    found.append(FlagLiteral(flag.name, self._events(flag, pair), literal))
            else:
                literal = self.clauses.conjunction((-x for x in self._occurrences(flag, node)), upper=False)
                found.append(FlagLiteral(flag.name, (), literal))
        return [flag for flag in found if flag.literal != -TRUE]

    def _events(self, flag: Axiom, pair: int) -> tuple[int, ...]:
        if flag.test is Test.EMPTY and flag.expr.kind is ExprKind.SET:
            return (pair,)
        i, j = divmod(pair, self.space.n)
        return (i,) if i == j else (i, j)

    def _targets(self, axiom: Axiom, node: Node) -> tuple[Node, int]:
        """The node and its pairs whose absence the test asserts."""
        if axiom.test is Test.EMPTY:
            return node, node.may
        if axiom.test is Test.IRREFLEXIVE:
            return node, node.may & self.space.identity
        closure = self.relations.closure(node)
        return closure, closure.may & self.space.identity

    def _violations(self, axiom: Axiom, node: Node) -> list[tuple[int, int]]:
        """Pairs with literals that are true only if the pair is in."""
        target, pairs = self._targets(axiom, node)
        return [(pair, self.relations.lower(target, pair)) for pair in bits(pairs)]

    def _occurrences(self, axiom: Axiom, node: Node) -> list[int]:
        target, pairs = self._targets(axiom, node)
        return [self.relations.upper(target, pair) for pair in bits(pairs)]

    def _forbid(self, node: Node, pair: int) -> None:
        """The pair is not in the relation; conjunctions become clauses without a gate."""
        if not node.may >> pair & 1:
            return
        relations, clauses = self.relations, self.clauses
        if node.must >> pair & 1:
            clauses.require(-relations.upper(node, pair))
        elif node.opcode == UNION:
            for arg in node.args:
                self._forbid(arg, pair)
        elif node.opcode == INTER:
            clauses.require(*(-relations.upper(arg, pair) for arg in node.args))
        elif node.opcode == DIFF:
            clauses.require(-relations.upper(node.args[0], pair), relations.lower(node.args[1], pair))
        elif node.opcode == SEQ:
            for first, second in relations.ways(node, pair):
                clauses.require(-first, -second)
        else:
            clauses.require(-relations.upper(node, pair))

    def _forbid_cycles(self, node: Node) -> None:
        """No cycle: none inside any strongly connected component of what may be related."""
        space = self.space
        closure = space.closure(node.may)
        if not closure & space.identity:
            return
        inside = node.may & space.inverse(closure)
        cyclic = self.relations.closure(self.relations.restricted(node, inside))
        for pair in bits(cyclic.may & space.identity):
            self._forbid(cyclic, pair)
