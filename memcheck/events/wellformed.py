"""Candidate executions, concretely: whether one is well formed, its base sets and relations, its final state.

Independent of every engine: all from the choices that `Execution` holds and the structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache

from memcheck.events.execution import Execution
from memcheck.events.generations import SYNCHRONIZES, Meeting, by_thread
from memcheck.events.observed import location, looked_at
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
from memcheck.events.structure import INITIAL, BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.language.test import MemoryTerm
from memcheck.relations.expression import ExprKind
from memcheck.relations.rows import bits, from_pairs

Rows = tuple[int, ...]


class _Lenient(dict[int, int]):
    """Values of reads; one that did not happen may be mentioned where it does not matter."""

    def __missing__(self, key: int) -> int:
        return 0


class _Concrete:
    """An execution with everything that follows from its choices."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.structure: Structure = execution.structure
        self.events = self.structure.events
        self._reads = _Lenient(execution.reads)
        self._choices = _Lenient(execution.choices)
        self._memo: dict[Value, int] = {}

    def value(self, value: Value) -> int:
        return evaluate(value, self._reads, self._choices, self._memo)

    def address(self, event: Event) -> int | None:
        return None if event.address is None else self.value(event.address)

    @cached_property
    def bytes(self) -> dict[int, range]:
        """Physical bytes of each executed access but W0; none where it is outside memory."""
        found = {}
        for event in self.events:
            if event.index != INITIAL and event.index in self.execution.executed and event.address is not None:
                physical = self.structure.memory.physical(self.value(event.address), event.size)
                if event.kind in (Kind.READ, Kind.WRITE):
                    found[event.index] = range(0) if physical is None else range(physical, physical + event.size)
        return found

    def covers(self, write: int, byte: int) -> bool:
        return write == INITIAL or byte in self.bytes.get(write, range(0))

    def written(self, write: int, byte: int) -> int:
        """What an executed write puts into a physical byte that it covers."""
        if write == INITIAL:
            return self.structure.memory.initial_value(byte, 1)
        value = self.events[write].value
        assert value is not None
        return self.value(value) >> 8 * (byte - self.bytes[write].start) & 255

    @cached_property
    def circumstances(self) -> str:
        return f"{sorted(self.execution.executed)} {[(i, bytes.start) for i, bytes in self.bytes.items()]}"

    @cached_property
    def meetings(self) -> list[Meeting]:
        found = []
        for number, rendezvous in enumerate(self.structure.rendezvous):
            parties = tuple(
                a for a in rendezvous.arrivals if a.event in self.execution.executed and self.value(a.member)
            )
            generation = {e: k for (r, e), k in self.execution.generations.items() if r == number}
            found.append(Meeting(rendezvous, parties, generation, self.events, self.ended))
        return found

    def passed(self, point: BlockingPoint) -> bool:
        """Whether a blocking point that was met lets its thread go on."""
        if point.passed is not None:
            return bool(self.value(point.passed))
        if point.threads:
            return all(self.ended(thread) for thread in point.threads)
        taking_part = [
            (number, a.event)
            for number, rendezvous in enumerate(self.structure.rendezvous)
            for a in rendezvous.arrivals
            if a.event == point.barrier and self.value(a.member)
        ]
        return all(pair in self.execution.generations for pair in taking_part)

    def stopped(self, thread: int) -> BlockingPoint | None:
        """Where the thread stops for ever, None where nowhere."""
        for point in self.structure.blocking:
            if point.thread == thread and self.value(point.guard) and not self.passed(point):
                return point
        return None

    def ended(self, thread: int) -> bool:
        return self.stopped(thread) is None and bool(self.value(self.structure.ends[thread]))


@lru_cache(maxsize=4)
def _concrete(execution: Execution) -> _Concrete:
    """Questions about one execution come in a row."""
    return _Concrete(execution)


def problems(execution: Execution, tearing: bool = False) -> list[str]:
    """What keeps an execution from being well formed. `tearing`: reads may mix writes of the same bytes."""
    concrete = _concrete(execution)
    found = [*_happening(concrete), *_reading(concrete), *_coherence(concrete)]
    if not tearing:
        found += _tearing(concrete)
    fences = sorted(i for i in execution.executed if "SC" in concrete.events[i].tags)
    if sorted(execution.fence_order) != fences:
        found.append(f"the Fence-SC order has {sorted(execution.fence_order)}, executed are {fences}")
    members = {(n, a.event) for n, m in enumerate(concrete.meetings) for a in m.parties}
    found += [
        f"event {e} has a generation, but takes no part" for r, e in execution.generations if (r, e) not in members
    ]
    for meeting in concrete.meetings:
        found += meeting.problems()
    found += _final(concrete)
    return found


def _happening(concrete: _Concrete) -> Iterator[str]:
    """Guards and blocking points decide what happens; every thread ends, stops, or is cut by a bound."""
    structure, execution = concrete.structure, concrete.execution
    stops = {t.index: concrete.stopped(t.index) for t in structure.test.threads}
    for event in concrete.events:
        point = stops.get(event.thread)
        happens = bool(concrete.value(event.guard)) and (point is None or event.index < point.before)
        if happens != (event.index in execution.executed):
            yield f"event {event.index} should {'' if happens else 'not '}be executed"
    for index, domain in enumerate(structure.choice_domains):
        if execution.choices.get(index, domain[0]) not in domain:
            yield f"choice {index} is not one of {domain}"
    for thread, point in stops.items():
        cut = any(b.thread == thread and concrete.value(b.reached) for b in structure.bounds)
        if point is None and not cut and not concrete.value(structure.ends[thread]):
            yield f"thread {thread} neither ends nor stops"


def _reading(concrete: _Concrete) -> Iterator[str]:
    """Each byte read comes from an executed write that covers it and has its value."""
    execution = concrete.execution
    expected = set()
    for event in concrete.events:
        if event.kind is not Kind.READ or event.index not in execution.executed:
            continue
        if event.index not in execution.reads:
            yield f"read {event.index} has no value"
            continue
        number = execution.reads[event.index]
        if number >> 8 * event.size:
            yield f"read {event.index} has a value wider than {event.size} bytes"
        for i, byte in enumerate(concrete.bytes[event.index]):
            expected.add((event.index, i))
            source = execution.rf.get((event.index, i))
            if source is None:
                yield f"byte {i} of read {event.index} comes from nowhere"
            elif source not in execution.executed or concrete.events[source].kind is not Kind.WRITE:
                yield f"byte {i} of read {event.index} comes from {source}, no executed write"
            elif not concrete.covers(source, byte):
                yield f"byte {i} of read {event.index} comes from {source}, which does not cover it"
            elif concrete.written(source, byte) != number >> 8 * i & 255:
                yield f"byte {i} of read {event.index} has not the value that {source} wrote"
    for pair in execution.rf:
        if pair not in expected:
            yield f"byte {pair[1]} of event {pair[0]} is not read"


def _coherence(concrete: _Concrete) -> Iterator[str]:
    """co: a strict partial order made of pairs of executed overlapping writes, W0 before all others."""
    execution = concrete.execution
    writes = {i for i in execution.executed if concrete.events[i].kind is Kind.WRITE}
    co = execution.co
    for a, b in co:
        if a not in writes or b not in writes:
            yield f"co relates {a} and {b}, not both executed writes"
        if a == b:
            yield f"co relates {a} to itself"
        if (b, a) in co:
            yield f"co relates {a} and {b} both ways"
        yield from (f"co is not transitive: {a}, {b}, {d}" for c, d in co if c == b and (a, d) not in co)
    yield from (f"W0 is not before {w}" for w in writes if w != INITIAL and (INITIAL, w) not in co)
    if any(b == INITIAL for _, b in co):
        yield "co has a write before W0"
    for a, b in co:
        # a pair that only transitivity relates has a write between
        between = any((a, c) in co and (c, b) in co for c in writes - {INITIAL})
        if a in writes and b in writes and a != INITIAL and not between and not _overlap(concrete, a, b):
            yield f"co relates {a} and {b}, which do not overlap"


def _overlap(concrete: _Concrete, a: int, b: int) -> bool:
    first, second = concrete.bytes.get(a, range(0)), concrete.bytes.get(b, range(0))
    return len(first) > 0 and len(second) > 0 and first.start < second.stop and second.start < first.stop


def _tearing(concrete: _Concrete) -> Iterator[str]:
    """A read that takes a byte from a write of exactly its bytes takes none from an earlier one, or of the same bytes.

    Writes that overlap in part and are in no order race, so that nothing is said of such an execution.
    """
    execution = concrete.execution
    for read, stretch in concrete.bytes.items():
        if concrete.events[read].kind is not Kind.READ:
            continue
        sources = {execution.rf[read, i] for i in range(len(stretch)) if (read, i) in execution.rf}
        for write in sources:
            if concrete.bytes.get(write) != stretch:
                continue
            for other in sources - {write}:
                if (other, write) in execution.co or concrete.bytes.get(other) == stretch:
                    yield f"read {read} is torn between {write} and {other}"
    for write, stretch in concrete.bytes.items():
        if concrete.events[write].kind is Kind.WRITE:
            for other, same in concrete.bytes.items():
                if other > write and same == stretch and concrete.events[other].kind is Kind.WRITE:
                    last = {execution.final.get(byte) for byte in stretch}
                    if {write, other} <= last:
                        yield f"final memory is torn between {write} and {other}"


def _final(concrete: _Concrete) -> Iterator[str]:
    """Final bytes: an executed write that covers the byte. That it is coherence-maximal the model says (`maximal`)."""
    execution = concrete.execution
    for byte, write in execution.final.items():
        if write not in execution.executed or concrete.events[write].kind is not Kind.WRITE:
            yield f"final byte {byte:#x} comes from {write}, no executed write"
        elif not concrete.covers(write, byte):
            yield f"final byte {byte:#x} comes from {write}, which does not cover it"
    for term in looked_at(concrete.structure.test):
        if isinstance(term, MemoryTerm):
            first, size = location(concrete.structure, term)
            if any(byte not in execution.final for byte in range(first, first + size)):
                yield f"{concrete.structure.test.key(term)} has no final value"


def maximal(execution: Execution, coherence: Rows) -> list[str]:
    """Final bytes that come from a write before another of that byte in `coherence` (rows over events)."""
    concrete = _concrete(execution)
    found = []
    for byte, write in execution.final.items():
        for other in execution.executed:
            later = coherence[write] >> other & 1 and concrete.events[other].kind is Kind.WRITE
            if later and other != INITIAL and concrete.covers(other, byte):
                found.append(f"final byte {byte:#x} comes from {write}, which {other} overwrites")
    return found


def observe(execution: Execution) -> tuple[int, ...]:
    """The final state over `test.observed`."""
    concrete = _concrete(execution)
    structure = concrete.structure
    state = []
    for term in structure.test.observed:
        if isinstance(term, MemoryTerm):
            first, size = location(structure, term)
            state.append(sum(concrete.written(execution.final[first + i], first + i) << 8 * i for i in range(size)))
        else:
            state.append(concrete.value(structure.final_registers[term]))
    return tuple(state)


def from_read(execution: Execution, rows: Sequence[int]) -> Rows:
    """from-read over an order of writes (8.9.7.3): a read before a write of a byte that it takes from an earlier."""
    concrete = _concrete(execution)
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
    concrete = _concrete(execution)
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
    return _concrete(execution).circumstances


def _unchosen(concrete: _Concrete, names: Iterable[str]) -> Mapping[str, int | Rows]:
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


def _unended(concrete: _Concrete) -> int:
    """Mask of the events of threads that do not run to their end."""
    return sum(1 << e.index for e in concrete.events if e.thread >= 0 and not concrete.ended(e.thread))


def _addressed(concrete: _Concrete, name: str) -> int:
    result = 0
    for index in concrete.bytes:
        event = concrete.events[index]
        address = concrete.address(event)
        if address is not None and address_set(concrete.structure, name, event, address):
            result |= 1 << index
    return result


def _related(concrete: _Concrete, name: str) -> Rows:
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


def _of_objects(concrete: _Concrete, name: str) -> Rows:
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


def _chosen(concrete: _Concrete, names: Set[str]) -> Mapping[str, Rows]:
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


def _at_barriers(concrete: _Concrete, name: str) -> Iterator[tuple[int, int]]:
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
