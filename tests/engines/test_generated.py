"""The engines agree on generated programs, and each state has a witness that the second evaluator accepts."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, seed, settings
from hypothesis import strategies as st

from memcheck.axiomatic.solve import solve
from memcheck.axiomatic.verify import faults
from memcheck.errors import TooLargeError, UnsupportedError
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.source import SourceFile
from tests.engines.agreement import assert_same, fast, plain, reference
from tests.engines.asynchronous import FEATURES as ASYNCHRONOUS
from tests.engines.asynchronous import asynchronous_programs, exchanges
from tests.engines.programs import FEATURES, programs
from tests.engines.suite import model

CANDIDATES = 3_000
BOUND = 1
SECONDS = 30
"""For the plain encoding of one program."""
PROGRAMS_OF_A_FEATURE = 150
"""In the long run; `all` of them together get as many again."""

QUICK = settings(
    max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
LONG = settings(QUICK, max_examples=PROGRAMS_OF_A_FEATURE, derandomize=False, phases=[Phase.generate, Phase.shrink])


def _structure(text: str) -> Structure:
    """UnsupportedError and TooLargeError are answers, but none to compare."""
    try:
        return unfold(parse_test(SourceFile("generated", text)), BOUND)
    except (UnsupportedError, TooLargeError):
        assume(False)
        raise


def _engines_agree(text: str) -> None:
    structure = _structure(text)
    answer = fast(structure, model("ptx"))
    try:
        assert_same(plain(structure, model("ptx"), SECONDS), answer)
        assert_same(reference(structure, CANDIDATES), answer)
        event("three ways")
    except TooLargeError:
        event("beyond plain or brute force")


def _witnesses_hold(text: str) -> None:
    structure = _structure(text)
    outcome = solve(structure, model("ptx"))
    for state, witness in outcome.states.items():
        assert witness is not None
        assert faults(witness, state, model("ptx")) == []


@QUICK
@given(programs(length=3))
def test_engines_agree(text):
    _engines_agree(text)


@pytest.mark.parametrize("feature", sorted(FEATURES))
@settings(QUICK, max_examples=4)
@given(data=st.data())
def test_engines_agree_on_a_feature(feature, data):
    text = data.draw(programs(features=frozenset({feature})))
    _engines_agree(text)
    _witnesses_hold(text)


@pytest.mark.parametrize("feature", sorted(ASYNCHRONOUS))
@settings(QUICK, max_examples=4)
@given(data=st.data())
def test_engines_agree_on_asynchronous_programs(feature, data):
    text = data.draw(asynchronous_programs(features=frozenset({feature})))
    _engines_agree(text)
    _witnesses_hold(text)


@settings(QUICK, max_examples=3)
@given(exchanges())
def test_engines_agree_on_exchanges(text):
    _engines_agree(text)
    _witnesses_hold(text)


@settings(QUICK, max_examples=8)
@given(programs())
@pytest.mark.parametrize("older", ["ptx-7.5", "ptx-6.0", "sc"])
def test_older_models(older, text):
    structure = _structure(text)
    assert plain(structure, model(older)) == fast(structure, model(older))


@QUICK
@given(programs())
def test_witnesses_hold(text):
    _witnesses_hold(text)


KINDS = {feature: programs(features=frozenset({feature})) for feature in sorted(FEATURES)}
KINDS |= {f"asynchronous {f}": asynchronous_programs(features=frozenset({f})) for f in sorted(ASYNCHRONOUS)}
KINDS |= {"any": programs(), "asynchronous": asynchronous_programs(), "exchanges": exchanges()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_programs(kind, capsys):
    """MEMCHECK_SEED repeats a run."""
    number = int(os.environ.get("MEMCHECK_SEED", random.SystemRandom().randrange(2**32)))
    with capsys.disabled():
        print(f"\nprograms, {kind}: MEMCHECK_SEED={number}", flush=True)

    @seed(number)
    @LONG
    @given(KINDS[kind])
    def compare(text: str) -> None:
        _engines_agree(text)
        _witnesses_hold(text)

    compare()
