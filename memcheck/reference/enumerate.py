"""All final states of a test by brute force: every execution is built and held against the axioms of chapter 8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from memcheck.errors import TooLargeError
from memcheck.events.structure import INITIAL, Kind, Structure
from memcheck.language.test import Observable
from memcheck.reference import axioms
from memcheck.reference.asynchronous import Asynchronous
from memcheck.reference.barriers import (
    Generations,
    barrier_synchronization,
    generations,
    mixtures,
    proxy_barriers,
    rearrivals,
)
from memcheck.reference.causality import Causality, fence_sc_orders, fence_synchronization
from memcheck.reference.coherence import coherence_orders, communication_order, maximal_writes
from memcheck.reference.dependencies import dependencies
from memcheck.reference.domains import find_domains
from memcheck.reference.final import final_values, holds, terms_of
from memcheck.reference.lifetimes import exited, mbarrier_as_data
from memcheck.reference.locations import Cell, Locations, find_cells
from memcheck.reference.pairs import Pairs
from memcheck.reference.patterns import (
    ReadsFrom,
    observation_order,
    pattern_synchronization,
    proxy_synchronization,
)
from memcheck.reference.races import data_races, misuses, readonly_writes
from memcheck.reference.strength import program_order, strong_pairs
from memcheck.reference.traces import traces

State = tuple[int, ...]
"""Values of `test.observed`, in that order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`states`: of executions that end and pass the filter. `race`: some ending execution has a data race.

    `outside`: rules that void the verdict, whatever the states. `hang`: in some execution a thread waits for ever.
    `bound_reached`: some execution goes past a loop bound. `candidates`: how many executions were looked at.
    """

    states: frozenset[State]
    race: bool
    outside: frozenset[str]
    hang: bool
    bound_reached: bool
    candidates: int


@dataclass(frozen=True)
class Consistent:
    """An execution that every axiom allows."""

    locations: Locations
    rf: ReadsFrom
    generations: tuple[Generations, ...]
    causality: Causality
    strong: Pairs
    coherence: Pairs


class _Search:
    def __init__(self, structure: Structure, limit: int) -> None:
        self.structure = structure
        self.limit = limit
        self.candidates = 0
        self.domains = find_domains(structure)
        self.depends = dependencies(structure, self.domains)
        self.cells = find_cells(structure, self.domains)

    def count(self) -> None:
        self.candidates += 1
        if self.candidates > self.limit:
            raise TooLargeError(f"more than {self.limit} candidate executions.")

    def consistent(self) -> Iterator[Consistent]:
        for trace in traces(self.structure, self.domains):
            self.count()
            locations = Locations(trace, self.cells)
            sources = _sources(locations)
            if not all(sources.values()):
                continue
            po, asynchronous = program_order(trace), Asynchronous(trace)
            sources = _without_thread_causality(locations, po, asynchronous, sources)
            strong = strong_pairs(locations) if all(sources.values()) else frozenset()
            for chosen in generations(trace):
                for readings in product(*_readings(locations, sources)):
                    self.count()
                    rf = {key: w for reading in readings for key, w in reading.items()}
                    if axioms.no_thin_air(trace, rf, self.depends, chosen, po):
                        yield from self._ordered(locations, po, asynchronous, strong, chosen, rf)

    def _ordered(
        self,
        locations: Locations,
        po: Pairs,
        asynchronous: Asynchronous,
        strong: Pairs,
        chosen: tuple[Generations, ...],
        rf: ReadsFrom,
    ) -> Iterator[Consistent]:
        trace = locations.trace
        torn = axioms.no_tearing(locations, rf)
        if not all(possible for _, possible in torn):
            return
        observation = observation_order(trace, rf, strong)
        synchronizes = pattern_synchronization(locations, po, observation, asynchronous)
        synchronizes |= barrier_synchronization(trace, chosen, po)
        one_directional = proxy_synchronization(locations, po, observation, asynchronous)
        one_directional |= proxy_barriers(trace, chosen, po)
        without = Causality(locations, po, synchronizes, observation, asynchronous, one_directional)
        if not axioms.causality_of_reads(rf, without.order):
            return
        for fence_order in fence_sc_orders(trace, strong, without.base):
            self.count()
            synchronized = synchronizes | fence_synchronization(fence_order)
            causality = Causality(locations, po, synchronized, observation, asynchronous, one_directional)
            if not axioms.barrier_order(trace, chosen, causality.base):
                continue
            if not axioms.causality_of_reads(rf, causality.order):
                continue
            for coherence in coherence_orders(locations, strong, causality.order):
                self.count()
                execution = Consistent(locations, rf, chosen, causality, strong, coherence)
                if all(pair in coherence for pair, _ in torn) and _allowed(execution):
                    yield execution


Sources = dict[tuple[int, Cell], list[int]]
"""For each cell of each executed read the writes that it may return there."""


def _sources(locations: Locations) -> Sources:
    """8.9.7, rule 1: the writes of the value that the read returns; of an operation on an mbarrier the trace says."""
    trace = locations.trace
    writes = [INITIAL, *(e for e in trace.executed if trace.event(e).kind is Kind.WRITE)]
    chained = {
        (r, cell): [behind[cell[0] - min(low for low, _ in locations.of(r))]]
        for chain in trace.chains
        for r, behind in chain.sources.items()
        for cell in sorted(locations.of(r))
    }
    return chained | {
        (r, cell): [
            w for w in writes if cell in locations.of(w) and locations.value_of(w, cell) == locations.value_of(r, cell)
        ]
        for r in trace.executed
        if trace.event(r).kind is Kind.READ and not any(r in chain.sources for chain in trace.chains)
        for cell in sorted(locations.of(r))
    }


def _without_thread_causality(locations: Locations, po: Pairs, asynchronous: Asynchronous, sources: Sources) -> Sources:
    """Those left by 8.10.6 when nothing synchronizes: more causality only rules out more."""
    trace = locations.trace
    alone = Causality(locations, po, frozenset(), frozenset(), asynchronous).proxy_preserved
    writes = [e for e in trace.executed if trace.event(e).kind is Kind.WRITE]
    left: Sources = {}
    for (r, cell), choices in sources.items():
        earlier = [w for w in writes if cell in locations.of(w) and (w, r) in alone]
        left[r, cell] = [
            w
            for w in choices
            if (r, w) not in alone and not any(w == INITIAL or (w, later) in alone for later in earlier)
        ]
    return left


def _readings(locations: Locations, sources: Sources) -> list[list[dict[tuple[int, Cell], int]]]:
    """Of each read the ways to take its cells from writes; none is torn between two that cannot both be in it."""
    by_read: dict[int, list[dict[tuple[int, Cell], int]]] = {}
    for (r, cell), writes in sources.items():
        by_read[r] = [
            {**reading, (r, cell): w}
            for reading in by_read.get(r, [{}])
            for w in writes
            if all(possible for _, possible in axioms.no_tearing(locations, {**reading, (r, cell): w}))
        ]
    return list(by_read.values())


def _allowed(execution: Consistent) -> bool:
    locations, rf, strong, coherence = execution.locations, execution.rf, execution.strong, execution.coherence
    return (
        axioms.causality_of_writes(locations, rf, execution.causality.order, coherence)
        and axioms.single_copy_atomicity(rf, strong, coherence)
        and axioms.rmw_atomicity(locations, rf, strong, coherence)
        and axioms.sc_per_location(
            locations, execution.causality.po, strong, communication_order(locations, rf, coherence)
        )
    )


def _polls_last_values(execution: Consistent) -> bool:
    """Whether each spin that never ends keeps reading what stays in memory."""
    last = maximal_writes(execution.locations, execution.coherence)
    polled = {r for point in execution.locations.trace.stopped.values() for r in point.polled}
    return all(w in last[cell] for (r, cell), w in execution.rf.items() if r in polled)


def enumerate_outcomes(structure: Structure, limit: int = 20_000) -> Outcome:
    """Every final state, and what is found beside them. TooLargeError beyond `limit` candidate executions."""
    search = _Search(structure, limit)
    states: set[State] = set()
    outside: set[str] = set()
    race = hang = bound_reached = False
    test = structure.test
    terms: tuple[Observable, ...] = tuple(dict.fromkeys([*test.observed, *terms_of(test.filter)]))
    for execution in search.consistent():
        trace = execution.locations.trace
        if trace.cut:
            bound_reached = True
        elif not trace.ends:
            if not _polls_last_values(execution):
                continue
            hang = True
        outside |= _broken_rules(execution)
        races = data_races(execution.locations, execution.strong, execution.causality.order)
        if races.mixed:
            outside.add("mixed-size-race")
        if not trace.ends:
            continue
        race = race or bool(races.uniform)
        for values in final_values(execution.locations, execution.coherence, terms):
            if test.filter is None or holds(structure, test.filter, values):
                states.add(tuple(values[t] for t in test.observed))
    return Outcome(frozenset(states), race, frozenset(outside), hang, bound_reached, search.candidates)


def _broken_rules(execution: Consistent) -> frozenset[str]:
    trace = execution.locations.trace
    found = set(misuses(trace))
    for generation in execution.generations:
        found |= generation.mixed
        po, base = execution.causality.po, execution.causality.base
        if rearrivals(trace, generation, po, base):
            found.add("barrier-rearrival")
        if mixtures(trace, generation, po, base):
            found.add("barrier-mismatch")
    if readonly_writes(execution.locations):
        found.add("readonly-write")
    if mbarrier_as_data(execution.locations, execution.causality.order):
        found.add("mbarrier-bytes")
    causality = execution.causality
    if exited(execution.locations, causality.po, execution.rf, execution.generations, causality.asynchronous):
        found.add("exited-cta")
    return frozenset(found)
