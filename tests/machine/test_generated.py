"""Generated programs: what the machine reaches is allowed, whatever of the language they use."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from memcheck.checker import check
from memcheck.errors import MemcheckError
from memcheck.language.load import parse_test
from memcheck.machine import runs, simulate
from memcheck.machine.explore import explore
from memcheck.machine.machine import Machine
from memcheck.source import SourceFile
from tests.engines.programs import programs

QUICK, LONG = 60, 3_000
SEED = int(os.environ.get("MACHINE_SEED", "1"))


def compare(text: str) -> None:
    """AssertionError where the machine reaches a state that the model forbids, or hangs where it does not."""
    test = parse_test(SourceFile("generated", text))
    try:
        result = check(test, bound=2, timeout=5, verify=False)
    except MemcheckError:
        return
    if result.outside or result.undecided or not result.complete:
        return
    allowed = set(result.states)
    found = simulate(test, seconds=2)
    every = explore(Machine(test), seconds=2, reduces=False)
    if found.complete and every.complete:
        assert (found.states, found.hangs, found.traps) == (every.states, every.hangs, every.traps)
    assert found.states <= allowed
    assert set(runs(test, 10, SEED, seconds=1).states) <= allowed
    assert not found.traps
    if found.complete:
        assert found.hangs == any(flag.name == "deadlock" for flag in result.flags)


@pytest.mark.parametrize("examples", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)], ids=["quick", "long"])
def test_generated_programs(examples):
    @seed(SEED)
    @settings(
        max_examples=examples, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def run(text: str) -> None:
        compare(text)

    run()
