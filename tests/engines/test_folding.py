"""Models folded over what a structure has not: nothing that is called absent is there, and no answer changes."""

from __future__ import annotations

import pytest

from memcheck.axiomatic import encoding, verify
from memcheck.axiomatic.solve import solve
from memcheck.events.absent import absent
from memcheck.events.structure import Structure
from memcheck.events.valuation import base
from memcheck.models import NAMES as MODELS
from memcheck.relations.expression import Model
from tests.engines.suite import NAMES, model, share, structure

LARGE = frozenset({"classic/SB-ring-10+fence.sc.litmus"})


def _whole(model: Model, _empty: frozenset[str]) -> Model:
    return model


def _answers(of: Structure, under: Model) -> object:
    found = solve(of, under, witnesses=False)
    return set(found.states), set(found.flags), set(found.hanging_flags), found.bound_reached, bool(found.hangs)


def _voided(of: Structure, under: Model) -> set[str]:
    return {finding.name for finding in solve(of, under, witnesses=False).outside}


def _same(name: str, under: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what voids a verdict only the names are the same: the first execution found says which events."""
    folded = _answers(structure(name), model(under)), _voided(structure(name), model(under))
    monkeypatch.setattr(encoding, "without", _whole)
    assert (_answers(structure(name), model(under)), _voided(structure(name), model(under))) == folded


@pytest.mark.parametrize("under", MODELS)
@pytest.mark.parametrize("name", [name for name in share(36) if name not in LARGE])
def test_answers(name, under, monkeypatch):
    _same(name, under, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("under", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_of_the_whole_suite(name, under, monkeypatch):
    _same(name, under, monkeypatch)


@pytest.mark.parametrize("name", [name for name in share(20) if name not in LARGE])
def test_absent_names_are_empty(name):
    """In the executions of a model with few axioms, also in those that the editions forbid."""
    missing = absent(structure(name))
    for witness in list(solve(structure(name), model("ptx-6.0")).states.values())[:8]:
        assert witness is not None
        values = base(witness, missing)
        assert {n for n in missing if values[n] and any(_rows(values[n]))} == set()


def _rows(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else value


@pytest.mark.parametrize("name", [name for name in share(21) if name not in LARGE])
def test_verdicts_on_witnesses(name, monkeypatch):
    """The verifier's, on the witnesses of a weaker model."""
    witnesses = {s: w for s, w in solve(structure(name), model("ptx-6.0")).states.items() if w is not None}
    folded = [verify.faults(w, s, model("ptx")) for s, w in witnesses.items()]
    monkeypatch.setattr(verify, "without", _whole)
    assert [verify.faults(w, s, model("ptx")) for s, w in witnesses.items()] == folded
