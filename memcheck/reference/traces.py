"""What each thread does once it is said what its reads return: which events happen, where threads stop (8.9.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from memcheck.events.structure import BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.reference.domains import Domains


@dataclass(frozen=True, slots=True)
class Trace:
    """`executed`: ascending, without W0. `written[e]` of a write. `stopped[t]`: where thread t waits for ever.

    `cut`: threads that a loop bound cuts off; `ended`: threads that ran to their end. A thread in none of the three
    needs a value of a stopped one (a warp collective), and waits with it.
    """

    structure: Structure
    executed: tuple[int, ...]
    reads: Mapping[int, int]
    choices: Mapping[int, int]
    addresses: Mapping[int, int]
    written: Mapping[int, int]
    stopped: Mapping[int, BlockingPoint]
    cut: frozenset[int]
    ended: frozenset[int]

    def event(self, index: int) -> Event:
        return self.structure.events[index]

    def value(self, value: Value) -> int:
        return evaluate(value, self.reads, self.choices)

    @property
    def ends(self) -> bool:
        return not self.stopped and not self.cut


Item = Event | BlockingPoint


def _programs(structure: Structure) -> list[list[Item]]:
    """Of each thread its events, each spin or wait at the place where the thread may stop."""
    threads: list[list[Item]] = [[] for _ in structure.test.threads]
    for event in structure.events[1:]:
        threads[event.thread].append(event)
    for point in reversed(structure.blocking):
        items = threads[point.thread]
        at = next(
            (i for i, e in enumerate(items) if (e.before if isinstance(e, BlockingPoint) else e.index) >= point.before),
            len(items),
        )
        items.insert(at, point)
    return threads


@dataclass(frozen=True, slots=True)
class _State:
    position: tuple[int, ...]
    reads: dict[int, int]
    executed: tuple[int, ...]
    stopped: dict[int, BlockingPoint]


def traces(structure: Structure, domains: Domains) -> Iterator[Trace]:
    """All traces: every value of every read that happens, every wait passed or waiting for ever."""
    programs = _programs(structure)
    threads = range(len(programs))
    for choices in product(*structure.choice_domains):
        chosen = dict(enumerate(choices))
        pending = [_State(tuple(0 for _ in threads), {}, (), {})]
        while pending:
            state = pending.pop()
            thread = next((t for t in threads if _ready(programs[t], state, t)), None)
            if thread is None:
                yield _finish(structure, domains, programs, state, chosen)
            else:
                pending.extend(_step(programs[thread], state, thread, chosen, domains))


def _support(item: Item) -> frozenset[int]:
    values = [item.guard]
    if isinstance(item, BlockingPoint):
        values += [item.passed] if item.passed is not None else []
    else:
        values += [item.address] if item.address is not None else []
    return frozenset().union(*(v.support for v in values))


def _ready(program: list[Item], state: _State, thread: int) -> bool:
    at = state.position[thread]
    return at < len(program) and thread not in state.stopped and _support(program[at]) <= state.reads.keys()


def _step(
    program: list[Item], state: _State, thread: int, choices: Mapping[int, int], domains: Domains
) -> Iterator[_State]:
    at = state.position[thread]
    item = program[at]
    position = (*state.position[:thread], at + 1, *state.position[thread + 1 :])
    onward = replace(state, position=position)
    happens = bool(evaluate(item.guard, state.reads, choices))
    if isinstance(item, BlockingPoint):
        waits = item.barrier is None or item.barrier in state.executed
        halted = replace(onward, stopped={**state.stopped, thread: item})
        if not happens or not waits:
            yield onward
        elif item.passed is not None:
            yield onward if evaluate(item.passed, state.reads, choices) else halted
        else:
            yield onward
            yield halted
    elif not happens:
        yield replace(onward, reads={**state.reads, item.index: 0}) if item.kind is Kind.READ else onward
    elif item.kind is Kind.READ:
        for number in domains.values[item.index]:
            yield replace(onward, reads={**state.reads, item.index: number}, executed=(*state.executed, item.index))
    else:
        yield replace(onward, executed=(*state.executed, item.index))


def _finish(
    structure: Structure, domains: Domains, programs: list[list[Item]], state: _State, choices: dict[int, int]
) -> Trace:
    reads = {**dict.fromkeys(domains.values, 0), **state.reads}
    addresses: dict[int, int] = {}
    written: dict[int, int] = {}
    for index in state.executed:
        event = structure.events[index]
        if event.address is not None:
            addresses[index] = evaluate(event.address, reads, choices)
        if event.kind is Kind.WRITE and event.value is not None:
            written[index] = evaluate(event.value, reads, choices)
    finished = [t for t, program in enumerate(programs) if t not in state.stopped and state.position[t] == len(program)]
    over = {b.thread for b in structure.bounds if b.thread in finished and evaluate(b.reached, reads, choices)}
    ended = {t for t in finished if t not in over and evaluate(structure.ends[t], reads, choices)}
    return Trace(
        structure=structure,
        executed=tuple(sorted(state.executed)),
        reads=reads,
        choices=choices,
        addresses=addresses,
        written=written,
        stopped=state.stopped,
        cut=frozenset(finished) - ended,
        ended=frozenset(ended),
    )
