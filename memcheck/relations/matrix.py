"""Relations over n events as one integer: bit i*n+j says whether (i, j) is in. Sets: bit i."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache


def bits(mask: int) -> Iterator[int]:
    """Indices of the set bits, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Matrices:
    """Operations on relations over `n` events."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.row = (1 << n) - 1
        self.column = sum(1 << (i * n) for i in range(n))
        self.full = (1 << (n * n)) - 1
        self.identity = sum(1 << (i * n + i) for i in range(n))

    def from_rows(self, rows: tuple[int, ...] | list[int]) -> int:
        """Row masks to one integer."""
        n, result = self.n, 0
        for i, row in enumerate(rows):
            result |= row << (i * n)
        return result

    def rows(self, relation: int) -> list[int]:
        n, row = self.n, self.row
        return [relation >> (i * n) & row for i in range(n)]

    def inverse(self, relation: int) -> int:
        n, result = self.n, 0
        for index in bits(relation):
            i, j = divmod(index, n)
            result |= 1 << (j * n + i)
        return result

    def spread(self, mask: int) -> int:
        """A set as a column: bit i to bit i*n."""
        n, result = self.n, 0
        for i in bits(mask):
            result |= 1 << (i * n)
        return result

    def product(self, left: int, right: int) -> int:
        """left * right."""
        return self.spread(left) * right

    def diagonal(self, mask: int) -> int:
        n, result = self.n, 0
        for i in bits(mask):
            result |= 1 << (i * n + i)
        return result

    def domain(self, relation: int) -> int:
        n, row, result = self.n, self.row, 0
        for i in range(n):
            if relation >> (i * n) & row:
                result |= 1 << i
        return result

    def range(self, relation: int) -> int:
        n, row, result = self.n, self.row, 0
        while relation:
            result |= relation & row
            relation >>= n
        return result

    def compose(self, first: int, second: int) -> int:
        """first; second."""
        if not first or not second:
            return 0
        n, row, column, result = self.n, self.row, self.column, 0
        for k in range(n):
            right = second >> (k * n) & row
            if right:
                left = first >> k & column
                if left:
                    result |= left * right
        return result

    def closure(self, relation: int) -> int:
        """Transitive closure."""
        n, row, column = self.n, self.row, self.column
        for k in range(n):
            left = relation >> k & column
            if left:
                right = relation >> (k * n) & row
                if right:
                    relation |= left * right
        return relation

    def reduction(self, relation: int) -> int:
        """Of an acyclic transitive relation, the pairs that no others imply; any other relation unchanged."""
        if relation & self.identity:
            return relation
        return relation & ~self.compose(relation, relation)


@lru_cache(maxsize=64)
def matrices(n: int) -> Matrices:
    return Matrices(n)
