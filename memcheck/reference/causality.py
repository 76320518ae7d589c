"""Base causality, its proxy-preserved part, causality, and Fence-SC orders (8.9.3, 8.9.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from memcheck.events.structure import Event, Structure
from memcheck.ptx.asynchronous import MbarrierInit
from memcheck.ptx.instructions import Fence, Restriction
from memcheck.ptx.qualifiers import Proxy, Sem
from memcheck.reference.asynchronous import Asynchronous
from memcheck.reference.grids import grid_order, launches
from memcheck.reference.locations import Locations
from memcheck.reference.pairs import Pair, Pairs, closure, composed
from memcheck.reference.patterns import Synchronization
from memcheck.reference.proxies import Way, descriptor_acquires, ways
from memcheck.reference.strength import is_memory_fence, place
from memcheck.reference.traces import Trace


@dataclass(frozen=True, slots=True)
class Memory:
    """What restricted fences have an effect on: shared memory of `cta` (None: other memory).

    `init`: the thread whose mbarrier.init is ordered with what comes later, None for other accesses.
    """

    cta: int | None
    init: int | None = None


def reaches(structure: Structure, fence: Event, memory: Memory) -> bool:
    """Whether a restricted fence has an effect on accesses of some memory."""
    assert isinstance(fence.instruction, Fence)
    restriction = fence.instruction.restriction
    if restriction is None:
        return True
    mine = place(structure, fence)
    if restriction is Restriction.MBARRIER_INIT:
        return memory.init == fence.thread and memory.cta == mine.cta
    if memory.cta is None:
        return False
    if restriction is Restriction.SHARED_CTA:
        return memory.cta == mine.cta
    return any(t.place.cta == memory.cta and t.place.cluster == mine.cluster for t in structure.test.threads)


@dataclass(frozen=True)
class Causality:
    """The orders of one execution whose reads-from, generations and Fence-SC order are chosen."""

    locations: Locations
    po: Pairs
    synchronizes: frozenset[Synchronization]
    observation: Pairs
    asynchronous: Asynchronous
    one_directional: frozenset[Synchronization] = frozenset()
    """What proxy fences of one direction reach, for them alone."""

    @property
    def trace(self) -> Trace:
        return self.locations.trace

    def _effective(self, memory: Memory) -> list[Synchronization]:
        structure = self.trace.structure
        return [s for s in self.synchronizes if all(reaches(structure, structure.events[f], memory) for f in s.fences)]

    @cached_property
    def _grid_order(self) -> frozenset[Pair]:
        return grid_order(self.trace)

    @cached_property
    def launched(self) -> frozenset[Pair]:
        """From release fences to the grids that griddepcontrol.launch_dependents lets start."""
        if not self.trace.structure.test.grid_orders:
            return frozenset()
        return launches(self.trace, self.po, closure(self._steps(self._effective(Memory(None)))))

    def _steps(self, synchronizes: Iterable[Synchronization]) -> frozenset[Pair]:
        """Program order, synchronizes between the events in it, and grids.

        What a release asynchronous operation releases is what comes before its instruction (8.8, pattern 5).
        """
        issue, edges = self.asynchronous.issue, set()
        for s in synchronizes:
            if self.trace.event(s.source).operation is None:
                edges.add((s.source, s.target))
            elif s.source not in self.asynchronous.releasing:
                edges.update((e, s.target) for e, w in issue if w == s.source)
        return frozenset(edges | self.po | self._grid_order)

    def _closed(self, memory: Memory) -> frozenset[Pair]:
        """8.9.5 with 8.9.1.1: a path through the thread that issues an operation ends at the operation, and a path
        from an asynchronous access begins with its completion."""
        synchronizes = self._effective(memory)
        operations = self.asynchronous
        if not operations.operations:
            return closure(self._steps(synchronizes) | self.launched)
        hop = closure(self._steps(synchronizes) | self.launched)
        completed = set(operations.grouped)
        for s in synchronizes:
            if self.trace.event(s.source).operation is not None:
                completed.add((s.source, s.target))
                completed.update((access, s.target) for access, report in operations.reported if report == s.source)
        out = completed | composed(completed, hop)
        into = operations.issue | composed(hop, operations.issue)
        return frozenset(hop | out | into | composed(out, operations.issue) | operations.within | operations.reported)

    @cached_property
    def base(self) -> frozenset[Pair]:
        """8.9.5, base causality order, as it orders everything: no path through a restricted fence counts."""
        return self._closed(Memory(None))

    @cached_property
    def _bases(self) -> dict[Memory, frozenset[Pair]]:
        return {}

    def base_for(self, access: int) -> frozenset[Pair]:
        """Base causality as it orders `access` with later accesses of the same memory (restricted fences)."""
        if not any(s.fences for s in self.synchronizes):
            return self.base
        event = self.trace.event(access)
        init = event.thread if isinstance(event.instruction, MbarrierInit) else None
        memory = Memory(self.locations.shared_cta(access), init)
        if memory not in self._bases:
            self._bases[memory] = self._closed(memory)
        return self._bases[memory]

    @cached_property
    def proxy_preserved(self) -> frozenset[Pair]:
        """8.9.5, proxy-preserved base causality order, between executed memory operations with a common byte."""
        return frozenset((x, y) for x, y in self.locations.overlapping if self._preserved(x, y))

    def _preserved(self, x: int, y: int) -> bool:
        base = self.base_for(x)
        if (x, y) not in base and not self.one_directional:
            return False
        if self.trace.event(y).proxy is not Proxy.TENSORMAP:
            if self._ends_grid(base, x, y):
                return True
        elif any((a, y) in base and self._ends_grid(base, x, a) for a in descriptor_acquires(self.locations, y)):
            return True  # the start of a kernel does not acquire, but its predecessor's end releases
        return any(self._path(base, x, y, way) for way in ways(self.locations, lambda: self._connected, x, y))

    @cached_property
    def _connected(self) -> frozenset[Pair]:
        """Paths on which a proxy fence that releases reaches one that acquires."""
        return closure(self._steps(self._effective(Memory(None)) + list(self.one_directional)) | self.launched)

    def _ends_grid(self, base: Pairs, x: int, y: int) -> bool:
        """Whether a path leads through the end of a grid, which counts for every proxy but tensormap (8.9.4)."""
        return any((a == x or (x, a) in base) and (b == y or (b, y) in base) for a, b in self._grid_order)

    def _path(self, base: Pairs, x: int, y: int, way: Way) -> bool:
        """Whether base causality leads from x to y through such crossings, in this order."""
        if not way:
            return (x, y) in base
        return any((x, first) in base and self._path(base, last, y, way[1:]) for first, last in way[0])

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
