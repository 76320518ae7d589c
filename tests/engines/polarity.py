"""The fast path with every gate written in both directions, and every closure exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from memcheck.axiomatic import encoding
from memcheck.axiomatic.clauses import Clauses
from memcheck.axiomatic.plan import PLUS
from memcheck.axiomatic.relations import Node, NotEncodableError, Pair, Relations


class TwoSidedClauses(Clauses):
    """Gates that are true exactly where their definition is."""

    def conjunction(self, literals: Iterable[int], upper: bool) -> int:  # noqa: ARG002
        return self.both(literals)

    def disjunction(self, literals: Iterable[int], upper: bool) -> int:  # noqa: ARG002
        return self.either(literals)


class TwoSidedRelations(Relations):
    """Closures by repeated squaring also where they are only forbidden; a `let rec` and what is over it as it was."""

    __slots__ = ()

    def upper(self, node: Node, pair: Pair) -> int:
        if node.opcode != PLUS:
            return super().upper(node, pair)
        try:
            return self.lower(node, pair)
        except NotEncodableError:  # a `let rec` inside
            return super().upper(node, pair)


@contextmanager
def two_sided() -> Iterator[None]:
    """Inside it the fast path encodes two-sidedly."""
    with patch.object(encoding, "Clauses", TwoSidedClauses), patch.object(encoding, "Relations", TwoSidedRelations):
        yield
