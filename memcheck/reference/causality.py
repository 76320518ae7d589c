"""Base causality, its proxy-preserved part, causality, and Fence-SC orders (8.9.3, 8.9.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from memcheck.events.structure import Event, Structure
from memcheck.ptx.instructions import Fence, ProxyFence, Restriction
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Sem
from memcheck.reference.locations import Locations
from memcheck.reference.pairs import Pair, Pairs, closure
from memcheck.reference.patterns import Synchronization
from memcheck.reference.strength import is_memory, is_memory_fence, place
from memcheck.reference.traces import Trace

BRIDGES = {
    Proxy.TEXTURE: FenceProxy.TEXTURE,
    Proxy.SURFACE: FenceProxy.SURFACE,
    Proxy.CONSTANT: FenceProxy.CONSTANT,
}
"""The proxy fence between generic accesses and those of another proxy."""


def reaches(structure: Structure, fence: Event, cta: int | None) -> bool:
    """Whether a restricted fence has an effect on memory: the shared memory of `cta`, None for all other memory."""
    assert isinstance(fence.instruction, Fence)
    restriction = fence.instruction.restriction
    if restriction is None:
        return True
    if cta is None or restriction is Restriction.MBARRIER_INIT:
        return False
    mine = place(structure, fence)
    if restriction is Restriction.SHARED_CTA:
        return cta == mine.cta
    return any(t.place.cta == cta and t.place.cluster == mine.cluster for t in structure.test.threads)


@dataclass(frozen=True)
class Causality:
    """The orders of one execution whose reads-from, generations and Fence-SC order are chosen."""

    locations: Locations
    po: Pairs
    synchronizes: frozenset[Synchronization]
    observation: Pairs

    @property
    def trace(self) -> Trace:
        return self.locations.trace

    def _closed(self, cta: int | None) -> frozenset[Pair]:
        structure = self.trace.structure
        edges = {
            (s.source, s.target)
            for s in self.synchronizes
            if all(reaches(structure, structure.events[f], cta) for f in s.fences)
        }
        return closure(self.po | edges)

    @cached_property
    def base(self) -> frozenset[Pair]:
        """8.9.5, base causality order, as it orders everything: no path through a restricted fence counts."""
        return self._closed(None)

    @cached_property
    def _base_of_shared(self) -> dict[int, frozenset[Pair]]:
        ctas = {c for e in self._accesses if (c := self.locations.shared_cta(e)) is not None}
        return {c: self._closed(c) for c in ctas}

    def base_for(self, access: int) -> frozenset[Pair]:
        """Base causality as it orders accesses of the memory that `access` is to (restricted fences)."""
        if not any(s.fences for s in self.synchronizes):
            return self.base
        cta = self.locations.shared_cta(access)
        return self.base if cta is None else self._base_of_shared[cta]

    @cached_property
    def _accesses(self) -> list[int]:
        return [e for e in self.trace.executed if is_memory(self.trace.event(e))]

    @cached_property
    def proxy_preserved(self) -> frozenset[Pair]:
        """8.9.5, proxy-preserved base causality order, between executed memory operations with a common byte."""
        return frozenset(
            (x, y)
            for x in self._accesses
            for y in self._accesses
            if self.locations.overlap(x, y) and self._preserved(x, y)
        )

    def _preserved(self, x: int, y: int) -> bool:
        base = self.base_for(x)
        if (x, y) not in base:
            return False
        structure = self.trace.structure
        first, second = structure.events[x], structure.events[y]
        same_address = self.locations.same_address(x, y)
        if same_address and first.proxy is second.proxy:
            if first.proxy is Proxy.GENERIC:  # rule 1
                return True
            if place(structure, first).cta == place(structure, second).cta:  # rule 2
                return True
        # Rule 3, and the same for texture, surface and constant accesses: fences along the path, each proxy's own
        # in the thread block of its access.
        needed: list[tuple[FenceProxy, int | None]] = []
        for event, at in ((first, 0), (second, 1)):
            if at == 1 and not same_address:
                needed.append((FenceProxy.ALIAS, None))
            if event.proxy is not Proxy.GENERIC:
                if event.proxy not in BRIDGES:
                    return False
                needed.append((BRIDGES[event.proxy], place(structure, event).cta))
        return self._path(base, x, y, needed)

    def _path(self, base: Pairs, x: int, y: int, needed: Sequence[tuple[FenceProxy, int | None]]) -> bool:
        """Whether base causality leads from x to y through such proxy fences, in this order."""
        if not needed:
            return (x, y) in base
        kind, cta = needed[0]
        return any(
            (x, f) in base and self._path(base, f, y, needed[1:])
            for f in self.trace.executed
            if self._is_proxy_fence(f, kind, cta)
        )

    def _is_proxy_fence(self, fence: int, kind: FenceProxy, cta: int | None) -> bool:
        event = self.trace.event(fence)
        instruction = event.instruction
        if not isinstance(instruction, ProxyFence) or instruction.proxy is not kind:
            return False
        return cta is None or place(self.trace.structure, event).cta == cta

    @cached_property
    def order(self) -> frozenset[Pair]:
        """8.9.5, causality order, but for W0, which is before everything."""
        observed = {(x, y) for x, z in self.observation for z2, y in self.proxy_preserved if z == z2}
        return self.proxy_preserved | observed


def fence_sc_orders(trace: Trace, strong: Pairs, base: Pairs) -> Iterator[frozenset[Pair]]:
    """8.9.3 and 8.10.2: every acyclic orientation of the morally strong pairs of fence.sc that agrees with causality.

    `base`: base causality without them; each yielded order, too, agrees with base causality through itself.
    """
    fences = [e for e in trace.executed if is_memory_fence(trace.event(e)) and trace.event(e).sem is Sem.SC]
    yield from _orient([p for p in combinations(fences, 2) if p in strong], frozenset(), base)


def _orient(pairs: Sequence[Pair], chosen: frozenset[Pair], base: Pairs) -> Iterator[frozenset[Pair]]:
    if not pairs:
        yield chosen
        return
    (a, b), rest = pairs[0], pairs[1:]
    for x, y in ((a, b), (b, a)):
        through = closure({*base, (x, y)})
        if not any((later, earlier) in through for earlier, later in (*chosen, (x, y))):
            yield from _orient(rest, chosen | {(x, y)}, through)


def fence_synchronization(order: Iterable[Pair]) -> frozenset[Synchronization]:
    """8.9.4, rule 1."""
    return frozenset(Synchronization(a, b) for a, b in order)
