"""Barriers: the generations that arrivals make up, and what they synchronize (8.9.4.2, 8.9.4.3; ISA 9.7.15.1 to .3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from memcheck.events.structure import Arrival, Rendezvous, RendezvousKind
from memcheck.ptx.instructions import ClusterBarrier
from memcheck.ptx.qualifiers import Sem
from memcheck.reference.pairs import Pair, Pairs
from memcheck.reference.patterns import RELEASING_FENCES, Synchronization, restricted_fences
from memcheck.reference.strength import is_memory_fence, is_one_directional, scope_includes
from memcheck.reference.traces import Trace


@dataclass(frozen=True, slots=True)
class Generations:
    """Of one barrier object: `of[event]`, missing where an arrival is left over.

    `passing`: waits of no generation that come after generation 0 (the peers' surplus threads).
    `excused`: (thread, generation) where a generation went without a thread because it had ended.
    `mixed`: arrivals with different counts, or red with sync or arrive, met in one generation or wait for one.
    """

    rendezvous: Rendezvous
    of: Mapping[int, int]
    passing: frozenset[int] = frozenset()
    excused: frozenset[tuple[int, int]] = frozenset()
    mixed: frozenset[str] = field(default=frozenset())


Queues = Mapping[int, Sequence[Arrival]]
"""Of each thread its executed arrivals at one barrier, in program order."""


def _queues(trace: Trace, rendezvous: Rendezvous) -> dict[int, list[Arrival]]:
    queues: dict[int, list[Arrival]] = {t: [] for t in range(len(trace.structure.test.threads))}
    for arrival in sorted(rendezvous.arrivals, key=lambda a: a.event):
        if arrival.event in trace.executed and trace.value(arrival.member):
            queues[trace.event(arrival.event).thread].append(arrival)
    return queues


def _stops(trace: Trace, arrival: Arrival) -> bool:
    return any(point.barrier == arrival.event for point in trace.stopped.values())


def generations(trace: Trace) -> Iterator[tuple[Generations, ...]]:
    """Every way in which the barriers of a trace can have come about, one `Generations` a barrier."""
    each = []
    met: set[int] = set()
    for rendezvous in trace.structure.rendezvous:
        queues = _queues(trace, rendezvous)
        met.update(a.event for q in queues.values() for a in q)
        if rendezvous.kind is RendezvousKind.CLUSTER:
            ways = _cluster(trace, rendezvous, queues)
        elif rendezvous.kind is RendezvousKind.PEER:
            ways = _peer(trace, rendezvous, queues)
        else:
            ways = _counted(trace, rendezvous, queues, Generations(rendezvous, {}), 0)
        each.append(list(ways))
    if any(point.barrier not in met for point in trace.stopped.values() if point.barrier is not None):
        return iter(())  # a wait that meets nobody's barrier has nothing to wait for
    return product(*each)


def _mixture(rendezvous: Rendezvous, arrivals: Sequence[Arrival]) -> frozenset[str]:
    """Without a count it is that of the whole CTA (ISA 9.7.15.1)."""
    found = set()
    if len({len(rendezvous.units) if a.needed is None else a.needed for a in arrivals}) > 1:
        found.add("barrier-mismatch")
    if len({a.reduces for a in arrivals}) > 1:
        found.add("barrier-mismatch")
    return frozenset(found)


def _counted(
    trace: Trace, rendezvous: Rendezvous, queues: Queues, so_far: Generations, number: int
) -> Iterator[Generations]:
    """Generation `number` and those after it. A unit counts when all its threads that have not ended have arrived."""
    waiting = [u for u in rendezvous.units if any(queues[t] for t in u)]
    ready = [u for u in waiting if all(queues[t] or t in trace.ended for t in u)]
    fillable = False
    for size in range(1, len(ready) + 1):
        for units in combinations(ready, size):
            members = [(t, queues[t][0]) for u in units for t in u if queues[t]]
            if not _full(trace, rendezvous, units, [a for _, a in members], queues):
                continue
            if not _mixture(rendezvous, [a for _, a in members]):
                fillable = True
            if any(_stops(trace, a) for _, a in members):
                continue
            rest = {t: (q[1:] if any(t == m for m, _ in members) else q) for t, q in queues.items()}
            absent = {t for u in rendezvous.units for t in u} - {t for t, _ in members}
            everyone = any(a.needed is None for _, a in members)
            yield from _counted(
                trace,
                rendezvous,
                rest,
                Generations(
                    rendezvous,
                    {**so_far.of, **{a.event: number for _, a in members}},
                    excused=so_far.excused | {(t, number) for t in absent if everyone or any(t in u for u in units)},
                    mixed=so_far.mixed | _mixture(rendezvous, [a for _, a in members]),
                ),
                number + 1,
            )
    left = [a for q in queues.values() for a in q]
    if fillable or any(a.waits and not _stops(trace, a) for a in left):
        return
    first = [q[0] for q in queues.values() if q]
    yield Generations(rendezvous, so_far.of, excused=so_far.excused, mixed=so_far.mixed | _mixture(rendezvous, first))


def _full(
    trace: Trace,
    rendezvous: Rendezvous,
    units: Sequence[tuple[int, ...]],
    members: Sequence[Arrival],
    queues: Queues,
) -> bool:
    """Whether these units are as many as their instructions say; without a count, all that have not ended.

    Where they say different things, one that is content is enough: the mixture is found.
    """
    others = [t for u in rendezvous.units if u not in units for t in u]
    all_here = all(t in trace.ended and not queues[t] for t in others)
    content = [all_here if a.needed is None else a.needed == len(units) for a in members]
    return any(content) if _mixture(rendezvous, members) else all(content)


def _peer(trace: Trace, rendezvous: Rendezvous, queues: Queues) -> Iterator[Generations]:
    """The peers' dialect: one generation of exactly as many threads as needed; other waits pass after it."""
    threads = [t for t, q in queues.items() if q]
    left = [a for q in queues.values() for a in q]
    full = {
        frozenset(a.event for a in chosen)
        for members in product(*(queues[t] for t in threads))
        for size in range(1, len(threads) + 1)
        for chosen in combinations(members, size)
        if all(a.needed == size for a in chosen)
    }
    if any(_stops(trace, a) == bool(full) for a in left if a.waits):
        return
    for members in full:
        passing = frozenset(a.event for a in left if a.waits) - members
        yield Generations(rendezvous, dict.fromkeys(members, 0), passing)
    if not full:
        yield Generations(rendezvous, {}, mixed=_mixture(rendezvous, [q[0] for q in queues.values() if q]))


def _cluster(trace: Trace, rendezvous: Rendezvous, queues: Queues) -> Iterator[Generations]:
    """barrier.cluster: a thread's n-th arrive is of generation n, a wait belongs to its thread's latest arrive."""
    arrives = {t: sum(a.counts for a in q) for t, q in queues.items()}
    threads = [t for u in rendezvous.units for t in u]
    of: dict[int, int] = {}
    excused: set[tuple[int, int]] = set()
    for queue in queues.values():
        number = -1
        for arrival in queue:
            number += arrival.counts
            if not arrival.waits:
                of[arrival.event] = number
                continue
            over = all(arrives[t] > number or t in trace.ended for t in threads)
            if over == _stops(trace, arrival):
                return
            if over:
                of[arrival.event] = number
                excused.update((t, number) for t in threads if arrives[t] <= number)
    yield Generations(rendezvous, of, excused=frozenset(excused))


def waits_for(generation: Generations) -> frozenset[Pair]:
    """From each counting arrival of a generation to every other operation that waits for it."""
    kinds = {a.event: a for a in generation.rendezvous.arrivals}
    counting = [(e, g) for e, g in generation.of.items() if kinds[e].counts]
    return frozenset(
        [(a, b) for a, g in counting for b, h in generation.of.items() if g == h and a != b and kinds[b].waits]
        + [(a, b) for a, _ in counting for b in generation.passing]
    )


def barrier_synchronization(trace: Trace, chosen: Sequence[Generations], po: Pairs) -> frozenset[Synchronization]:
    """8.9.4, rules 2 and 3, and bar.warp.sync likewise.

    barrier.cluster.arrive.relaxed releases nothing by itself: it acts as the strong write of a release pattern whose
    fence and whose waiter include each other in their scopes.
    """
    found = set()
    for generation in chosen:
        for a, b in waits_for(generation):
            instruction = trace.event(a).instruction
            if not (isinstance(instruction, ClusterBarrier) and instruction.sem is Sem.RELAXED):
                found.add(Synchronization(a, b))
                continue
            wait = trace.event(b)
            for fence in (trace.event(f) for f, arrive in po if arrive == a):
                if not (is_memory_fence(fence) and fence.sem in RELEASING_FENCES):
                    continue
                # The wait's own scope is the cluster, whatever is recorded on the event.
                same_cluster = (
                    trace.structure.test.threads[fence.thread].place.cluster
                    == trace.structure.test.threads[wait.thread].place.cluster
                )
                if same_cluster and scope_includes(trace.structure, fence, wait):
                    found.add(Synchronization(fence.index, b, restricted_fences(trace, fence.index)))
    return frozenset(found)


def proxy_barriers(trace: Trace, chosen: Sequence[Generations], po: Pairs) -> frozenset[Synchronization]:
    """barrier.cluster.arrive.relaxed behind a one-directional proxy fence: for what this fence lets through alone."""
    return frozenset(
        Synchronization(fence, wait)
        for generation in chosen
        for arrive, wait in waits_for(generation)
        if isinstance(trace.event(arrive).instruction, ClusterBarrier)
        for fence, last in po
        if last == arrive
        and is_one_directional(trace.event(fence))
        and trace.event(fence).sem is Sem.RELEASE
        and scope_includes(trace.structure, trace.event(fence), trace.event(wait))
    )


def before_generation(trace: Trace, generation: Generations) -> frozenset[Pair]:
    """Pairs of operations on one barrier, the first of an earlier generation.

    What a CTA barrier has left over would be of a later generation than all that came about.
    """
    pairs = {(a, b) for a, g in generation.of.items() for b, h in generation.of.items() if g < h}
    if generation.rendezvous.kind is RendezvousKind.CTA:
        arrived = [a.event for queue in _queues(trace, generation.rendezvous).values() for a in queue]
        pairs |= {(a, b) for a in generation.of for b in arrived if b not in generation.of}
    return frozenset(pairs)


def rearrivals(trace: Trace, generation: Generations, po: Pairs, base: Pairs) -> frozenset[Pair]:
    """bar.arrive and its thread's next operation on that barrier, where nothing says that its generation is over."""
    if generation.rendezvous.kind is not RendezvousKind.CTA:
        return frozenset()
    return frozenset(
        (first.event, following.event)
        for queue in _queues(trace, generation.rendezvous).values()
        for first, following in zip(queue, queue[1:])
        if not first.waits and not _is_over(generation, first.event, following.event, po, base)
    )


def mixtures(trace: Trace, generation: Generations, po: Pairs, base: Pairs) -> frozenset[Pair]:
    """Arrivals of two threads with other counts or kinds, where neither is known to come after the other's generation.

    They may both be pending, though the first may in the end be in no generation, or in another.
    """
    if generation.rendezvous.kind is not RendezvousKind.CTA:
        return frozenset()
    queues = _queues(trace, generation.rendezvous)
    return frozenset(
        (a.event, b.event)
        for first, arrivals in queues.items()
        for second, others in queues.items()
        if first < second
        for a in arrivals
        for b in others
        if _mixture(generation.rendezvous, (a, b))
        and not _is_over(generation, a.event, b.event, po, base)
        and not _is_over(generation, b.event, a.event, po, base)
    )


def _is_over(generation: Generations, arrival: int, later: int, po: Pairs, base: Pairs) -> bool:
    """Whether the generation of an arrival is known to be over when a later operation arrives.

    It is where a wait of that generation precedes, in base causality, an operation before the later arrival, or that
    arrival in its own thread; what the later arrival itself waits for comes too late.
    """
    kinds = {a.event: a for a in generation.rendezvous.arrivals}
    number = generation.of.get(arrival)
    waits = [w for w, g in generation.of.items() if g == number and kinds[w].waits]
    return any((w, later) in po or any((w, before) in base for before, b in po if b == later) for w in waits)
