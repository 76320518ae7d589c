"""Small tests and the machine's states, for tests by hand."""

from __future__ import annotations

from memcheck.language.load import parse_test
from memcheck.language.test import Test
from memcheck.machine import Reached, simulate
from memcheck.machine.machine import Machine
from memcheck.machine.operations import Move
from memcheck.machine.state import State
from memcheck.source import SourceFile


def built(*threads: str, variables: str = ".global .u32 x = 0; .global .u32 y = 0;", end: str = "") -> Test:
    """A test of threads `PLACE { BODY }`."""
    heads = "\n".join(f"P{index} @ {thread}" for index, thread in enumerate(threads))
    return parse_test(SourceFile("built", f"PTX built\n{{ {variables} }}\n{heads}\n{end}"))


def reached(*threads: str, variables: str = ".global .u32 x = 0; .global .u32 y = 0;", end: str = "") -> Reached:
    """What the machine reaches, of all runs."""
    result = simulate(built(*threads, variables=variables, end=end), seconds=30)
    assert result.complete
    return result


def states(
    *threads: str, variables: str = ".global .u32 x = 0; .global .u32 y = 0;", end: str = ""
) -> set[tuple[int, ...]]:
    """The final states reached."""
    return set(reached(*threads, variables=variables, end=end).states)


def step(machine: Machine, state: State, part: str) -> State:
    """The state after the first move whose text has a part."""
    move = find(machine, state, part)
    return move.act(state, *move.arguments)


def find(machine: Machine, state: State, part: str) -> Move:
    """The first move whose text has a part."""
    return next(move for move in machine.moves(state) if part in move.text)


def texts(machine: Machine, state: State) -> list[str]:
    """What can happen."""
    return [move.text for move in machine.moves(state)]
