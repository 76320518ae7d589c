"""Addresses as state spaces write them, and the generic addresses behind them.

Global and constant addresses are generic. A shared variable's name is an offset into the window of the executing CTA;
in the cluster's window a CTA is named by its rank, plus one, in the high bits.
"""

from __future__ import annotations

from typing import NamedTuple

from memcheck.language.test import Place, Test
from memcheck.ptx.qualifiers import Space

GLOBAL_BASE = 0x10000
SHARED_BASE = 0x40000000
SHARED_BITS = 20
"""A CTA has 1 MiB of generic addresses for its shared memory."""
RANK_SHIFT = 24
MULTIMEM_BASE = 0x80000000
MULTIMEM_STRIDE = 1 << 24
"""The k-th location behind a multimem address lies k + 1 strides above it."""
SHARED_SPACES = (Space.SHARED_CTA, Space.SHARED_CLUSTER)

_OFFSET = (1 << SHARED_BITS) - 1


def ctas(test: Test) -> tuple[int, ...]:
    """The CTAs of a test, ascending; a CTA's position is that of its window."""
    return tuple(sorted({thread.place.cta for thread in test.threads}))


class Windows(NamedTuple):
    """The shared windows as a thread sees them: generic base of its own, and of its cluster's CTAs by rank."""

    own: int
    cluster: tuple[int, ...]

    @staticmethod
    def of(test: Test, place: Place) -> Windows:
        every = ctas(test)
        mates = sorted({t.place.cta for t in test.threads if t.place.cluster == place.cluster})
        bases = {cta: SHARED_BASE + (every.index(cta) << SHARED_BITS) for cta in mates}
        return Windows(bases[place.cta], tuple(bases[cta] for cta in mates))

    def generic(self, address: int, space: Space) -> int:
        """The generic form of an address of `space`; 0 for a shared address outside every window."""
        if space not in SHARED_SPACES:
            return address
        offset, rank = address & (1 << RANK_SHIFT) - 1, address >> RANK_SHIFT
        if offset > _OFFSET:
            return 0
        if rank == 0:
            return self.own + offset
        if rank > len(self.cluster):
            return 0
        base = self.cluster[rank - 1]
        return base + offset if space is Space.SHARED_CLUSTER or base == self.own else 0

    def from_generic(self, address: int) -> int:
        """What `cvta.to.shared` gives: an offset in the own window, or an address of the cluster's."""
        base = address & ~_OFFSET
        if base != self.own and base in self.cluster:
            return address & _OFFSET | self.cluster.index(base) + 1 << RANK_SHIFT
        return address & _OFFSET

    def mapped(self, address: int, rank: int) -> int:
        """`mapa` of a generic address; the last CTA where the rank is past the cluster."""
        return self.cluster[min(rank, len(self.cluster) - 1)] + (address & _OFFSET)

    def mapped_shared(self, address: int, rank: int) -> int:
        """`mapa.shared::cluster`: the same offset in the window of CTA `rank`."""
        return address & _OFFSET | rank + 1 << RANK_SHIFT

    def is_shared(self, address: int, space: Space) -> bool:
        """`isspacep.shared{::cta,::cluster}`."""
        base = address & ~_OFFSET
        return base in self.cluster if space is Space.SHARED_CLUSTER else base == self.own
