"""Barrier instructions as events, and the rendezvous that they take part in (ISA 9.7.15.1 to .3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from memcheck.events import arithmetic
from memcheck.events.draft import BarrierUse, Draft, Step, fence_tags
from memcheck.events.structure import Arrival, BlockingPoint, Kind, Rendezvous, RendezvousKind
from memcheck.events.value import Value, Values
from memcheck.language.test import Thread
from memcheck.ptx.instructions import Barrier, BarrierKind, ClusterBarrier, WarpBarrier
from memcheck.ptx.qualifiers import Scope

BARRIER_IDS = 16
WARP = 32
_PENDING = "%barrier.cluster"
"""A register that no program can name: 1 between a thread's barrier.cluster.arrive and its wait."""


def _wait(step: Step, event: int) -> None:
    """The instruction waits: what comes after it needs its generation."""
    step.draft.blocking.append(
        BlockingPoint(step.thread.index, step.guard, len(step.draft.events), None, barrier=event)
    )


def barrier(step: Step) -> None:
    """`bar`, `barrier{.cta}` and the peers' dialect."""
    instruction = step.instruction
    assert isinstance(instruction, Barrier)
    values = step.values
    waits = instruction.kind is not BarrierKind.ARRIVE
    event = step.event(Kind.BARRIER, fence_tags(None, None, ("B", "WAIT") if waits else ("B",)))
    if instruction.peer:
        assert instruction.instance is not None
        instance = step.operand(instruction.instance, 32)
        # no id is an id of its own, apart from every number that one can write
        number = values.const(0xFFFFFFFF, 32) if instruction.id is None else step.operand(instruction.id, 32)
        name = values.concat(instance, number)
    else:
        assert instruction.id is not None
        name = step.operand(instruction.id, 32)
        low = values.binary("ult", name, values.const(BARRIER_IDS, 32))
        step.misuse(values.negate(low), "barrier number above 15", event, "barriers have numbers 0 to 15", error=True)
    count = None if instruction.count is None else step.operand(instruction.count, 32)
    if count is not None and not instruction.peer:
        rest = values.binary("urem", count, values.const(WARP, 32))
        good = values.binary("eq", rest, values.const(0, 32))
        if instruction.kind is BarrierKind.ARRIVE:
            good = values.both(good, values.negate(values.binary("eq", count, values.const(0, 32))))
        message = f"a barrier's count is a multiple of {WARP} threads, and not 0 for an arrive"
        step.misuse(
            values.negate(good), "barrier count that is no multiple of the warp size", event, message, error=True
        )
    use = BarrierUse(event, step.thread, instruction, name, count)
    step.draft.barriers.append(use)
    if instruction.kind is BarrierKind.RED:
        assert instruction.source is not None
        source = step.operand(instruction.source, 1)
        use.source = values.negate(source) if instruction.negated else source
        use.result = step.draft.placeholder(32 if instruction.reduction == "popc" else 1)
        step.write(instruction.destination, use.result, step.taint(instruction.source))
    if waits:
        _wait(step, event)


def cluster_barrier(step: Step) -> None:
    """`barrier.cluster.arrive|wait`, with the misuse of two arrives or a wait without one."""
    instruction = step.instruction
    assert isinstance(instruction, ClusterBarrier)
    values, registers = step.values, step.state.registers
    flags = ("B",) if instruction.arrive else ("B", "WAIT")
    tags = fence_tags(instruction.sem, Scope.CLUSTER, flags)
    event = step.event(Kind.BARRIER, tags, sem=instruction.sem, scope=Scope.CLUSTER)
    pending = registers.get(_PENDING, values.false)
    if instruction.arrive:
        step.misuse(pending, "barrier.cluster.arrive twice without a wait", event)
    else:
        step.misuse(values.negate(pending), "barrier.cluster.wait without an arrive", event)
    now = values.true if instruction.arrive else values.false
    registers[_PENDING] = values.ite(step.predicate, now, pending)
    number = values.const(step.thread.place.cluster, 32)
    step.draft.barriers.append(BarrierUse(event, step.thread, instruction, number, None))
    if not instruction.arrive:
        _wait(step, event)


def warp_barrier(step: Step) -> None:
    """`bar.warp.sync`."""
    instruction = step.instruction
    assert isinstance(instruction, WarpBarrier)
    values = step.values
    event = step.event(Kind.BARRIER, fence_tags(None, None, ("B", "WAIT")))
    mask = step.operand(instruction.mask, 32)
    own = values.extract(mask, step.thread.place.lane, 1)
    step.misuse(values.negate(own), "bar.warp.sync by a lane outside its mask", event)
    step.draft.barriers.append(BarrierUse(event, step.thread, instruction, mask, None))
    _wait(step, event)


def leaves(value: Value) -> frozenset[int] | None:
    """The constants that a value chooses between, None where it computes."""
    if value.is_const:
        return frozenset((value.payload,))
    if value.op == "ite":
        a, b = leaves(value.args[1]), leaves(value.args[2])
        return None if a is None or b is None else a | b
    return None


def _equals(values: Values, value: Value, number: int) -> Value:
    return values.binary("eq", value, values.const(number, value.width))


def _cta_arrivals(draft: Draft, use: BarrierUse) -> Iterable[tuple[int, Value, int | None]]:
    """Each barrier number that the instruction may name, with its condition and its count as written."""
    assert isinstance(use.instruction, Barrier)
    numbers = leaves(use.id)
    if numbers is None:
        numbers = _others(draft, use) if use.instruction.peer else frozenset(range(BARRIER_IDS))
    counts: frozenset[int] | tuple[None] = (None,)
    if use.count is not None:
        found = leaves(use.count)
        if found is None:
            raise arithmetic.unsupported(use.instruction, "a barrier count that is computed from a read")
        counts = found
    for number in sorted(numbers):
        for count in counts:
            member = _equals(draft.values, use.id, number)
            if count is not None and use.count is not None:
                member = draft.values.both(member, _equals(draft.values, use.count, count))
            if member is not draft.values.false:
                yield number, member, count


def _group(threads: Iterable[Thread]) -> tuple[tuple[int, ...], ...]:
    """Threads by warp."""
    warps: dict[int, list[int]] = defaultdict(list)
    for thread in threads:
        warps[thread.place.warp].append(thread.index)
    return tuple(tuple(warp) for _, warp in sorted(warps.items()))


def rendezvous(draft: Draft) -> list[Rendezvous]:
    """All barrier objects that the test's barrier instructions may name."""
    found: dict[tuple[RendezvousKind, str], list[Arrival]] = defaultdict(list)
    units: dict[tuple[RendezvousKind, str], tuple[tuple[int, ...], ...]] = {}
    everyone = draft.test.threads
    values = draft.values
    for use in draft.barriers:
        place, instruction = use.thread.place, use.instruction
        if isinstance(instruction, ClusterBarrier):
            key = (RendezvousKind.CLUSTER, f"cluster barrier of cluster {place.cluster}")
            units[key] = tuple((t.index,) for t in everyone if t.place.cluster == place.cluster)
            found[key].append(Arrival(use.event, values.true, instruction.arrive, not instruction.arrive, None))
        elif isinstance(instruction, WarpBarrier):
            masks = leaves(use.id)
            if masks is None:
                raise arithmetic.unsupported(instruction, "a mask that is computed from a read")
            for mask in sorted(masks):
                key = (RendezvousKind.WARP, f"warp {place.warp} of cta {place.cta}, mask {mask:#x}")
                lanes = [t for t in everyone if (t.place.cta, t.place.warp) == (place.cta, place.warp)]
                units[key] = tuple((t.index,) for t in lanes if mask >> t.place.lane & 1)
                member = _equals(values, use.id, mask)
                found[key].append(Arrival(use.event, member, True, True, len(units[key])))
        elif isinstance(instruction, Barrier):
            mates = [t for t in everyone if t.place.cta == place.cta]
            waits = instruction.kind is not BarrierKind.ARRIVE
            reduces = instruction.kind is BarrierKind.RED
            for number, member, count in _cta_arrivals(draft, use):
                if instruction.peer:
                    instance, id = number >> 32, number & 0xFFFFFFFF
                    name = f"barrier {instance}" + ("" if id == 0xFFFFFFFF else f", {id}")
                    key = (RendezvousKind.PEER, f"{name} of cta {place.cta}")
                    units[key] = tuple((t.index,) for t in mates)
                    ways = [(values.true, count)] if count is not None else _users(draft, use, number)
                    for condition, wanted in ways:
                        both = values.both(member, condition)
                        if both is not values.false:
                            found[key].append(Arrival(use.event, both, True, waits, wanted, reduces, use.source))
                else:
                    key = (RendezvousKind.CTA, f"barrier {number} of cta {place.cta}")
                    units[key] = _group(mates)
                    needed = None if count is None else count // WARP
                    found[key].append(Arrival(use.event, member, True, waits, needed, reduces, use.source))
    return [Rendezvous(key[0], key[1], tuple(arrivals), units[key]) for key, arrivals in found.items()]


def _peers(draft: Draft, use: BarrierUse) -> list[BarrierUse]:
    """The other threads' uses of the peers' barriers in this CTA."""
    cta, thread = use.thread.place.cta, use.thread.index
    return [
        other
        for other in draft.barriers
        if isinstance(other.instruction, Barrier)
        and other.instruction.peer
        and other.thread.place.cta == cta
        and other.thread.index != thread
    ]


def _others(draft: Draft, use: BarrierUse) -> frozenset[int]:
    """Of a name that depends on a read, the values under which the thread can meet another."""
    found: frozenset[int] = frozenset()
    for other in _peers(draft, use):
        names = leaves(other.id)
        if names is None:
            raise arithmetic.unsupported(use.instruction, "barriers of two threads whose ids depend on reads")
        found |= names
    return found


def _users(draft: Draft, use: BarrierUse, number: int) -> list[tuple[Value, int]]:
    """How many threads of the CTA have a barrier of this instance and id in their code, by condition.

    An id that depends on a read makes it a matter of the execution.
    """
    values = draft.values
    naming: dict[int, Value] = {}
    for other in _peers(draft, use):
        named = values.either(naming.get(other.thread.index, values.false), _equals(values, other.id, number))
        naming[other.thread.index] = named
    ways = [(values.true, 1)]
    for named in naming.values():
        ways = [
            (values.both(condition, choice), count + extra)
            for condition, count in ways
            for choice, extra in ((named, 1), (values.negate(named), 0))
            if choice is not values.false
        ]
    return ways


def reductions(draft: Draft) -> dict[Value, Value]:
    """The results of bar.red, where the generations are plain from the text: placeholder to value.

    All operations on that barrier are then for all warps of the CTA and under no condition, so that the k-th of each
    thread are one generation. One that mixes bar.red with others is outside the model, whatever its result.
    """
    reducing = [use for use in draft.barriers if use.result is not None]
    results: dict[Value, Value] = {}
    values = draft.values
    for use in reducing:
        assert isinstance(use.instruction, Barrier)
        assert use.result is not None
        mates = [t.index for t in draft.test.threads if t.place.cta == use.thread.place.cta]
        rows: dict[int, list[BarrierUse]] = {index: [] for index in mates}
        for other in draft.barriers:
            if isinstance(other.instruction, Barrier) and other.thread.index in rows and not other.instruction.peer:
                same = values.binary("eq", other.id, use.id)
                plain = draft.events[other.event].guard is values.true and (
                    other.count is None or _needs_all(draft, other, mates)
                )
                if same is values.true and plain:
                    rows[other.thread.index].append(other)
                elif same is not values.false:
                    raise arithmetic.unsupported(use.instruction, "bar.red on a barrier also used under a condition")
        k = rows[use.thread.index].index(use)
        total: Value | None = None
        for row in rows.values():
            if len(row) > k and row[k].source is not None:
                source = row[k].source
                assert source is not None
                if use.instruction.reduction == "popc":
                    source = values.zext(source, 32)
                    total = source if total is None else values.binary("add", total, source)
                else:
                    word = "or" if use.instruction.reduction == "or" else "and"
                    total = source if total is None else values.binary(word, total, source)
        assert total is not None
        results[use.result] = total
    return results


def _needs_all(draft: Draft, use: BarrierUse, threads: list[int]) -> bool:
    assert use.count is not None
    units = {draft.test.threads[index].place.warp for index in threads}
    return use.count.is_const and use.count.payload == WARP * len(units)
