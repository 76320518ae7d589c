"""The second evaluator refuses what is no execution: witnesses with one thing changed."""

from __future__ import annotations

import pytest

from memcheck.axiomatic.solve import solve
from memcheck.axiomatic.verify import faults
from memcheck.events.execution import Execution
from tests.engines.suite import NAMES, model, share, structure

LARGE = frozenset({"classic/SB-ring-10+fence.sc.litmus"})


def _witnesses(name: str, under: str = "ptx") -> dict[tuple[int, ...], Execution]:
    outcome = solve(structure(name), model(under))
    return {state: witness for state, witness in outcome.states.items() if witness is not None}


def _state(name: str, **values: int) -> tuple[tuple[int, ...], Execution]:
    """The state in which registers and variables have these values (`P1_r0=1`), with its witness."""
    terms = structure(name).test.observed
    found = _witnesses(name)
    for state, witness in found.items():
        known = {str(term).replace(":", "_"): value for term, value in zip(terms, state)}
        if all(known.get(key) == value for key, value in values.items()):
            return state, witness
    raise AssertionError(f"{name} has no state {values} among {list(found)} over {[str(t) for t in terms]}")


def _refused(state: tuple[int, ...], witness: Execution, word: str = "") -> None:
    found = faults(witness, state, model("ptx"))
    assert found, "accepted"
    assert any(word in fault for fault in found), found


@pytest.mark.parametrize("name", [name for name in share(6) if name not in LARGE])
def test_witnesses_of_the_suite(name):
    for state, witness in _witnesses(name).items():
        assert faults(witness, state, model("ptx")) == []


@pytest.mark.slow
@pytest.mark.parametrize("under", ["ptx", "ptx-7.5", "ptx-6.0", "sc"])
@pytest.mark.parametrize("name", NAMES)
def test_witnesses_of_the_whole_suite(name, under):
    for state, witness in _witnesses(name, under).items():
        assert faults(witness, state, model(under)) == []
