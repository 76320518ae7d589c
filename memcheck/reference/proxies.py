"""Proxies along a path of base causality (8.6, 8.9.5; ISA 9.7.15.4): which fences lead from one access to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memcheck.events.structure import Event, Kind, Structure
from memcheck.ptx.instructions import ProxyFence
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Sem, Space
from memcheck.ptx.tensors import TensormapCopy
from memcheck.reference.locations import Locations
from memcheck.reference.pairs import Pair, Pairs
from memcheck.reference.strength import place, scope_includes
from memcheck.reference.traces import Trace

OWN_FENCES = {
    Proxy.TEXTURE: FenceProxy.TEXTURE,
    Proxy.SURFACE: FenceProxy.SURFACE,
    Proxy.CONSTANT: FenceProxy.CONSTANT,
}
"""The proxy fence between generic accesses and those of another proxy."""

Crossing = Sequence[Pair]
"""Where a path can get from one proxy to another: a fence and itself, or a release and the acquire that it reaches."""

Way = tuple[Crossing, ...]
"""Crossings that a path must have, in this order."""


def executing_cta(locations: Locations, access: int) -> int:
    """The thread block of an access: an asynchronous one to shared memory is executed where the memory is."""
    event = locations.trace.event(access)
    owner = locations.shared_cta(access) if event.operation is not None else None
    return place(locations.trace.structure, event).cta if owner is None else owner


def fences_of(trace: Trace) -> list[int]:
    """All proxy fences of an execution."""
    return [e for e in trace.executed if _proxy(trace.event(e)) is not None]


def _proxy(event: Event) -> FenceProxy | None:
    if event.kind is not Kind.FENCE:
        return None
    if isinstance(event.instruction, TensormapCopy):
        return FenceProxy.TENSORMAP_GENERIC
    return event.instruction.proxy if isinstance(event.instruction, ProxyFence) else None


def ways(locations: Locations, connected: Callable[[], Pairs], x: int, y: int) -> Sequence[Way]:
    """The crossings with which a path of base causality from one access to an overlapping one preserves it.

    One of the ways is enough; none at all where nothing does. () is a path without any crossing. `connected`: how a
    one-directional fence reaches its partner.
    """
    trace = locations.trace
    first, second = trace.event(x), trace.event(y)
    same = locations.same_address(x, y)
    ctas = (executing_cta(locations, x), executing_cta(locations, y))
    if same and first.proxy is second.proxy and (first.proxy is Proxy.GENERIC or ctas[0] == ctas[1]):
        return [()]  # rules 1 and 2
    alias = () if same else (_fences(trace, lambda f: _proxy(f) is FenceProxy.ALIAS),)  # rule 3
    return [(*a, *alias, *b) for a in _leaving(locations, x) for b in _entering(locations, connected, x, y)]


def _fences(trace: Trace, fits: Callable[[Event], bool]) -> Crossing:
    return [(f, f) for f in fences_of(trace) if fits(trace.event(f))]


def _leaving(locations: Locations, x: int) -> Sequence[Way]:
    """From the proxy of an access to the generic one."""
    proxy = locations.trace.event(x).proxy
    if proxy in OWN_FENCES:
        return [(_own(locations, x),)]
    # Rule 5: an asynchronous access is left through its completion, which brings a proxy fence with it.
    return [()] if proxy in (Proxy.GENERIC, Proxy.ASYNC, Proxy.TENSORMAP) else []


def _entering(locations: Locations, connected: Callable[[], Pairs], x: int, y: int) -> Sequence[Way]:
    """From the generic proxy to that of an access."""
    trace = locations.trace
    event = trace.event(y)
    if event.proxy is Proxy.GENERIC:
        return [()]
    if event.proxy in OWN_FENCES:
        return [(_own(locations, y),)]
    if event.proxy is Proxy.ASYNC:  # rules 4 and 6
        two_sided = _fences(trace, lambda f: _is_async_fence(locations, f, x, y))
        return [(two_sided,), (_pairs(locations, connected, FenceProxy.ASYNC_GENERIC, y),)]
    if event.proxy is Proxy.TENSORMAP:  # rule 7
        return [(_pairs(locations, connected, FenceProxy.TENSORMAP_GENERIC, y),)]
    return []


def _own(locations: Locations, access: int) -> Crossing:
    """The fences of a texture, surface or constant access, in its thread block."""
    trace, structure = locations.trace, locations.trace.structure
    kind, cta = OWN_FENCES[trace.event(access).proxy], place(structure, trace.event(access)).cta
    return _fences(trace, lambda f: _proxy(f) is kind and place(structure, f).cta == cta)


def _is_async_fence(locations: Locations, fence: Event, x: int, y: int) -> bool:
    """A fence.proxy.async of both directions, in the thread block of either access, for memory like theirs."""
    structure = locations.trace.structure
    if _proxy(fence) is not FenceProxy.ASYNC:
        return False
    assert isinstance(fence.instruction, ProxyFence)
    here = place(structure, fence).cta
    if here not in (executing_cta(locations, x), executing_cta(locations, y)):
        return False
    return _is_for(structure, fence, fence.instruction.space, locations.shared_cta(y))


def _is_for(structure: Structure, fence: Event, space: Space | None, owner: int | None) -> bool:
    """Whether a fence limited to a space is for the shared memory of a CTA, or, without one, for other memory."""
    if space is None:
        return True
    if owner is None:
        return space is Space.GLOBAL
    mine = place(structure, fence)
    if space is Space.SHARED_CTA:
        return owner == mine.cta
    mates = {t.place.cta for t in structure.test.threads if t.place.cluster == mine.cluster}
    return space is Space.SHARED_CLUSTER and owner in mates


def _pairs(locations: Locations, connected: Callable[[], Pairs], kind: FenceProxy, y: int) -> Crossing:
    """One-directional fences: a release, and an acquire that it reaches, whose scopes include each other."""
    trace, structure = locations.trace, locations.trace.structure
    fences = [f for f in fences_of(trace) if _proxy(trace.event(f)) is kind and is_for_access(locations, f, y)]
    return [
        (r, a)
        for r in fences
        for a in fences
        if trace.event(r).sem is Sem.RELEASE
        and trace.event(a).sem is Sem.ACQUIRE
        and (r, a) in connected()
        and scope_includes(structure, trace.event(r), trace.event(a))
        and scope_includes(structure, trace.event(a), trace.event(r))
    ]


def is_for_access(locations: Locations, fence: int, y: int) -> bool:
    """Whether a one-directional fence is for the memory of an access: its space, or the bytes that it names."""
    trace = locations.trace
    event = trace.event(fence)
    if _proxy(event) is FenceProxy.ASYNC_GENERIC:
        # .sync_restrict: the release for shared::cta, the acquire for shared::cluster
        space = Space.SHARED_CTA if event.sem is Sem.RELEASE else Space.SHARED_CLUSTER
        return _is_for(trace.structure, event, space, locations.shared_cta(y))
    if event.address is None:
        return True
    start, access = trace.addresses[fence], trace.addresses[y]
    return start <= access and access + trace.event(y).size <= start + event.size


def descriptor_acquires(locations: Locations, y: int) -> list[int]:
    """The acquire fences of the tensormap proxy for the bytes of an access."""
    trace = locations.trace
    return [
        f
        for f in fences_of(trace)
        if _proxy(trace.event(f)) is FenceProxy.TENSORMAP_GENERIC
        and trace.event(f).sem is Sem.ACQUIRE
        and is_for_access(locations, f, y)
    ]
