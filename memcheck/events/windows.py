"""Addresses as state spaces write them, and the generic virtual addresses that events use.

Global and constant addresses are generic addresses. A shared variable's name is an offset into the window of the
executing CTA, the same in every CTA; in the cluster's window a CTA is named by its rank in the high bits, which is
what `mapa.shared::cluster` gives. All of them fit in 32 bits, so that narrow registers can hold them.
"""

from __future__ import annotations

from typing import NamedTuple

from memcheck.events.value import Value, Values
from memcheck.language.test import Place, Test
from memcheck.ptx.qualifiers import Space

GLOBAL_BASE = 0x10000
SHARED_BASE = 0x40000000
SHARED_BITS = 20
"""A CTA's shared memory is 1 MiB of generic addresses."""
RANK_SHIFT = 24
"""A cluster-window address is (rank + 1) << 24 | offset; below that the window of the executing CTA."""
MULTIMEM_BASE = 0x80000000
MULTIMEM_STRIDE = 1 << 24
"""The k-th location behind a multimem address lies (k + 1) strides above it."""

SHARED_SPACES = (Space.SHARED_CTA, Space.SHARED_CLUSTER)


def ctas(test: Test) -> tuple[int, ...]:
    """The CTAs of the test, ascending; the position is the CTA's window."""
    return tuple(sorted({thread.place.cta for thread in test.threads}))


class Windows(NamedTuple):
    """The shared windows as one thread sees them: its own CTA's, and its cluster's by ascending rank."""

    own: int
    """Generic base of the own CTA's window."""
    cluster: tuple[int, ...]
    """Generic base of the window of each CTA of the cluster, by rank."""

    @staticmethod
    def of(test: Test, place: Place) -> Windows:
        every = ctas(test)
        mates = sorted({t.place.cta for t in test.threads if t.place.cluster == place.cluster})
        base = {cta: SHARED_BASE + (every.index(cta) << SHARED_BITS) for cta in mates}
        return Windows(base[place.cta], tuple(base[cta] for cta in mates))

    def _base(self, values: Values, rank: Value) -> Value:
        """Generic base of the window of CTA `rank` (64 bits); ranks past the cluster give the last one's."""
        result = values.const(self.cluster[-1], 64)
        for number in range(len(self.cluster) - 2, -1, -1):
            here = values.binary("eq", rank, values.const(number, rank.width))
            result = values.ite(here, values.const(self.cluster[number], 64), result)
        return result

    def generic(self, values: Values, address: Value, space: Space) -> Value:
        """The generic form of a 64-bit address of `space`; a shared address outside every window becomes 0."""
        if space not in SHARED_SPACES:
            return address
        low = values.binary("and", address, values.const((1 << RANK_SHIFT) - 1, 64))
        rank = values.binary("lshr", address, values.const(RANK_SHIFT, 64))
        result = values.const(0, 64)
        for number, base in reversed(list(enumerate(self.cluster))):
            if space is Space.SHARED_CTA and base != self.own:
                continue
            here = values.binary("eq", rank, values.const(number + 1, 64))
            result = values.ite(here, values.binary("add", low, values.const(base, 64)), result)
        own = values.binary("add", low, values.const(self.own, 64))
        inside = values.binary("ult", low, values.const(1 << SHARED_BITS, 64))
        result = values.ite(values.binary("eq", rank, values.const(0, 64)), own, result)
        return values.ite(inside, result, values.const(0, 64))

    def from_generic(self, values: Values, address: Value) -> Value:
        """What `cvta.to.shared` gives: the offset in the own window, or the cluster-window address."""
        offset = values.binary("and", address, values.const((1 << SHARED_BITS) - 1, 64))
        window = values.binary("sub", address, offset)
        result = offset
        for number, base in enumerate(self.cluster):
            if base != self.own:
                here = values.binary("eq", window, values.const(base, 64))
                mapped = values.binary("or", offset, values.const((number + 1) << RANK_SHIFT, 64))
                result = values.ite(here, mapped, result)
        return result

    def map_generic(self, values: Values, address: Value, rank: Value) -> Value:
        """`mapa` on generic addresses: the same offset in the window of CTA `rank`."""
        offset = values.binary("and", address, values.const((1 << SHARED_BITS) - 1, 64))
        return values.binary("add", self._base(values, rank), offset)

    def map_window(self, values: Values, address: Value, rank: Value) -> Value:
        """`mapa.shared::cluster`: the cluster-window address of the same offset in CTA `rank`."""
        offset = values.binary("and", address, values.const((1 << SHARED_BITS) - 1, 64))
        high = values.binary("add", values.zext(rank, 64), values.const(1, 64))
        return values.binary("or", values.binary("shl", high, values.const(RANK_SHIFT, 64)), offset)

    def is_shared(self, values: Values, address: Value, space: Space) -> Value:
        """`isspacep.shared{::cta,::cluster}` of a generic address."""
        offset = values.binary("and", address, values.const((1 << SHARED_BITS) - 1, 64))
        window = values.binary("sub", address, offset)
        result = values.false
        for base in self.cluster if space is Space.SHARED_CLUSTER else (self.own,):
            result = values.either(result, values.binary("eq", window, values.const(base, 64)))
        return result
