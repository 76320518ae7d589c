"""Which final states the machine reaches: every run where the budget allows, else runs drawn at random."""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from memcheck.language.test import Test
from memcheck.machine.machine import Machine
from memcheck.machine.operations import Move
from memcheck.machine.reduction import Reduction
from memcheck.machine.state import State
from memcheck.machine.warps import INDEPENDENT

Outcome = tuple[int, ...]
"""Values of what the test observes, in its order."""

STATES = 200_000
SECONDS = 10.0
STEPS = 20_000
"""Of one random run: longer ones are given up."""
KEPT = 20_000
"""States that random runs remember."""


@dataclass(frozen=True, slots=True)
class Reached:
    """`states`: final ones, those that the test filters out left out. `complete`: no others are reached.

    `hangs`: from some state that was reached no run ends; `traps`: some run ends in undefined behaviour. `steps` taken,
    `visited` states told apart. `interrupted`: it was ended from outside, with what was known by then. `tired`: a
    thread went round a loop for so long that its run was given up.
    """

    states: frozenset[Outcome]
    complete: bool
    hangs: bool
    traps: bool
    steps: int
    visited: int
    interrupted: bool = False
    tired: bool = False


@dataclass(slots=True)
class Runs:
    """What random runs came to.

    `filtered`: states that the test filters out; `unended`: neither a final state nor a hang within the steps of a run.
    """

    states: Counter[Outcome] = field(default_factory=Counter)
    hangs: int = 0
    traps: int = 0
    unended: int = 0
    steps: int = 0
    filtered: int = 0
    interrupted: bool = False


Run = list[tuple[Move, State]]
"""Steps, each with the state after it."""


def simulate(
    test: Test,
    *,
    budget_states: int = STATES,
    seconds: float = SECONDS,
    scheduling: str | None = INDEPENDENT,
) -> Reached:
    """Every final state that the machine reaches, within a budget."""
    return explore(Machine(test, scheduling), budget_states, seconds)


def explore(machine: Machine, budget_states: int = STATES, seconds: float = SECONDS, reduces: bool = True) -> Reached:
    """All states by depth first, each once, but those that others stand for where it `reduces`."""
    deadline = time.process_time() + seconds
    ways = (Reduction(machine).moves, machine.moves) if reduces else (machine.moves,)
    start = machine.initial()
    number: dict[State, int] = {start: 0}
    before: list[list[int]] = [[]]
    finals: list[int] = []
    outcomes: set[Outcome] = set()
    traps = False
    complete, interrupted, tired = True, False, False
    steps = 0
    pending = [start]
    try:
        while pending:
            state = pending.pop()
            here = number[state]
            # the clock is dear
            if len(number) > budget_states or (here % 64 == 0 and time.process_time() > deadline):
                complete = False
                break
            if machine.final(state):
                finals.append(here)
                if machine.kept(state):
                    outcomes.add(machine.outcome(state))
                continue
            if machine.trapped(state):
                traps = True
                finals.append(here)
                continue
            if machine.tired(state):
                complete, tired = False, True
                finals.append(here)
                continue
            fresh = False
            for moves in ways:
                for move in moves(state):
                    after = move.act(state, *move.arguments)
                    steps += 1
                    known = number.get(after)
                    if known is None:
                        fresh = True
                        known = number[after] = len(before)
                        before.append([])
                        pending.append(after)
                    before[known].append(here)
                if fresh:
                    break
    except KeyboardInterrupt:
        complete, interrupted = False, True
    hangs = complete and not all(_leading(before, finals))
    return Reached(frozenset(outcomes), complete, hangs, traps, steps, len(number), interrupted, tired)


def _leading(before: Sequence[Sequence[int]], goals: Iterable[int]) -> bytearray:
    """For each state whether one of the goals is reached from it, over steps given from their ends."""
    found = bytearray(len(before))
    pending = list(goals)
    for one in pending:
        found[one] = 1
    while pending:
        for earlier in before[pending.pop()]:
            if not found[earlier]:
                found[earlier] = 1
                pending.append(earlier)
    return found


def runs(
    test: Test,
    n: int,
    seed: int = 0,
    *,
    scheduling: str | None = INDEPENDENT,
    steps: int = STEPS,
    seconds: float | None = None,
    kept: int = KEPT,
) -> Runs:
    """`n` random runs of a test: see `draw`."""
    return draw(Machine(test, scheduling), n, seed, steps=steps, seconds=seconds, kept=kept)


def draw(
    machine: Machine, n: int, seed: int = 0, *, steps: int = STEPS, seconds: float | None = None, kept: int = KEPT
) -> Runs:
    """`n` runs with steps drawn at random, the same for the same seed; fewer where the seconds are over before.

    Each run has moods of its own: how likely each unit and thread is to go on, so that some stay far behind. The first
    `kept` states are remembered with what follows them, which is faster and changes nothing else.
    """
    walk = _Walk(machine, seed, kept)
    found = Runs()
    deadline = None if seconds is None else time.process_time() + seconds
    try:
        for _ in range(n):
            if deadline is not None and time.process_time() > deadline:
                break
            walk.run(found, steps)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


class _Node:
    """A state that random runs have been in, and what they have worked out of it."""

    __slots__ = ("keys", "moves", "results", "state")

    def __init__(self, machine: Machine, state: State) -> None:
        self.state = state
        self.moves = machine.moves(state)
        self.keys = [(move.unit, move.thread) for move in self.moves]
        self.results: list[_Node | None] = [None] * len(self.moves)


_MOODS = (0.05, 0.3, 1.0, 1.0, 4.0)


class _Walk:
    """Random runs of one machine."""

    def __init__(self, machine: Machine, seed: int, kept: int) -> None:
        self.machine = machine
        self.kept = kept
        self.random = random.Random(seed)
        self.known: dict[State, _Node] = {}
        self.start = self.node(machine.initial())

    def node(self, state: State) -> _Node:
        found = self.known.get(state)
        if found is None:
            found = _Node(self.machine, state)
            if len(self.known) < self.kept:
                self.known[state] = found
        return found

    def after(self, node: _Node, number: int) -> _Node:
        result = node.results[number]
        if result is None:
            move = node.moves[number]
            result = self.node(move.act(node.state, *move.arguments))
            if len(self.known) < self.kept:
                node.results[number] = result
        return result

    def run(self, found: Runs, limit: int) -> None:
        """One run, to its end or to the limit of its steps."""
        moods: dict[tuple[str, int | None], float] = {}
        draw, node = self.random.random, self.start
        for _ in range(limit):
            keys = node.keys
            if not keys:
                break
            number = 0
            if len(keys) > 1:
                weights = []
                for key in keys:
                    mood = moods.get(key)
                    if mood is None:
                        mood = moods[key] = _MOODS[int(draw() * len(_MOODS))]
                    weights.append(mood)
                left = draw() * sum(weights)
                while number < len(weights) - 1 and left >= weights[number]:
                    left -= weights[number]
                    number += 1
            node = self.after(node, number)
            found.steps += 1
        else:
            found.unended += 1
            return
        machine, state = self.machine, node.state
        if machine.trapped(state):
            found.traps += 1
        elif machine.tired(state):
            found.unended += 1
        elif not machine.final(state):
            found.hangs += 1
        elif machine.kept(state):
            found.states[machine.outcome(state)] += 1
        else:
            found.filtered += 1


def shortest(
    machine: Machine,
    wanted: Outcome | Callable[[Outcome], bool],
    budget_states: int = STATES,
    seconds: float = SECONDS,
) -> Run | None:
    """A shortest run to a final state, or to one that is wanted; None where the budget reaches none."""
    wants = wanted if callable(wanted) else lambda outcome: outcome == wanted

    def ends(state: State) -> bool:
        return machine.final(state) and machine.kept(state) and wants(machine.outcome(state))

    return _Breadth(machine, budget_states, seconds).run(ends)


def shortest_to_trap(machine: Machine, budget_states: int = STATES, seconds: float = SECONDS) -> Run | None:
    """A shortest run into undefined behaviour; None where the budget reaches none."""
    return _Breadth(machine, budget_states, seconds).run(machine.trapped)


def run_to_hang(machine: Machine, budget_states: int = STATES, seconds: float = SECONDS) -> Run | None:
    """A run to where only the same states come again, none of them final, or none at all.

    None where there is no such state, or the budget did not suffice.
    """
    search = _Breadth(machine, budget_states, seconds)
    edges: list[tuple[State, State]] = []
    search.run(lambda _state: False, edges)
    if not search.complete:
        return None
    states = list(search.parents)
    number = {state: index for index, state in enumerate(states)}
    after: list[list[int]] = [[] for _ in states]
    before: list[list[int]] = [[] for _ in states]
    for state, following in edges:
        after[number[state]].append(number[following])
        before[number[following]].append(number[state])
    finals = (index for index, state in enumerate(states) if machine.final(state) or machine.trapped(state))
    ends = _leading(before, finals)
    here = next((index for index in range(len(states)) if not ends[index]), None)
    while here is not None:
        around, back = _leading(after, [here]), _leading(before, [here])
        gone = next((index for index in range(len(states)) if around[index] and not back[index]), None)
        if gone is None:
            return search.path(states[around.index(1)])
        here = gone
    return None


class _Breadth:
    """States in the order of how many steps lead to them, each with the step that did. `complete`: that is all."""

    def __init__(self, machine: Machine, budget_states: int, seconds: float) -> None:
        self.machine = machine
        self.budget = budget_states
        self.deadline = time.process_time() + seconds
        self.parents: dict[State, tuple[State, Move] | None] = {machine.initial(): None}
        self.complete = self.tired = False

    def run(self, goal: Callable[[State], bool], edges: list[tuple[State, State]] | None = None) -> Run | None:
        """The steps to the first state that is a goal; into `edges` goes each step that was looked at."""
        machine, parents = self.machine, self.parents
        pending = deque(parents)
        while pending and len(parents) <= self.budget and time.process_time() <= self.deadline:
            state = pending.popleft()
            if goal(state):
                return self.path(state)
            if machine.final(state):
                continue
            self.tired = self.tired or machine.tired(state)
            for move in machine.moves(state):
                after = move.act(state, *move.arguments)
                if edges is not None:
                    edges.append((state, after))
                if after not in parents:
                    parents[after] = state, move
                    pending.append(after)
        self.complete = not pending and not self.tired
        return None

    def path(self, state: State) -> Run:
        """The steps to a state."""
        steps: Run = []
        parent = self.parents[state]
        while parent is not None:
            steps.append((parent[1], state))
            state = parent[0]
            parent = self.parents[state]
        return steps[::-1]
