"""One question to the plain encoder, with all that other parts say to it."""

from __future__ import annotations

from memcheck.axiomatic.outcome import Outcome
from memcheck.axiomatic.solve import solve as fast
from memcheck.axiomatic.verify import faults
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.models import load
from memcheck.plain import solve
from memcheck.source import SourceFile


def ask(text: str, model: str = "ptx", bound: int = 4) -> Outcome:
    """The plain encoder's answer; the fast one must give the same, and every witness must be accepted."""
    structure = unfold(parse_test(SourceFile("test.litmus", text)), bound)
    loaded = load(model)
    outcome = solve(structure, loaded, witnesses=True)
    other = fast(structure, loaded, witnesses=False)
    assert bool(outcome.outside) == bool(other.outside)
    if not outcome.outside:
        assert set(outcome.states) == set(other.states)
        assert bool(outcome.hangs) == bool(other.hangs)
        assert {f.name for f in outcome.flags} == {f.name for f in other.flags}
    assert outcome.bound_reached == other.bound_reached
    for state, witness in outcome.states.items():
        assert witness is not None
        assert faults(witness, state, loaded) == []
    return outcome
