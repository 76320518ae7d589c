"""What each thread does once it is said what its reads return: which events happen, where threads stop (8.9.1).

Reads guess their values, but for those of operations on mbarriers, which get them from the chain of their object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from memcheck.events.structure import BlockingPoint, Event, Kind, Structure
from memcheck.events.value import Value, evaluate
from memcheck.reference.chains import Chain, Chaining, History, history
from memcheck.reference.domains import Domains
from memcheck.reference.progress import Item, Programs, Progress, looked_at


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
    chains: tuple[Chain, ...] = ()
    mbarriers: History = field(default=History())

    def event(self, index: int) -> Event:
        return self.structure.events[index]

    def value(self, value: Value) -> int:
        return evaluate(value, self.reads, self.choices)

    @property
    def ends(self) -> bool:
        return not self.stopped and not self.cut


class _Exploration:
    def __init__(self, structure: Structure, domains: Domains) -> None:
        self.structure = structure
        self.domains = domains
        self.programs = Programs(structure)
        self.chaining = Chaining(structure, domains, self.programs)

    def run(self) -> Iterator[Trace]:
        pending = [self.programs.start()]
        seen = set()
        while pending:
            progress = pending.pop()
            if self.chaining.is_stale(progress):
                continue
            item = self._ready(progress)
            if item is not None:
                pending.extend(self._next(progress, item))
            elif not progress.pending:
                yield from self._finish(progress)
            elif progress.key not in seen:
                seen.add(progress.key)
                pending.extend(self.chaining.placements(progress))

    def _ready(self, progress: Progress) -> Item | None:
        """Some thread's next item, if what says whether and where it happens is known."""
        for thread in range(len(self.programs.threads)):
            item = self.programs.following(progress, thread)
            if item is not None and all(v.support <= progress.reads.keys() for v in looked_at(item)):
                return item
        return None

    def _next(self, progress: Progress, item: Item) -> Iterator[Progress]:
        """After an item, or what a choice that it hangs on may be."""
        undecided = sorted(self.programs.choices_in(*looked_at(item)) - progress.choices.keys())
        if undecided:
            for number in self.structure.choice_domains[undecided[0]]:
                yield replace(progress, choices={**progress.choices, undecided[0]: number})
            return
        at, thread = progress.position, item.thread
        onward = replace(progress, position=(*at[:thread], at[thread] + 1, *at[thread + 1 :]))
        happens = bool(evaluate(item.guard, progress.reads, progress.choices))
        if isinstance(item, BlockingPoint):
            yield from self._wait(onward, item, happens)
        elif not happens:
            yield replace(onward, reads={**progress.reads, item.index: 0}) if item.kind is Kind.READ else onward
        else:
            yield from self._happen(replace(onward, executed=(*progress.executed, item.index)), item)

    def _wait(self, onward: Progress, point: BlockingPoint, happens: bool) -> Iterator[Progress]:
        halted = replace(onward, stopped={**onward.stopped, point.thread: point})
        if not happens or not (point.barrier is None or point.barrier in onward.executed):
            yield onward
        elif point.passed is not None:
            yield onward if evaluate(point.passed, onward.reads, onward.choices) else halted
        else:
            yield onward
            yield halted

    def _happen(self, progress: Progress, event: Event) -> Iterator[Progress]:
        operates = event.index in self.chaining.words
        # The write of an operation comes into the chain with its read.
        if event.kind is (Kind.READ if operates else Kind.WRITE) and self.chaining.of(progress, event):
            yield replace(progress, pending=(*progress.pending, event.index))
        elif event.kind is Kind.READ:
            for number in self.domains.values[event.index]:
                yield replace(progress, reads={**progress.reads, event.index: number})
        else:
            yield progress

    def _finish(self, progress: Progress) -> Iterator[Trace]:
        structure = self.structure
        fixed = {i: domain[0] for i, domain in enumerate(structure.choice_domains)}
        left = sorted(self.programs.choices_in(*self._of_interest(progress)) - progress.choices.keys())
        for numbers in product(*(structure.choice_domains[i] for i in left)):
            trace = self._trace(progress, {**fixed, **progress.choices, **dict(zip(left, numbers))})
            if all(_holds_up(trace, point) for point in structure.blocking if point.threads):
                yield trace

    def _of_interest(self, progress: Progress) -> list[Value]:
        """The values that anything will look at."""
        structure = self.structure
        events = [structure.events[e] for e in progress.executed]
        values = [e.value for e in events if e.value is not None]
        values += [mark for e in events for mark in (e.marks or {}).values()]
        values += [*structure.final_registers.values(), *structure.ends, *(b.reached for b in structure.bounds)]
        values += [m.condition for m in structure.misuses if m.event is None or m.event in progress.executed]
        arrivals = [a for meeting in structure.rendezvous for a in meeting.arrivals if a.event in progress.executed]
        return values + [v for a in arrivals for v in (a.member, a.source) if v is not None]

    def _trace(self, progress: Progress, choices: dict[int, int]) -> Trace:
        structure = self.structure
        reads = {**dict.fromkeys(self.domains.values, 0), **progress.reads}
        addresses: dict[int, int] = {}
        written: dict[int, int] = {}
        for index in progress.executed:
            event = structure.events[index]
            if event.address is not None:
                addresses[index] = evaluate(event.address, reads, choices)
            if event.kind is Kind.WRITE and event.value is not None:
                written[index] = evaluate(event.value, reads, choices)
        finished = {
            t
            for t, program in enumerate(self.programs.threads)
            if t not in progress.stopped and progress.position[t] == len(program)
        }
        over = {b.thread for b in structure.bounds if b.thread in finished and evaluate(b.reached, reads, choices)}
        ended = {t for t in finished if t not in over and evaluate(structure.ends[t], reads, choices)}
        chains = self.chaining.finished(progress)
        return Trace(
            structure=structure,
            executed=tuple(sorted(progress.executed)),
            reads=reads,
            choices=choices,
            addresses=addresses,
            written=written,
            stopped=progress.stopped,
            cut=frozenset(finished) - ended,
            ended=frozenset(ended),
            chains=chains,
            mbarriers=history(structure, chains, written, reads, choices),
        )


def _holds_up(trace: Trace, point: BlockingPoint) -> bool:
    """A wait for the end of other threads: passed exactly if all of them ended."""
    halted = trace.stopped.get(point.thread)
    all_ended = trace.ended.issuperset(point.threads)
    if halted is point:
        return not all_ended
    met = halted is None or halted.before > point.before
    return all_ended or not (met and trace.value(point.guard))


def traces(structure: Structure, domains: Domains) -> Iterator[Trace]:
    """All traces: every value of every read that happens, every wait passed or waiting for ever."""
    return _Exploration(structure, domains).run()
