"""Candidate executions, concretely: whether one is well formed, and its final state.

Independent of every engine: all from the choices that `Execution` holds and the structure.
"""

from __future__ import annotations

from collections.abc import Iterator

from memcheck.events.concrete import Concrete, concretely
from memcheck.events.execution import Execution
from memcheck.events.observed import location, looked_at
from memcheck.events.structure import INITIAL, Kind
from memcheck.language.test import MemoryTerm
from memcheck.relations.rows import Rows


def problems(execution: Execution, tearing: bool = False) -> list[str]:
    """What keeps an execution from being well formed. `tearing`: reads may mix writes of the same bytes."""
    concrete = concretely(execution)
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


def _happening(concrete: Concrete) -> Iterator[str]:
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


def _reading(concrete: Concrete) -> Iterator[str]:
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


def _coherence(concrete: Concrete) -> Iterator[str]:
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


def _overlap(concrete: Concrete, a: int, b: int) -> bool:
    first, second = concrete.bytes.get(a, range(0)), concrete.bytes.get(b, range(0))
    return len(first) > 0 and len(second) > 0 and first.start < second.stop and second.start < first.stop


def _tearing(concrete: Concrete) -> Iterator[str]:
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


def _final(concrete: Concrete) -> Iterator[str]:
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
    concrete = concretely(execution)
    found = []
    for byte, write in execution.final.items():
        for other in execution.executed:
            later = coherence[write] >> other & 1 and concrete.events[other].kind is Kind.WRITE
            if later and other != INITIAL and concrete.covers(other, byte):
                found.append(f"final byte {byte:#x} comes from {write}, which {other} overwrites")
    return found


def observe(execution: Execution) -> tuple[int, ...]:
    """The final state over `test.observed`."""
    concrete = concretely(execution)
    structure = concrete.structure
    state = []
    for term in structure.test.observed:
        if isinstance(term, MemoryTerm):
            first, size = location(structure, term)
            state.append(sum(concrete.written(execution.final[first + i], first + i) << 8 * i for i in range(size)))
        else:
            state.append(concrete.value(structure.final_registers[term]))
    return tuple(state)
