"""Warp collectives: values across lanes, matched by occurrence; no memory ordering (ISA 9.7.10.6, 9.7.15.10 ff)."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from memcheck.errors import UnsupportedError
from memcheck.events import arithmetic
from memcheck.events.draft import CollectiveUse, Draft, Step
from memcheck.events.structure import Misuse
from memcheck.events.value import Value, Values
from memcheck.ptx.instructions import Collective

_OUTSIDE = "undefined-behaviour: collective off its mask"


def collective(step: Step) -> None:
    """Records a collective; its results are placeholders until all lanes are unfolded."""
    instruction = step.instruction
    assert isinstance(instruction, Collective)
    op, draft = instruction.op, step.draft
    width = 1 if op in ("vote.all", "vote.any", "vote.uni", "vote.ballot") else instruction.type.bits
    sources = []
    for i, source in enumerate(instruction.sources):
        own = 32 if op.startswith("shfl") and i > 0 else width
        sources.append(step.operand(source, own, instruction.type.signed))
    if instruction.negated and sources:
        sources[0] = step.values.negate(sources[0])
    mask = step.operand(instruction.mask, 32)
    results: list[Value | None] = []
    for i, destination in enumerate(instruction.destinations):
        if destination is None:
            results.append(None)
            continue
        wide = 1 if i == 1 or op in ("vote.all", "vote.any", "vote.uni") else 32
        results.append(draft.placeholder(wide))
    draft.collectives.append(
        CollectiveUse(step.thread, instruction, step.guard, mask, tuple(sources), tuple(results), len(draft.events))
    )
    for destination, result in zip(instruction.destinations, results, strict=True):
        if result is not None:
            step.write(destination, result, step.taint(*instruction.sources))


class _Lane(NamedTuple):
    number: int
    use: CollectiveUse


def resolve(draft: Draft) -> dict[Value, Value]:
    """The placeholders of all collectives as values; elect adds one free choice an occurrence to the draft."""
    table: dict[tuple[object, ...], dict[int, list[CollectiveUse]]] = defaultdict(lambda: defaultdict(list))
    for use in draft.collectives:
        instruction = use.instruction
        assert isinstance(instruction, Collective)
        if not use.mask.is_const:
            raise arithmetic.unsupported(instruction, "a mask that depends on a read")
        place = use.thread.place
        mask = 0xFFFFFFFF if instruction.op == "activemask" else use.mask.payload
        table[place.cta, place.warp, mask, instruction.op, instruction.type, instruction.negated][place.lane].append(
            use
        )
    results: dict[Value, Value] = {}
    for key, lanes in table.items():
        mask = int(str(key[2]))
        assert isinstance(mask, int)
        for lane, uses in lanes.items():
            if not mask >> lane & 1:
                for use in uses:
                    draft.misuses.append(Misuse(use.guard, _OUTSIDE, None))
        for k in range(max(map(len, lanes.values()))):
            members = [_Lane(lane, uses[k]) for lane, uses in sorted(lanes.items()) if len(uses) > k]
            _check(draft, members)
            results.update(_results(draft, members, mask))
    return results


def _check(draft: Draft, members: list[_Lane]) -> None:
    values = draft.values
    first = members[0].use
    within = values.true
    for bound in draft.bounds:
        if any(lane.use.thread.index == bound.thread for lane in members):
            # where a lane's loop is cut, nothing is known of what it does later
            within = values.both(within, values.negate(bound.reached))
    for lane in members[1:]:
        differ = values.both(values.binary("xor", lane.use.guard, first.guard), within)
        if differ is not values.false:
            draft.misuses.append(Misuse(differ, _OUTSIDE, None))
    if len(members) > 1:
        for lane in members:
            for point in draft.blocking:
                if point.thread == lane.use.thread.index and point.before <= lane.use.position:
                    message = "a collective after a place where a lane can wait is not supported yet"
                    raise UnsupportedError(f"{message}: {lane.use.instruction.text}", lane.use.instruction.span)


def _results(draft: Draft, members: list[_Lane], mask: int) -> dict[Value, Value]:
    values = draft.values
    results: dict[Value, Value] = {}
    leader: Value | None = None
    for lane in members:
        instruction = lane.use.instruction
        assert isinstance(instruction, Collective)
        if instruction.op == "elect":
            if leader is None:
                leader = draft.choice(tuple(m.number for m in members), 32)
            pair: tuple[Value, ...] = (leader, values.binary("eq", leader, values.const(lane.number, 32)))
        elif instruction.op.startswith("shfl"):
            pair = _shuffle(draft, lane, members)
        else:
            pair = _reduce(values, instruction, lane, members, mask)
        for placeholder, value in zip(lane.use.results, pair, strict=False):
            if placeholder is not None:
                results[placeholder] = value
    return results


def _shuffle(draft: Draft, lane: _Lane, members: list[_Lane]) -> tuple[Value, Value]:
    """shfl: the source lane by mode, `b` and the clamp and segment mask in `c` (ISA 9.7.10.6)."""
    values, instruction = draft.values, lane.use.instruction
    assert isinstance(instruction, Collective)
    own, b, c = lane.use.sources
    if not b.is_const or not c.is_const:
        raise arithmetic.unsupported(instruction, "a shfl whose lane depends on a read")
    number, bound, clamp, segment = lane.number, b.payload & 31, c.payload & 31, c.payload >> 8 & 31
    highest = (number & segment) | (clamp & ~segment & 31)
    lowest = number & segment
    mode = instruction.op.partition(".")[2]
    if mode == "up":
        source, inside = number - bound, number - bound >= highest
    elif mode == "down":
        source, inside = number + bound, number + bound <= highest
    elif mode == "bfly":
        source, inside = number ^ bound, number ^ bound <= highest
    else:
        source, inside = lowest | (bound & ~segment & 31), (lowest | (bound & ~segment & 31)) <= highest
    if not inside:
        return own, values.false
    for other in members:
        if other.number == source:
            return other.use.sources[0], values.true
    draft.misuses.append(Misuse(lane.use.guard, "undefined-behaviour: shfl from an inactive lane", None))
    return values.const(0, own.width), values.true


def _reduce(values: Values, instruction: Collective, lane: _Lane, members: list[_Lane], mask: int) -> tuple[Value, ...]:
    """vote, match, redux, activemask over the active lanes."""
    op = instruction.op
    family, _, word = op.partition(".")
    if op == "activemask":
        return (values.const(sum(1 << m.number for m in members), 32),)
    sources = [m.use.sources[0] for m in members]
    if family == "vote":
        every, some = values.true, values.false
        for source in sources:
            every, some = values.both(every, source), values.either(some, source)
        if word == "all":
            return (every,)
        if word == "any":
            return (some,)
        if word == "uni":
            return (values.either(every, values.negate(some)),)
        return (_ballot(values, members, sources),)
    if family == "match":
        same = [values.binary("eq", source, lane.use.sources[0]) for source in sources]
        if word == "any":
            return (_ballot(values, members, same),)
        every = values.true
        for truth in same:
            every = values.both(every, truth)
        return values.ite(every, values.const(mask & 0xFFFFFFFF, 32), values.const(0, 32)), every
    total = sources[0]
    for source in sources[1:]:
        if word in ("min", "max"):
            total = arithmetic.extremum(values, total, source, instruction.type, instruction, word == "max")
        else:
            total = values.binary(word, total, source)
    return (total,)


def _ballot(values: Values, members: list[_Lane], truths: list[Value]) -> Value:
    result = values.const(0, 32)
    for member, truth in zip(members, truths, strict=True):
        bit = values.binary("shl", values.zext(truth, 32), values.const(member.number, 32))
        result = values.binary("or", result, bit)
    return result
