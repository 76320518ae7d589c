"""Weak copies in pieces: as many accesses as anyone could tell apart (ISA 9.7.10.28).

A copy is cut wherever another access, an observed element or another copy begins or ends, in its source and in its
destination, and a cut of one is a cut of the other. A first pass over the test collects what copies move (`Run`), then
`survey` finds the cuts, and in the last pass `cut` gives the pieces.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memcheck.errors import UnsupportedError
from memcheck.events import arithmetic, operations
from memcheck.events.addresses import MISALIGNED, check_address, generic_address, more_alignment, placed, tell
from memcheck.events.alternatives import alternatives
from memcheck.events.draft import Building, Step
from memcheck.events.memory import Memory, Region
from memcheck.events.observed import location, looked_at
from memcheck.events.plan import NOWHERE, Plan, Ranges, Run
from memcheck.events.structure import INITIAL, Event, Kind, Structure
from memcheck.events.value import Value
from memcheck.events.windows import SHARED_SPACES
from memcheck.language.test import MemoryTerm, VariableKind
from memcheck.ptx.operands import Address
from memcheck.ptx.qualifiers import Proxy, Sem, Space

# --- while a thread is walked


def static_range(
    step: Step, operand: Address, size: int, space: Space, *, align: int, writes: bool, when: Value | None = None
) -> int:
    """The generic address of `size` bytes that an asynchronous operation accesses, where `when` holds; checked.

    Misuses name the next event. UnsupportedError where the address depends on a read.
    """
    address = generic_address(step, operand, space)
    if not address.is_const:
        raise arithmetic.unsupported(step.instruction, "an asynchronous access whose address depends on a read")
    event = len(step.draft.events) if size else None
    when = step.values.true if when is None else when
    faults = check_address(step, operand, address, size or 1, space, Proxy.GENERIC, writes)
    tell(step, placed(faults), event, when)
    if address.payload % align:
        crooked = f"this address is not aligned to {align} bytes{more_alignment(step, address, align)}"
        step.misuse(when, MISALIGNED, event, crooked)
    return address.payload


def cut(step: Step, runs: Sequence[Run], own: Sequence[Run] | None = None) -> list[Run]:
    """The pieces of what one operation copies; none yet while a pass collects.

    Pieces that nothing else touches, at their source or at their destination, are left out where others remain.
    `own`: all that the operation may copy, where `runs` are one alternative of it.
    """
    draft = step.draft
    runs = [run for run in runs if run.size]
    draft.runs.extend(runs)
    plan = draft.plan
    if plan is None or plan.cuts is None:
        return []
    pieces = [piece for run in runs for piece in _cut(draft.memory, plan.cuts, run)]
    others = Ranges(_ranges(draft.memory, (Counter(plan.runs) - Counter(runs if own is None else own)).elements()))
    kept = [
        piece
        for piece in pieces
        if any(plan.touched.meets(*r) or others.meets(*r) for r in _ranges(draft.memory, (piece,)))
    ]
    return kept or pieces[:1]


def elements(step: Step, runs: Sequence[Run], own: Sequence[Run] | None = None) -> list[Run]:
    """Of `runs`, each one access that is not cut, those of which `cut` leaves something."""
    kept = cut(step, runs, own)
    return [
        run for run in runs if any(run.destination <= piece.destination < run.destination + run.size for piece in kept)
    ]


def parts(step: Step, address: int, size: int) -> list[tuple[int, int]]:
    """A range that is read, address and size, in the pieces that the plan cuts it into."""
    plan = step.draft.plan
    cuts = () if plan is None or plan.cuts is None else plan.cuts
    found = _cut(step.draft.memory, cuts, Run(address, NOWHERE, size))
    return [(piece.source, piece.size) for piece in found if piece.source is not None]


def move(
    step: Step, operation: Building, piece: Run, reads: dict[tuple[int, int], int], *,
    proxy: Proxy = Proxy.ASYNC, guard: Value | None = None,
) -> int:  # fmt: skip
    """The weak accesses of a piece: its read, added to `reads` or already there, and the write of what was read.

    Gives the write; `guard` is of the write alone.
    """
    read = None
    if piece.source is not None:
        key = (piece.source, piece.size)
        if key not in reads:
            reads[key] = access(step, operation, Kind.READ, piece.source, piece.size, proxy=proxy)
        read = reads[key]
        value = step.draft.events[read].value
    else:
        value = step.values.const(piece.fill or 0, 8 * piece.size)
    write = access(step, operation, Kind.WRITE, piece.destination, piece.size, value=value, proxy=proxy, guard=guard)
    if read is not None:
        operation.within.append((read, write))
        step.draft.data_taint[write] = frozenset((read,))
    return write


def access(
    step: Step, operation: Building, kind: Kind, address: int, size: int, *,
    value: Value | None = None, proxy: Proxy = Proxy.ASYNC, guard: Value | None = None,
) -> int:  # fmt: skip
    """A weak access that is a piece."""
    return operations.access(
        step, operation, kind, step.values.const(address, 64), size,
        value=value, proxy=proxy, sem=Sem.WEAK, flags=("PIECE",), guard=guard,
    )  # fmt: skip


def descriptors(step: Step, physical: int) -> tuple[int, ...]:
    """What a copy can read as the tensor map at a physical address, numbers of 1024 bits."""
    draft = step.draft
    found = None if draft.plan is None else draft.plan.descriptors.get(physical)
    return (draft.memory.initial_value(physical, _MAP),) if found is None else found


_MAP = 128
"""Bytes of a tensor map."""


def _cut(memory: Memory, cuts: Sequence[int], run: Run) -> list[Run]:
    places = [memory.physical(a, run.size) for a in (run.source, run.destination) if a is not None]
    inside: set[int] = set()
    for place in places:
        if place is not None:
            inside.update(c - place for c in cuts[bisect_right(cuts, place) : bisect_left(cuts, place + run.size)])
    bounds = [0, *sorted(inside), run.size]
    return [_part(run, low, high) for low, high in zip(bounds, bounds[1:], strict=False)]


def _part(run: Run, low: int, high: int) -> Run:
    source = None if run.source is None else run.source + low
    destination = run.destination if run.destination == NOWHERE else run.destination + low
    fill = None if run.fill is None else run.fill >> 8 * low & (1 << 8 * (high - low)) - 1
    return Run(source, destination, high - low, fill)


def _ranges(memory: Memory, runs: Iterable[Run]) -> Iterator[tuple[int, int]]:
    """The physical bytes of sources and destinations."""
    for run in runs:
        for address in (run.source, run.destination):
            place = None if address is None else memory.physical(address, run.size)
            if place is not None:
                yield place, place + run.size


# --- between passes


def survey(structure: Structure, runs: Sequence[Run], descriptors: Mapping[int, tuple[int, ...]]) -> Plan:
    """Where copies are cut, after a pass that found `structure` and `runs`."""
    memory = structure.memory
    touched: list[tuple[int, int]] = []
    points: set[int] = set()
    for event in structure.events:
        for low, high, step in _touched(structure, event):
            touched.append((low, high))
            points.update(range(low, high, step))
            points.add(high)
    for term in looked_at(structure.test):
        if isinstance(term, MemoryTerm):
            first, size = location(structure, term)
            touched.append((first, first + size))
            points.update(touched[-1])
    for ends in _ranges(memory, runs):
        points.update(ends)
    _spread(memory, runs, points)
    return Plan(descriptors, tuple(sorted(points)), Ranges(touched), tuple(runs))


def _spread(memory: Memory, runs: Iterable[Run], points: set[int]) -> None:
    """Adds to `points` what they are at the other end of a run."""
    links: list[tuple[int, int, int]] = []
    for run in set(runs):
        source = None if run.source is None else memory.physical(run.source, run.size)
        destination = memory.physical(run.destination, run.size)
        if source is not None and destination is not None:
            links += [(source, destination, run.size), (destination, source, run.size)]
    pending = list(points)
    while pending:
        point = pending.pop()
        for here, there, size in links:
            if here < point < here + size and point - here + there not in points:
                points.add(point - here + there)
                pending.append(point - here + there)


def _touched(structure: Structure, event: Event) -> Iterator[tuple[int, int, int]]:
    """Physical ranges that an event may touch, start, end, and the size of what it touches in them."""
    if event.index == INITIAL or event.address is None or event.size == 0:
        return
    memory = structure.memory
    numbers = alternatives(event.address, structure.choice_domains)
    if numbers is not None:
        for number in numbers:
            place = memory.physical(number, event.size)
            if place is not None:
                yield place, place + event.size, event.size
        return
    for region in memory.regions:
        if _reachable(structure, event, region):
            yield region.physical, region.physical + region.size, event.size


def _reachable(structure: Structure, event: Event, region: Region) -> bool:
    """Whether an access at an address that only an execution knows may be to a region."""
    variable = structure.test.variables.get(region.variable)
    if variable is None or variable.kind is VariableKind.MULTIMEM:
        return False
    space = getattr(event.instruction, "space", None)
    if space in SHARED_SPACES:
        return region.cta is not None
    return space is not Space.GLOBAL or region.cta is None


def written_maps(structure: Structure, runs: Sequence[Run]) -> dict[int, tuple[int, ...]]:
    """By physical address: what reads of tensor maps that something may write can return.

    UnsupportedError where a copy may write a map, or bytes that decide what is written to one.
    """
    copied = Ranges(_ranges(structure.memory, (Run(None, run.destination, run.size) for run in runs)))
    found: dict[int, set[int]] = {}
    for read in structure.events:
        if read.kind is not Kind.READ or "TMAP" not in read.tags or read.address is None:
            continue
        if not read.address.is_const:
            continue
        place = structure.memory.physical(read.address.payload, read.size)
        if place is None:
            continue
        writers = [e for e in structure.events[1:] if e.kind is Kind.WRITE and _may_meet(structure, e, place)]
        if copied.meets(place, place + _MAP):
            raise _undecided(read, "a tensor map that a copy writes")
        if not writers:
            continue
        _refuse_copied(structure, read, writers, copied)
        from memcheck.events.domains import analyse

        found.setdefault(place, set()).update(analyse(structure).reads[read.index])
    return {place: tuple(sorted(numbers)) for place, numbers in found.items()}


def _may_meet(structure: Structure, event: Event, place: int) -> bool:
    return any(low < place + _MAP and place < high for low, high, _ in _touched(structure, event))


def _refuse_copied(structure: Structure, read: Event, writers: Iterable[Event], copied: Ranges) -> None:
    """A pass that only collects does not know what comes out of copies: none of it may get into the map."""
    seen: set[int] = set()
    pending = list(writers)
    while pending:
        event = pending.pop()
        if event.index in seen:
            continue
        seen.add(event.index)
        needed = [v for v in (event.guard, event.address, event.value) if v is not None]
        for index in frozenset[int]().union(*(v.support for v in needed)):
            source = structure.events[index]
            for low, high, _ in _touched(structure, source):
                if copied.meets(low, high):
                    raise _undecided(read, "a tensor map that depends on what a copy writes")
                pending += [
                    e
                    for e in structure.events[1:]
                    if e.kind is Kind.WRITE and any(a < high and low < b for a, b, _ in _touched(structure, e))
                ]


def _undecided(read: Event, what: str) -> UnsupportedError:
    assert read.instruction is not None
    return arithmetic.unsupported(read.instruction, what)
