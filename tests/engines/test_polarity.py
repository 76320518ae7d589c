"""Clauses in one direction where polarity allows lose and add no states."""

from __future__ import annotations

import pytest

from memcheck.axiomatic import encoding
from memcheck.axiomatic.clauses import Clauses
from memcheck.axiomatic.encoding import Encoding
from memcheck.events.domains import analyse
from tests.engines.agreement import fast
from tests.engines.polarity import TwoSidedClauses, two_sided
from tests.engines.suite import NAMES, model, share, structure

LARGE = frozenset({"classic/SB-ring-10+fence.sc.litmus"})
SHARE = [name for name in share(16) if name not in LARGE]


def _same(name: str, under: str) -> None:
    one_sided = fast(structure(name), model(under))
    with two_sided():
        assert fast(structure(name), model(under)) == one_sided


@pytest.mark.parametrize("name", SHARE)
def test_ptx(name):
    _same(name, "ptx")


@pytest.mark.parametrize("under", ["ptx-7.5", "ptx-6.0"])
@pytest.mark.parametrize("name", [name for name in share(36) if name not in LARGE])
def test_older_models(name, under):
    _same(name, under)


@pytest.mark.slow
@pytest.mark.parametrize("under", ["ptx", "ptx-7.5", "ptx-6.0"])
@pytest.mark.parametrize("name", NAMES)
def test_whole_suite(name, under):
    _same(name, under)


def _encoding(name: str) -> Encoding:
    made = Encoding(structure(name), analyse(structure(name)), model("ptx"), ending=True)
    made.settle()
    return made


def test_the_variant_is_one():
    """It says more about each gate."""
    with two_sided():
        exact = _encoding("rmw/lock-cas-exch.litmus")
    assert isinstance(exact.clauses, TwoSidedClauses)
    assert len(exact.clauses.clauses) > len(_encoding("rmw/lock-cas-exch.litmus").clauses.clauses)


class _WrongWay(Clauses):
    """Gates in the direction that does not help."""

    def conjunction(self, literals, upper):
        return super().conjunction(literals, not upper)

    def disjunction(self, literals, upper):
        return super().disjunction(literals, not upper)


def test_the_wrong_polarity_shows(monkeypatch):
    right = [fast(structure(name), model("ptx")) for name in SHARE[:40]]
    monkeypatch.setattr(encoding, "Clauses", _WrongWay)
    assert right != [fast(structure(name), model("ptx")) for name in SHARE[:40]]
