"""The vocabulary in one candidate execution, over plain sets; independent of every engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from memcheck.events.concrete import Concrete, concretely
from memcheck.events.execution import Execution
from memcheck.events.generations import SYNCHRONIZES, by_thread
from memcheck.events.relations import (
    address_relation,
    address_set,
    barrier_candidates,
    covers,
    program_relation,
    program_set,
    residents,
    value_relation,
    value_set,
)
from memcheck.events.structure import INITIAL, Kind
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.relations.expression import ExprKind
from memcheck.relations.rows import Rows, bits, from_pairs


def from_read(execution: Execution, rows: Sequence[int]) -> Rows:
    """from-read over an order of writes (8.9.7.3): a read before a write of a byte that it takes from an earlier."""
    concrete = concretely(execution)
    result = [0] * len(concrete.events)
    writes = [i for i in execution.executed if concrete.events[i].kind is Kind.WRITE]
    for (read, i), source in execution.rf.items():
        if read not in execution.executed or read not in concrete.bytes or i >= len(concrete.bytes[read]):
            continue
        byte = concrete.bytes[read][i]
        for write in writes:
            if rows[source] >> write & 1 and concrete.covers(write, byte):
                result[read] |= 1 << write
    return tuple(result)


def base(execution: Execution, names: Iterable[str] = VOCABULARY) -> dict[str, int | Rows]:
    """Base sets (masks) and relations (rows) of the vocabulary in this execution, between executed events.

    Those of `names`, and `_`.
    """
    concrete = concretely(execution)
    wanted = {"_", *names}
    mask = sum(1 << i for i in execution.executed)
    result: dict[str, int | Rows] = {}
    chosen: dict[str, Rows] = {}
    unchosen = []
    for name in wanted:
        entry = VOCABULARY[name]
        if entry.source in (Source.PROGRAM, Source.ADDRESS):
            unchosen.append(name)
        elif entry.source is Source.VALUE and entry.kind is ExprKind.SET:
            members = value_set(concrete.structure, name).items()
            result[name] = mask & sum(1 << i for i, when in members if i in execution.executed and concrete.value(when))
        elif entry.kind is ExprKind.SET:
            result[name] = mask & _unended(concrete)
        elif entry.source is Source.VALUE:
            pairs = value_relation(concrete.structure, name).items()
            chosen[name] = from_pairs((pair for pair, when in pairs if concrete.value(when)), len(concrete.events))
    result.update(_unchosen(concrete, unchosen))
    chosen.update(_chosen(concrete, wanted))
    if "fr" in wanted:
        chosen["fr"] = from_read(execution, from_pairs(execution.co, len(concrete.events)))
    for name, rows in chosen.items():
        result[name] = tuple(row & mask if mask >> i & 1 else 0 for i, row in enumerate(rows))
    return result


def circumstances(execution: Execution) -> str:
    """What happens, and where: executions that agree in it have the same PROGRAM and ADDRESS relations."""
    return concretely(execution).circumstances


def _unchosen(concrete: Concrete, names: Iterable[str]) -> Mapping[str, int | Rows]:
    """PROGRAM and ADDRESS names; executions of the same events at the same addresses share what was found of them."""
    structure, executed = concrete.structure, concrete.execution.executed
    key = f"base {concrete.circumstances}"
    found = structure.memo.get(key)
    result: dict[str, int | Rows] = found if isinstance(found, dict) else {}
    structure.memo[key] = result
    mask = sum(1 << i for i in executed)
    for name in names:
        if name in result:
            continue
        entry = VOCABULARY[name]
        of_program = entry.source is Source.PROGRAM
        if entry.kind is ExprKind.SET:
            result[name] = mask & (program_set(structure, name) if of_program else _addressed(concrete, name))
        else:
            rows = program_relation(structure, name) if of_program else _related(concrete, name)
            result[name] = tuple(row & mask if mask >> i & 1 else 0 for i, row in enumerate(rows))
    return result


def _unended(concrete: Concrete) -> int:
    """Mask of the events of threads that do not run to their end."""
    return sum(1 << e.index for e in concrete.events if e.thread >= 0 and not concrete.ended(e.thread))


def _addressed(concrete: Concrete, name: str) -> int:
    result = 0
    for index in concrete.bytes:
        event = concrete.events[index]
        address = concrete.address(event)
        if address is not None and address_set(concrete.structure, name, event, address):
            result |= 1 << index
    return result


def _related(concrete: Concrete, name: str) -> Rows:
    if name == "po-loc":
        po, loc = program_relation(concrete.structure, "po"), _related(concrete, "loc")
        return tuple(a & b for a, b in zip(po, loc, strict=True))
    if name in ("covers", "home"):
        return _of_objects(concrete, name)
    memory = concrete.structure.memory
    rows = [0] * len(concrete.events)
    alike: dict[tuple[int, int], int] = {}
    """The accesses of each address and size."""
    for i in concrete.bytes:
        access = concrete.address(concrete.events[i]) or 0, concrete.events[i].size
        alike[access] = alike.get(access, 0) | 1 << i
    for first, members in alike.items():
        row = 1 << INITIAL
        for second, others in alike.items():
            if address_relation(memory, name, first, second):
                row |= others
        for i in bits(members):
            rows[i] = row
    rows[INITIAL] = 1 << INITIAL | sum(1 << i for i in concrete.bytes)
    return tuple(rows)


def _of_objects(concrete: Concrete, name: str) -> Rows:
    """`covers` and `home`."""
    structure, rows = concrete.structure, [0] * len(concrete.events)
    for index in concrete.bytes:
        event = concrete.events[index]
        address = concrete.address(event) or 0
        if name == "home":
            rows[index] = residents(structure, event, address)
            continue
        for fence in concrete.events:
            if fence.kind is Kind.FENCE and covers(structure, fence, concrete.address(fence), event, address):
                rows[fence.index] |= 1 << index
    return tuple(rows)


def _chosen(concrete: Concrete, names: Set[str]) -> Mapping[str, Rows]:
    """The CHOICE relations of `names` but fr."""
    execution = concrete.execution
    pairs: dict[str, Iterable[tuple[int, int]]] = {
        "rf": ((write, read) for (read, _), write in execution.rf.items()),
        "co": execution.co,
    }
    sr, same = program_relation(concrete.structure, "sr"), program_relation(concrete.structure, "int")
    order = execution.fence_order
    pairs["sync_fence"] = (
        (first, second)
        for position, first in enumerate(order)
        for second in order[position + 1 :]
        if (sr[first] | same[first]) >> second & 1
    )
    for name in _AT_BARRIERS & names:
        pairs[name] = _at_barriers(concrete, name)
    return {name: from_pairs(listed, len(concrete.events)) for name, listed in pairs.items() if name in names}


_AT_BARRIERS = frozenset((*SYNCHRONIZES, "samegen", "bar-before", "exited", "rearrive", "mismatch"))


def _at_barriers(concrete: Concrete, name: str) -> Iterator[tuple[int, int]]:
    """Pairs of a relation that the generations of barriers make."""
    threads: Mapping[int, Sequence[int]] = {}
    if name == "exited":
        threads = by_thread([concrete.events[i] for i in sorted(concrete.execution.executed)])
    for meeting in concrete.meetings:
        if name in SYNCHRONIZES:
            if meeting.rendezvous.kind in SYNCHRONIZES[name]:
                yield from meeting.synchronizes()
        elif name in ("samegen", "bar-before"):
            yield from meeting.ordered(same=name == "samegen")
        elif name == "exited":
            yield from meeting.exited(threads)
        else:
            yield from meeting.together(barrier_candidates(concrete.structure, name))
