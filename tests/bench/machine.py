"""The machine: how long it takes to go through small tests and how fast it draws runs, each beside its goal.

And in how many tests of the suite it reaches every state that the model allows, with the reasons where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from memcheck.checker import check
from memcheck.corpus import Case, find, suite
from memcheck.crossrun import REASONS, SECONDS, Crossrun, crossrun
from memcheck.errors import MemcheckError
from memcheck.events.unfold import unfold
from memcheck.language.test import Test
from memcheck.machine import runs
from memcheck.machine.explore import KEPT, Reached, Runs, explore
from memcheck.machine.machine import Machine
from tests.bench.measure import BOUND, cpu, is_asynchronous, ms

EXPLORED = {"MP+rlx+rlx": 1.0, "SB+rlx": 1.0, "IRIW+rlx": 1.0, "tma-pipeline-2x2": 60.0}
"""Tests with the goal for going through every state, in seconds."""
DRAWN = ("MP+rlx+rlx", "tma-pipeline-2x2")
STEPS = 20_000
"""Random steps a second: the goal."""
SHARE = 0.9
"""Of tests in which every allowed state is reached: the goal."""
ENOUGH = 10**9
DRAWING = 2.0
PATIENCE = 20.0
"""Seconds for the model's answer."""
KINDS = ("synchronous", "asynchronous")
"""Of tests."""


def explorations() -> None:
    """Every state of a few tests, beside all steps instead of those that stand for them, and the model's answer."""
    print("\nthe machine, every final state")
    print(f"  {'':22}{'':>12}{'goal':>12}{'states':>10}{'to all steps':>14}{'to the model':>14}")
    for name, goal in EXPLORED.items():
        machine, found = Machine(_named(name)), []

        def few(machine: Machine, found: list[Reached] = found) -> None:
            found.append(explore(machine, ENOUGH, ENOUGH))

        seconds = min(cpu(few, machine) for _ in range(3))
        every = min(cpu(lambda one: explore(one, ENOUGH, ENOUGH, reduces=False), machine) for _ in range(3))
        model = min(cpu(lambda one: check(one.test, verify=False), machine) for _ in range(3))
        row = f"  {name:22}{ms(seconds):>12}{ms(goal):>12}{found[0].visited:>10}"
        print(f"{row}{seconds / every:14.2f}{seconds / model:14.2f}")
    print(f"\nthe machine, random steps a second\n  {'':22}{'':>12}{'goal':>12}{'remembering nothing':>22}")
    for name in DRAWN:
        test = _named(name)
        fast, slow = (_speed(test, kept) for kept in (KEPT, 0))
        print(f"  {name:22}{fast:>12,.0f}{STEPS:>12,}{slow:>22,.0f}")


def _named(name: str) -> Test:
    return next(case.parse() for case in find(name) if case.name == name)


def _speed(test: Test, kept: int) -> float:
    found: list[Runs] = []
    seconds = cpu(lambda one: found.append(runs(one, ENOUGH, 1, seconds=DRAWING, kept=kept)), test)
    return found[0].steps / seconds


@dataclass(frozen=True, slots=True)
class Compared:
    """A test of the suite: its kind, and the comparison, or why there is none."""

    kind: str
    found: Crossrun | str


def shares(limit: int | None) -> None:
    """The suite: the share of tests in which all is reached, and how often each reason is why not."""
    every = list(_compared(find(suite())[:limit]))
    print(f"\nthe machine, tests in which every allowed state is reached, {SECONDS} s a test, goal {SHARE:.0%}")
    print(f"  {'':22}{'tests':>10}{'reached':>10}{'share':>10}{'not explored whole':>22}{'forbidden reached':>20}")
    for name, kinds in (*((kind, (kind,)) for kind in KINDS), ("together", KINDS)):
        found = [one.found for one in every if one.kind in kinds and isinstance(one.found, Crossrun)]
        reached = sum(not one.missing for one in found)
        row = f"  {name:22}{len(found):>10}{reached:>10}{reached / max(1, len(found)):>10.1%}"
        print(f"{row}{sum(not one.complete for one in found):>22}{sum(bool(one.refuted) for one in found):>20}")
    print(f"  {'states not reached':22}{'states':>10}{'tests':>10}{'synchronous':>14}{'asynchronous':>14}")
    states = {kind: Counter[str]() for kind in KINDS}
    tests: Counter[str] = Counter()
    for one in every:
        if isinstance(one.found, Crossrun):
            states[one.kind].update(one.found.missing.values())
            tests.update(set(one.found.missing.values()))
    for reason in REASONS:
        counts = [states[kind][reason] for kind in KINDS]
        print(f"  {reason:22}{sum(counts):>10}{tests[reason]:>10}{counts[0]:>14}{counts[1]:>14}")
    left = Counter(one.found for one in every if isinstance(one.found, str))
    print(f"  not compared: {', '.join(f'{count} {why}' for why, count in sorted(left.items())) or 'none'}")


def _compared(cases: list[Case]) -> Iterator[Compared]:
    for case in cases:
        try:
            test = case.parse()
            kind = KINDS[is_asynchronous(unfold(test, BOUND))]
        except MemcheckError:
            yield Compared("", "not read, as expected of them")
            continue
        yield Compared(kind, _crossrun(test))


def _crossrun(test: Test) -> Crossrun | str:
    try:
        result = check(test, verify=False, timeout=PATIENCE)
        if result.outside:
            return "outside the model"
        if result.undecided or not result.complete:
            return "undecided by the model"
        return crossrun(result)
    except MemcheckError:
        return "not executed by the machine"
