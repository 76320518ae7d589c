"""What each thread does once it is said what its reads return: which events happen, where threads stop (8.9.1).

Reads guess their values, but for those of operations on mbarriers: these come one after another into a chain for each
object, in every order that program order and issue leave open, and read what the one before left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from memcheck.events.structure import INITIAL, BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.reference.assignments import choices_in
from memcheck.reference.domains import Domains
from memcheck.reference.mbarriers import SIZE, Chain, History, Link, history, is_operation, merged, objects, precedes


@dataclass(frozen=True, slots=True)
class Trace:
    """`executed`: ascending, without W0. `written[e]` of a write. `stopped[t]`: where thread t waits for ever.

    `cut`: threads that a loop bound cuts off; `ended`: threads that ran to their end. A thread in none of the three
    needs a value of a stopped one (a warp collective), and waits with it. `sources`: of each read of an operation on an
    mbarrier the writes behind its bytes.
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
    chains: tuple[Chain, ...] = ()
    sources: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    mbarriers: History = field(default=History(frozenset(), frozenset()))

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
    """`chains`: by object; `waits`: of each wait that has read how many links it has behind it.

    `pending`: reads of operations on objects, waits, and ordinary writes of their bytes, that are in no chain yet.
    """

    position: tuple[int, ...]
    reads: dict[int, int]
    choices: dict[int, int]
    executed: tuple[int, ...]
    stopped: dict[int, BlockingPoint]
    chains: dict[int, tuple[Link, ...]]
    waits: dict[int, int]
    pending: tuple[int, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.position,
            frozenset(self.reads.items()),
            frozenset(self.choices.items()),
            frozenset(self.stopped),
            frozenset(self.chains.items()),
            frozenset(self.waits.items()),
        )


class _Exploration:
    def __init__(self, structure: Structure, domains: Domains) -> None:
        self.structure = structure
        self.domains = domains
        self.programs = _programs(structure)
        self.chosen: dict[Value, frozenset[int]] = {}
        self.words: dict[int, int] = {}
        """The word of each event that operates on one."""
        self.taking_part: dict[int, list[Event]] = {}
        """By word the events that may come into its chain."""
        for place, events in objects(structure).items():
            self.words.update((event.index, place) for event in events)
            self.taking_part[place] = [*events, *self._ordinary(place)]

    def _ordinary(self, place: int) -> Iterator[Event]:
        """The other writes that may be to the bytes of a word."""
        for event in self.structure.events[1:]:
            if event.kind is Kind.WRITE and not is_operation(event):
                for address in self.domains.addresses[event.index]:
                    low = self.structure.memory.physical(address, event.size)
                    if low is not None and low < place + SIZE and place < low + event.size:
                        yield event
                        break

    def _chosen_in(self, *values: Value) -> frozenset[int]:
        """The free choices below values."""
        for value in values:
            if value not in self.chosen:
                self.chosen[value] = choices_in([value])
        return frozenset().union(*(self.chosen[value] for value in values))

    def run(self) -> Iterator[Trace]:
        threads = range(len(self.programs))
        pending = [_State(tuple(0 for _ in threads), {}, {}, (), {}, {}, {})]
        seen = set()
        while pending:
            state = pending.pop()
            if self._is_stale(state):
                continue
            thread = next((t for t in threads if self._ready(state, t)), None)
            if thread is not None:
                pending.extend(self._next(state, thread))
                continue
            if state.pending:
                if state.key not in seen:
                    seen.add(state.key)
                    pending.extend(self._placements(state))
                continue
            yield from self._finish(state)

    def _ready(self, state: _State, thread: int) -> bool:
        program, at = self.programs[thread], state.position[thread]
        return at < len(program) and thread not in state.stopped and _support(program[at]) <= state.reads.keys()

    def _next(self, state: _State, thread: int) -> Iterator[_State]:
        """The next item of a thread, or what a choice that it hangs on may be."""
        program, at = self.programs[thread], state.position[thread]
        item = program[at]
        open_choices = sorted(self._chosen_in(*_looked_at(item)) - state.choices.keys())
        if open_choices:
            for number in self.structure.choice_domains[open_choices[0]]:
                yield replace(state, choices={**state.choices, open_choices[0]: number})
            return
        position = (*state.position[:thread], at + 1, *state.position[thread + 1 :])
        onward = replace(state, position=position)
        happens = bool(evaluate(item.guard, state.reads, state.choices))
        if isinstance(item, BlockingPoint):
            yield from self._wait(onward, item, happens)
        elif not happens:
            yield replace(onward, reads={**state.reads, item.index: 0}) if item.kind is Kind.READ else onward
        else:
            yield from self._happen(replace(onward, executed=(*state.executed, item.index)), item)

    def _wait(self, onward: _State, point: BlockingPoint, happens: bool) -> Iterator[_State]:
        halted = replace(onward, stopped={**onward.stopped, point.thread: point})
        if not happens or not (point.barrier is None or point.barrier in onward.executed):
            yield onward
        elif point.passed is not None:
            yield onward if evaluate(point.passed, onward.reads, onward.choices) else halted
        else:
            yield onward
            yield halted

    def _happen(self, state: _State, event: Event) -> Iterator[_State]:
        if event.index in self.words:
            yield replace(state, pending=(*state.pending, event.index)) if event.kind is Kind.READ else state
        elif event.kind is Kind.READ:
            for number in self.domains.values[event.index]:
                yield replace(state, reads={**state.reads, event.index: number})
        elif event.kind is Kind.WRITE and self._words_of(state, event):
            yield replace(state, pending=(*state.pending, event.index))
        else:
            yield state

    def _words_of(self, state: _State, event: Event) -> list[int]:
        """The words whose bytes an event accesses."""
        if event.index in self.words:
            return [self.words[event.index]]
        if event.kind is not Kind.WRITE or not self.words:
            return []
        low = self._stretch(state, event)
        return [p for p in self.taking_part if low is not None and low < p + SIZE and p < low + event.size]

    def _stretch(self, state: _State, event: Event) -> int | None:
        assert event.address is not None
        return self.structure.memory.physical(evaluate(event.address, state.reads, state.choices), event.size)

    # --- chains

    def _placements(self, state: _State) -> list[_State]:
        """What can come next: into the chain of one object alone where all that takes part in it is there."""
        events = [self.structure.events[e] for e in state.pending]
        touched = {e.index: set(self._words_of(state, e)) for e in events}
        moves: dict[int, list[_State]] = {}
        blocked: set[int] = set()
        for event in events:
            if any(precedes(p, event) and touched[p.index] & touched[event.index] for p in events):
                continue
            found = self._placed(state, event)
            if found is None:
                blocked |= touched[event.index]
                continue
            for place in touched[event.index]:
                moves.setdefault(place, []).extend(found)
        for place, found in moves.items():
            complete = all(self._is_settled(state, e) for e in self.taking_part[place])
            alone = all(not (place in places and len(places) > 1) for places in touched.values())
            if complete and alone and place not in blocked:
                return found
        return [move for found in moves.values() for move in found]

    def _is_settled(self, state: _State, event: Event) -> bool:
        """Whether it is known if the event happens."""
        program, at = self.programs[event.thread], state.position[event.thread]
        rest = [i for i in program[at:] if not isinstance(i, BlockingPoint)]
        return event.thread in state.stopped or not rest or event.index < rest[0].index

    def _placed(self, state: _State, event: Event) -> list[_State] | None:
        """The states in which a pending event has come into its chain; None where its value is not known yet."""
        rest = replace(state, pending=tuple(p for p in state.pending if p != event.index))
        if not is_operation(event):
            number = self._number(state, event, {})
            return None if number is None else [self._with_write(rest, event, number)]
        place = self.words[event.index]
        chain = state.chains.get(place, ())
        write = self._write_of(event)
        if write is None:
            return [
                replace(rest, reads={**state.reads, event.index: self._word(place, chain[:k])},
                        waits={**state.waits, event.index: k})
                for k in range(self._behind(state, event), len(chain) + 1)
            ]  # fmt: skip
        word = self._word(place, chain)
        number = self._number(state, write, {event.index: word})
        if number is None:
            return None
        return [self._with_write(replace(rest, reads={**state.reads, event.index: word}), write, number)]

    def _write_of(self, read: Event) -> Event | None:
        following = self.structure.events[read.index + 1 : read.index + 2]
        return following[0] if following and following[0].rmw == read.index else None

    def _number(self, state: _State, write: Event, own: Mapping[int, int]) -> int | None:
        assert write.value is not None
        reads = {**state.reads, **own}
        if not write.value.support <= reads.keys() or not self._chosen_in(write.value) <= state.choices.keys():
            return None
        return evaluate(write.value, reads, state.choices)

    def _with_write(self, state: _State, write: Event, number: int) -> _State:
        low = self._stretch(state, write)
        assert low is not None
        chains = dict(state.chains)
        for place in self._words_of(state, write):
            before = self._word(place, chains.get(place, ()))
            after = merged(before, low - place, write.size, number)
            chains[place] = (*chains.get(place, ()), Link(write.index, after))
        return replace(state, chains=chains)

    def _word(self, place: int, links: tuple[Link, ...]) -> int:
        return links[-1].word if links else self.structure.memory.initial_value(place, SIZE)

    def _behind(self, state: _State, wait: Event) -> int:
        """How many links its own thread has seen before a wait; it reads none before these."""
        place = self.words[wait.index]
        least = 0
        for position, link in enumerate(state.chains.get(place, ()), 1):
            if precedes(self.structure.events[link.write], wait):
                least = position
        for earlier, position in state.waits.items():
            if self.words[earlier] == place and precedes(self.structure.events[earlier], wait):
                least = max(least, position)
        return least

    def _is_stale(self, state: _State) -> bool:
        """Whether a spin that never ends has read an object that changed after that."""
        return any(
            r in state.waits and state.waits[r] < len(state.chains.get(self.words[r], ()))
            for point in state.stopped.values()
            for r in point.polled
        )

    # --- the end

    def _finish(self, state: _State) -> Iterator[Trace]:
        structure = self.structure
        finished = [
            t for t, program in enumerate(self.programs) if t not in state.stopped and state.position[t] == len(program)
        ]
        needed = [structure.events[e].value for e in state.executed]
        marks = [m for e in state.executed for m in (structure.events[e].marks or {}).values()]
        values = [*(v for v in needed if v is not None), *marks, *structure.final_registers.values(), *structure.ends]
        values += [m.condition for m in structure.misuses if m.event is None or m.event in state.executed]
        values += [b.reached for b in structure.bounds]
        arrivals = [a for meeting in structure.rendezvous for a in meeting.arrivals if a.event in state.executed]
        values += [v for a in arrivals for v in (a.member, a.source) if v is not None]
        left = sorted(self._chosen_in(*values) - state.choices.keys())
        fixed = {i: domain[0] for i, domain in enumerate(structure.choice_domains)}
        for numbers in product(*(structure.choice_domains[i] for i in left)):
            choices = {**fixed, **state.choices, **dict(zip(left, numbers))}
            trace = self._trace(state, finished, choices)
            if all(self._holds_up(trace, point) for point in structure.blocking if point.threads):
                yield trace

    def _holds_up(self, trace: Trace, point: BlockingPoint) -> bool:
        """A wait for the end of other threads: passed exactly if all of them ended."""
        halted = trace.stopped.get(point.thread)
        if halted is point:
            return not trace.ended.issuperset(point.threads)
        met = halted is None or halted.before > point.before
        return not (met and trace.value(point.guard)) or trace.ended.issuperset(point.threads)

    def _trace(self, state: _State, finished: Iterable[int], choices: dict[int, int]) -> Trace:
        structure = self.structure
        reads = {**dict.fromkeys(self.domains.values, 0), **state.reads}
        addresses: dict[int, int] = {}
        written: dict[int, int] = {}
        for index in state.executed:
            event = structure.events[index]
            if event.address is not None:
                addresses[index] = evaluate(event.address, reads, choices)
            if event.kind is Kind.WRITE and event.value is not None:
                written[index] = evaluate(event.value, reads, choices)
        over = {b.thread for b in structure.bounds if b.thread in finished and evaluate(b.reached, reads, choices)}
        ended = {t for t in finished if t not in over and evaluate(structure.ends[t], reads, choices)}
        chains = tuple(
            Chain(p, links, {w: k for w, k in state.waits.items() if self.words[w] == p})
            for p, links in ((p, state.chains.get(p, ())) for p in self.taking_part)
        )
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
            chains=chains,
            sources={r: source for chain in chains for r, source in self._sources(state, chain)},
            mbarriers=history(structure, chains, written, reads, choices),
        )

    def _sources(self, state: _State, chain: Chain) -> Iterator[tuple[int, tuple[int, ...]]]:
        behind: list[int] = [INITIAL] * SIZE
        positions: list[tuple[int, ...]] = [tuple(behind)]
        for link in chain.links:
            event = self.structure.events[link.write]
            if event.rmw is not None and is_operation(event):
                yield event.rmw, tuple(behind)
            low = self._stretch(state, event)
            assert low is not None
            for i in range(SIZE):
                if low <= chain.place + i < low + event.size:
                    behind[i] = link.write
            positions.append(tuple(behind))
        for wait, position in chain.waits.items():
            yield wait, positions[position]


def _looked_at(item: Item) -> list[Value]:
    values = [item.guard]
    if isinstance(item, BlockingPoint):
        return values + ([item.passed] if item.passed is not None else [])
    return values + ([item.address] if item.address is not None else [])


def _support(item: Item) -> frozenset[int]:
    return frozenset().union(*(v.support for v in _looked_at(item)))


def traces(structure: Structure, domains: Domains) -> Iterator[Trace]:
    """All traces: every value of every read that happens, every wait passed or waiting for ever."""
    return _Exploration(structure, domains).run()
