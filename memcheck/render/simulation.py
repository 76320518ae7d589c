"""What the machine reaches in one test: a page, JSON, the run to one state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memcheck.axiomatic.outcome import State
from memcheck.errors import MemcheckError
from memcheck.language.condition import satisfies
from memcheck.language.test import Observable, RegisterTerm, Test
from memcheck.machine.explore import Reached, Runs
from memcheck.machine.machine import Machine
from memcheck.machine.trace import TraceStep
from memcheck.machine.warps import INDEPENDENT, STACK
from memcheck.render.ink import Line, wrap
from memcheck.render.jsonlines import SCHEMA
from memcheck.render.sentence import count
from memcheck.render.states import LIMIT, MARK, Column, chosen, table, value
from memcheck.render.trace import trace_table


@dataclass(frozen=True, slots=True)
class Simulation:
    """`counts`: how often each state was reached in so many `drawn` runs; 0 where all runs were explored.

    `complete`: no other states are reached. `limit`: what ended an exploration that is not.
    """

    test: Test
    counts: Mapping[State, int]
    complete: bool
    hangs: int
    traps: int
    steps: int
    visited: int = 0
    drawn: int | None = None
    seed: int = 0
    unended: int = 0
    interrupted: bool = False
    limit: str = ""
    scheduling: str | None = INDEPENDENT


def explored(machine: Machine, found: Reached, seconds: float, budget: int) -> Simulation:
    """Of a search through all runs, within a time and a number of states."""
    limit = "" if found.complete else _limit(found, seconds, budget)
    return Simulation(
        test=machine.test,
        scheduling=machine.scheduling,
        counts=dict.fromkeys(sorted(found.states), 0),
        complete=found.complete,
        hangs=int(found.hangs),
        traps=int(found.traps),
        steps=found.steps,
        visited=found.visited,
        interrupted=found.interrupted,
        limit=limit,
    )


def _limit(found: Reached, seconds: float, budget: int) -> str:
    if found.interrupted:
        return "it was interrupted"
    if found.tired:
        return "a thread goes round a loop, and nothing that others could see came of it for too long"
    if found.visited > budget:
        return f"{count(budget, 'state')} of the machine (--budget) {'was' if budget == 1 else 'were'} not enough"
    return f"{seconds:g} s (--timeout) were not enough"


def ran(machine: Machine, found: Runs, wanted: int, seed: int) -> Simulation:
    """Of random runs."""
    drawn = sum(found.states.values()) + found.hangs + found.traps + found.unended + found.filtered
    return Simulation(
        test=machine.test,
        scheduling=machine.scheduling,
        counts=dict(sorted(found.states.items())),
        complete=False,
        hangs=found.hangs,
        traps=found.traps,
        steps=found.steps,
        drawn=drawn,
        seed=seed,
        unended=found.unended,
        interrupted=found.interrupted,
        limit="" if drawn == wanted else "it was interrupted" if found.interrupted else "the time limit was reached",
    )


# ---- the page


def simulation_lines(found: Simulation, room: int, everything: bool = False) -> list[Line]:
    """Name, condition, states, how sure that is."""
    test = found.test
    states = list(found.counts)
    marked = _satisfying(test, states)
    lines: list[Line] = [[(test.name, "title")]]
    for text in test.description:
        lines += wrap(" ".join(text.split()), room, [])
    if test.condition is not None:
        lines += [[], *wrap(test.condition.text, room, [("  ", "")], [("      ", "")], style="code")]
        if marked:
            lines.append([("  ", ""), (MARK, "mark"), (" satisfies its proposition", "faint")])
    if states and test.observed:
        shown = chosen(states, marked, None if everything else LIMIT)
        columns = []
        if found.drawn is not None:
            columns = [Column("runs", [(str(found.counts[state]), "faint") for state in shown])]
        lines += [[], *table(keys(test), shown, columns, marked, room)]
        if len(shown) < len(states):
            lines.append([(f"    … and {count(len(states) - len(shown), 'more state')} (--all shows them)", "faint")])
    return [*lines, [], *_certainty(found, room), *_endings(found, room)]


def _certainty(found: Simulation, room: int) -> list[Line]:
    number = count(len(found.counts), "final state")
    if found.drawn is not None:
        sign: Line = [("· ", "title")]
        text = f"{number} in {count(found.drawn, 'random run')} with seed {found.seed}; there may be others."
        if found.limit:
            text += f" Not all runs were made: {found.limit}."
    elif found.complete:
        sign = [("✓ ", "good")]
        text = f"{number}, and no others: every run was explored ({count(found.visited, 'state')} of the machine)."
        if found.scheduling == STACK:
            text += " Lanes of a warp were scheduled on a stack, as before Volta."
        if not found.counts:
            sign = [("✗ ", "bad")]
    else:
        sign = [("? ", "doubt")]
        text = f"{number} so far, and perhaps others: {found.limit}. --runs N draws runs at random."
    return wrap(text, room, sign)


def _endings(found: Simulation, room: int) -> list[Line]:
    lines: list[Line] = []
    runs = found.drawn is not None
    if found.hangs:
        text = f"{count(found.hangs, 'run')} never ended" if runs else "some run never ends"
        lines += wrap(f"{text}: a thread waits for ever.", room, [("⚑ ", "flag")])
    if found.traps:
        text = f"{count(found.traps, 'run')} ended" if runs else "some run ends"
        lines += wrap(f"{text} in undefined behaviour.", room, [("⚑ ", "flag")])
    if found.unended:
        lines += wrap(f"{count(found.unended, 'run')} given up after too many steps.", room, [("⚑ ", "flag")])
    return lines


def keys(test: Test) -> tuple[str, ...]:
    """The names of what the test observes."""
    return tuple(test.key(term) for term in test.observed)


def _satisfying(test: Test, states: Sequence[State]) -> frozenset[State]:
    if test.condition is None:
        return frozenset()
    prop = test.condition.prop

    def holds(state: State) -> bool:
        values = dict(zip(test.observed, state, strict=True))
        return satisfies(prop, lambda term: (values[term], width(test, term)))

    return frozenset(filter(holds, states))


def width(test: Test, term: Observable) -> int:
    """Bits of what a test observes."""
    if isinstance(term, RegisterTerm):
        return test.threads[term.thread].widths.get(term.name, 32)
    return 8 * test.variables[term.variable].type.size


# ---- one state


DEADLOCK, UNDEFINED = "deadlock", "undefined"
ENDINGS = {DEADLOCK: "a state from which no run ends", UNDEFINED: "undefined behaviour"}
"""What `--trace` finds beside final states."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Values of some of what a test observes, or another `ending` of a run; `text` as it is told."""

    text: str
    positions: Mapping[int, int]
    ending: str = "state"

    def matches(self, state: State) -> bool:
        """Whether a final state has these values."""
        return all(state[position] == number for position, number in self.positions.items())


def state_wanted(test: Test, text: str) -> Wanted:
    """`P1:r0=1,x=2`, or one of ENDINGS; MemcheckError for what the test does not observe or is no number."""
    if text.strip() in ENDINGS:
        return Wanted(ENDINGS[text.strip()], {}, text.strip())
    names = keys(test)
    positions: dict[int, int] = {}
    for part in filter(None, (piece.strip(" ;{}") for piece in text.replace(";", ",").split(","))):
        name, equals, digits = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise MemcheckError(
                f"--trace: `{part}` is no value; write NAME=NUMBER, such as {_example(names)},"
                f" or {' or '.join(ENDINGS)}"
            )
        if name.replace("%", "") not in names:
            known = ", ".join(names) or "nothing"
            raise MemcheckError(
                f"--trace: a final state of {test.name} has no `{name}`; it has {known}"
                " (`locations [...]` in the test adds others)"
            )
        position = names.index(name.replace("%", ""))
        try:
            number = int(digits.lstrip("= "), 0)
        except ValueError:
            raise MemcheckError(f"--trace: `{digits}` is no number; write {name}=1 or {name}=0x1") from None
        wide = width(test, test.observed[position])
        if not -(1 << wide - 1) <= number < 1 << wide:
            raise MemcheckError(f"--trace: {digits} does not fit into the {wide} bits of {name}")
        number %= 1 << wide
        other = positions.setdefault(position, number)
        if other != number:
            raise MemcheckError(f"--trace: {name} is given two values, {value(other)} and {value(number)}")
    told = ", ".join(f"{names[position]}={value(number)}" for position, number in positions.items())
    return Wanted(told or "any state", positions)


def _example(names: Sequence[str]) -> str:
    return "'" + ",".join(f"{name}=1" for name in names[:2]) + "'"


def trace_lines(
    test: Test, wanted: Wanted, steps: Sequence[TraceStep], standing: Iterable[str], room: int
) -> list[Line]:
    """The run as a table under what it leads to; where it never ends, the threads that are `standing` somewhere."""
    title: Line = [(test.name, "title")]
    run = "A run" if wanted.ending == DEADLOCK else "A shortest run"
    text = f"{run} to {wanted.text}: {count(len(steps) - 1, 'step')}."
    return [title, *wrap(text, room, []), [], *trace_table(steps, room), *left_lines(wanted, standing, room)]


def left_lines(wanted: Wanted, standing: Iterable[str], room: int) -> list[Line]:
    """Which threads a deadlock leaves, and what is undefined."""
    heads = {DEADLOCK: "From here on no run ends", UNDEFINED: "This is undefined behaviour"}
    if wanted.ending not in heads:
        return []
    return [[], *wrap(f"{heads[wanted.ending]}: {', '.join(standing)}.", room, [("⚑ ", "flag")])]


def not_reached(test: Test, wanted: Wanted, found: Reached, room: int) -> list[Line]:
    """That a state is not reached, and which are."""
    names = keys(test)
    if found.complete:
        lines = wrap(f"The machine does not reach {wanted.text} in {test.name}: every run was explored.", room, [])
    else:
        text = f"The machine has not reached {wanted.text} in {test.name} so far, and not every run was explored"
        lines = wrap(f"{text}; a larger --budget or --timeout may find it.", room, [])
    states = sorted(found.states)
    if states and names:
        lines += [[], [("It reaches", "")], *table(names, chosen(states, (), LIMIT), (), (), room)]
    return lines


# ---- JSON


def simulation_json(found: Simulation) -> str:
    """`counts` are null where every run was explored; `complete` says whether that came to an end."""
    names = keys(found.test)
    fields = {
        "schema": SCHEMA,
        "file": found.test.source.name,
        "test": found.test.name,
        "states": [dict(zip(names, state, strict=True)) for state in found.counts],
        "counts": None if found.drawn is None else list(found.counts.values()),
        "complete": found.complete,
        "scheduling": found.scheduling,
        "hangs": found.hangs if found.drawn is not None else bool(found.hangs),
        "traps": found.traps if found.drawn is not None else bool(found.traps),
        "runs": found.drawn,
        "seed": None if found.drawn is None else found.seed,
        "steps": found.steps,
        "visited": None if found.drawn is not None else found.visited,
        "error": None,
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


def trace_json(test: Test, wanted: Wanted, steps: Sequence[TraceStep] | None, complete: bool = False) -> str:
    """`trace` is null where the state was not reached; `complete`: then it never is."""
    names = keys(test)
    fields = {
        "schema": SCHEMA,
        "file": test.source.name,
        "test": test.name,
        "ending": wanted.ending,
        "state": {names[position]: number for position, number in wanted.positions.items()},
        "reached": steps is not None,
        "complete": complete or steps is not None,
        "trace": None if steps is None else [_step(step) for step in steps],
        "error": None,
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"


def _step(step: TraceStep) -> dict[str, object]:
    return {
        "step": step.number,
        "unit": step.unit,
        "thread": step.thread,
        "happened": step.happened,
        "changed": list(step.changes),
    }


def error_json(file: str, test: str | None, error: str) -> str:
    """A test that the machine cannot run."""
    return json.dumps({"schema": SCHEMA, "file": file, "test": test, "error": error}, ensure_ascii=False) + "\n"
