"""The base sets and relations that a structure alone decides, as row masks: bit j of row i says (i, j)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memcheck.events.dependencies import rows_of, semantic
from memcheck.events.memory import Memory
from memcheck.events.structure import Event, RendezvousKind, Structure
from memcheck.events.value import Value
from memcheck.language.test import Place
from memcheck.ptx.instructions import Fence, ProxyFence, Restriction
from memcheck.ptx.qualifiers import Scope, Space
from memcheck.relations.rows import Rows, from_pairs

Access = tuple[int, int]
"""A virtual address and a size."""


def program_set(structure: Structure, name: str) -> int:
    """Mask of the events in a PROGRAM set of the vocabulary."""
    found = structure.memo.get("sets")
    masks: dict[str, int] = found if isinstance(found, dict) else {}
    if not masks:
        for event in structure.events:
            for tag in event.tags:
                masks[tag] = masks.get(tag, 0) | 1 << event.index
        structure.memo["sets"] = masks
    return masks.get(name, 0)


def program_relation(structure: Structure, name: str) -> Rows:
    """Rows of a PROGRAM relation of the vocabulary, between all events of the structure."""
    found = structure.memo.get(f"relation {name}")
    if isinstance(found, tuple):
        return found
    result = _RELATIONS[name](structure)
    structure.memo[f"relation {name}"] = result
    return result


def barrier_candidates(structure: Structure, name: str) -> Rows:
    """Rows of `rearrive` or `mismatch`, in every execution in which both operations take part in the barrier."""
    found = structure.memo.get(f"candidates {name}")
    if isinstance(found, tuple):
        return found
    result = _AT_BARRIERS[name](structure)
    structure.memo[f"candidates {name}"] = result
    return result


def address_set(structure: Structure, name: str, event: Event, address: int) -> bool:
    """Whether an access at `address` belongs to an ADDRESS set: SHARED, REMOTE."""
    region = structure.memory.region(address, event.size)
    if region is None or region.cta is None:
        return False
    if name == "REMOTE":
        return event.thread >= 0 and region.cta != _place(structure, event).cta
    if name != "SHARED":
        raise KeyError(name)
    return True


def covers(structure: Structure, fence: Event, start: int | None, event: Event, address: int) -> bool:
    """Whether a fence (at `start`, where it has an address) is for the object that an access is to (9.7.15.4)."""
    instruction = fence.instruction
    space: Space | None = None
    if isinstance(instruction, Fence | ProxyFence) and instruction.restriction is not None:
        space = _RESTRICTED_TO.get(instruction.restriction)
    elif isinstance(instruction, ProxyFence):
        space = instruction.space
    if start is not None:
        return start <= address and address + event.size <= start + fence.size
    if space is None:
        return True
    region = structure.memory.region(address, event.size)
    place = _place(structure, fence)
    if region is None:
        return False
    if space is Space.SHARED_CTA:
        return region.cta == place.cta
    if space is Space.SHARED_CLUSTER:
        return any(t.place.cta == region.cta and t.place.cluster == place.cluster for t in structure.test.threads)
    return region.cta is None


_RESTRICTED_TO = {Restriction.SHARED_CTA: Space.SHARED_CTA, Restriction.SHARED_CLUSTER: Space.SHARED_CLUSTER}


def residents(structure: Structure, event: Event, address: int) -> int:
    """Mask of the events in program order of the CTA whose shared memory a REMOTE access is to; 0 for others."""
    if not address_set(structure, "REMOTE", event, address):
        return 0
    region = structure.memory.region(address, event.size)
    assert region is not None
    found = structure.memo.get(f"residents {region.cta}")
    if not isinstance(found, int):
        residing = (e for e in structure.events[1:] if e.operation is None)
        found = sum(1 << e.index for e in residing if _place(structure, e).cta == region.cta)
        structure.memo[f"residents {region.cta}"] = found
    return found


def address_relation(memory: Memory, name: str, first: Access, second: Access) -> bool:
    """Whether loc, vloc, overlap or voverlap holds between two accesses; W0 is the caller's to add."""
    (a, n), (b, m) = first, second
    if name in ("vloc", "voverlap"):
        p, q = a, b
        if memory.physical(a, n) is None or memory.physical(b, m) is None:
            return False
    else:
        physical, other = memory.physical(a, n), memory.physical(b, m)
        if physical is None or other is None:
            return False
        p, q = physical, other
    if name in ("loc", "vloc"):
        return p == q and n == m
    if name in ("overlap", "voverlap"):
        return p < q + m and q < p + n
    raise KeyError(name)


def value_set(structure: Structure, name: str) -> Mapping[int, Value]:
    """The events that may be in a VALUE set, with when they are."""
    found = structure.memo.get(f"marks {name}")
    if not isinstance(found, dict):
        found = {e.index: e.marks[name] for e in structure.events if e.marks is not None and name in e.marks}
        structure.memo[f"marks {name}"] = found
    return found


def value_relation(structure: Structure, name: str) -> Mapping[tuple[int, int], Value]:
    """The pairs that may be in a VALUE relation, with when they are."""
    if name != "grouped":
        raise KeyError(name)
    return structure.grouped


def includes(scope: Scope, here: Place, there: Place) -> bool:
    """Whether a scope of a thread at `here` includes a thread at `there` (ISA 8.5)."""
    if scope is Scope.SYS:
        return True
    if scope is Scope.GPU:
        return here.gpu == there.gpu
    if scope is Scope.CLUSTER:
        return here.cluster == there.cluster
    return here.cta == there.cta


def _by_thread(structure: Structure) -> dict[int, int]:
    """Mask of each thread's events; W0's under -1."""
    masks: dict[int, int] = {}
    for event in structure.events:
        masks[event.thread] = masks.get(event.thread, 0) | 1 << event.index
    return masks


def _po(structure: Structure) -> Rows:
    masks = _by_thread(structure)
    groups: dict[int, int] = {}
    for event in structure.events:
        if event.unordered_group is not None:
            groups[event.unordered_group] = groups.get(event.unordered_group, 0) | 1 << event.index
    rows = []
    detached = sum(1 << e.index for e in structure.events if e.operation is not None)
    for event in structure.events:
        row = 0
        if event.thread >= 0 and event.operation is None:
            row = (masks[event.thread] & ~detached) >> event.index + 1 << event.index + 1
        if event.unordered_group is not None:
            row &= ~groups[event.unordered_group]
        rows.append(row)
    for event in structure.events:
        if event.rmw is not None:
            rows[event.rmw] |= 1 << event.index
    return tuple(rows)


def _rmw(structure: Structure) -> Rows:
    rows = [0] * len(structure.events)
    for event in structure.events:
        if event.rmw is not None:
            rows[event.rmw] |= 1 << event.index
    return tuple(rows)


def _id(structure: Structure) -> Rows:
    return tuple(1 << event.index for event in structure.events)


def _int(structure: Structure) -> Rows:
    masks = _by_thread(structure)
    return tuple(0 if event.thread < 0 else masks[event.thread] for event in structure.events)


def _ext(structure: Structure) -> Rows:
    masks = _by_thread(structure)
    every = (1 << len(structure.events)) - 1
    return tuple(every & ~masks[event.thread] for event in structure.events)


def _place(structure: Structure, event: Event) -> Place:
    return structure.test.threads[event.thread].place


def _sr(structure: Structure) -> Rows:
    masks: dict[tuple[int, Scope], int] = {}
    for event in structure.events:
        if event.scope is not None:
            key = (event.thread, event.scope)
            masks[key] = masks.get(key, 0) | 1 << event.index
    places = {key: structure.test.threads[key[0]].place for key in masks}
    table = {
        (t, s): sum(
            mask
            for (u, r), mask in masks.items()
            if includes(s, places[t, s], places[u, r]) and includes(r, places[u, r], places[t, s])
        )
        for t, s in masks
    }
    return tuple(0 if e.scope is None else table[e.thread, e.scope] for e in structure.events)


def _scta(structure: Structure) -> Rows:
    masks: dict[int, int] = {}
    for event in structure.events[1:]:
        cta = _cta(structure, event)
        masks[cta] = masks.get(cta, 0) | 1 << event.index
    return tuple(0 if e.thread < 0 else masks[_cta(structure, e)] for e in structure.events)


def _cta(structure: Structure, event: Event) -> int:
    return _place(structure, event).cta if event.cta is None else event.cta


def _issue(structure: Structure) -> Rows:
    rows = [0] * len(structure.events)
    for operation in structure.operations:
        mask = sum(1 << e for e in operation.events)
        for event in structure.events[1 : operation.after]:
            if event.thread == operation.thread and event.operation is None:
                rows[event.index] |= mask
    return tuple(rows)


def _within(structure: Structure) -> Rows:
    return from_pairs((pair for operation in structure.operations for pair in operation.within), len(structure.events))


def _complete(structure: Structure) -> Rows:
    return from_pairs(
        (pair for operation in structure.operations for pair in operation.complete), len(structure.events)
    )


def _grid(structure: Structure) -> Rows:
    rows = [0] * len(structure.events)
    waits = program_set(structure, "GRID_WAIT")
    masks = _by_thread(structure)
    for order in structure.grids:
        later = sum(masks.get(t, 0) for t in order.after)
        for thread in order.before:
            for event in structure.events:
                if event.thread != thread:
                    continue
                if order.programmatic:
                    rows[event.index] |= later & waits
                elif event.operation is None or "REL" in event.tags:
                    # what nobody awaited is not known to be complete when its thread ends, but for st.async.release
                    rows[event.index] |= later
    return tuple(rows)


def _launch(structure: Structure) -> Rows:
    launches = program_set(structure, "LAUNCH")
    return tuple(row if launches >> index & 1 else 0 for index, row in enumerate(_dependents(structure)))


def _dependents(structure: Structure) -> Rows:
    rows = [0] * len(structure.events)
    masks = _by_thread(structure)
    for order in structure.grids:
        later = sum(masks.get(t, 0) for t in order.after)
        for event in structure.events:
            if order.programmatic and event.thread in order.before:
                rows[event.index] |= later
    return tuple(rows)


def _ctrl(structure: Structure) -> Rows:
    return rows_of(structure, structure.control)


def _addr(structure: Structure) -> Rows:
    return rows_of(structure, structure.address_sources)


def _data(structure: Structure) -> Rows:
    return rows_of(structure, structure.data_sources)


def _dep(structure: Structure) -> Rows:
    return rows_of(structure, semantic(structure))


def _rearrive(structure: Structure) -> Rows:
    """bar.arrive to the next operation on the same CTA barrier by the same warp, if both take part in it."""
    rows = [0] * len(structure.events)
    values = structure.values
    for meeting in structure.rendezvous:
        if meeting.kind is not RendezvousKind.CTA:
            continue
        for unit in meeting.units:
            for thread in unit:
                mine = [a for a in meeting.arrivals if structure.events[a.event].thread == thread]
                for i, first in enumerate(mine):
                    if first.waits:
                        continue
                    guard = structure.events[first.event].guard
                    for later in mine[i + 1 :]:
                        if later.event == first.event:
                            continue
                        other = structure.events[later.event].guard
                        if values.both(guard, other) is not values.false:
                            rows[first.event] |= 1 << later.event
                        if other in (values.true, guard) and later.member is values.true:
                            break
    return tuple(rows)


def _mismatch(structure: Structure) -> Rows:
    """Operations of different threads with different counts or kinds, of those that take part in a CTA barrier."""
    rows = [0] * len(structure.events)
    for meeting in structure.rendezvous:
        if meeting.kind is not RendezvousKind.CTA:
            continue
        whole = len(meeting.units)
        for a in meeting.arrivals:
            for b in meeting.arrivals:
                if structure.events[a.event].thread == structure.events[b.event].thread:
                    continue
                count, other = (whole if x.needed is None else x.needed for x in (a, b))
                if count != other or a.reduces != b.reduces:
                    rows[a.event] |= 1 << b.event
    return tuple(rows)


_RELATIONS: dict[str, Callable[[Structure], Rows]] = {
    "po": _po,
    "rmw": _rmw,
    "id": _id,
    "int": _int,
    "ext": _ext,
    "sr": _sr,
    "scta": _scta,
    "issue": _issue,
    "within": _within,
    "complete": _complete,
    "grid": _grid,
    "launch": _launch,
    "dependents": _dependents,
    "addr": _addr,
    "data": _data,
    "ctrl": _ctrl,
    "dep": _dep,
}

_AT_BARRIERS: dict[str, Callable[[Structure], Rows]] = {"rearrive": _rearrive, "mismatch": _mismatch}
