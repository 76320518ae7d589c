"""The most dangerous mutants of ptx.cat, each with the test that notices it; `python -m tests.mutants` tries all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from memcheck.corpus import find
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.models import load
from memcheck.relations.expression import Model
from tests.mutation.implied import IMPLIED
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.verdicts import answer

SUITE = Path(__file__).parent.parent / "litmus"

DANGEROUS = {
    "release-fence: without SC": "decisions/fence.sc-heads-release",
    "acquire-fence: without SC": "decisions/fence.sc-ends-acquire",
    "pattern-synchronizes: without morally-strong": "fields/doorbell-gpu-fence",
    "axiom No-thin-air": "model/No-thin-air+other-source",
    "No-thin-air: without awaited": "model/No-thin-air+bar.sync",
    "released-write: (po & vloc)? always empty": "isa/ISA-release-pattern-2",
    "acquired-read: (po & vloc)? always empty": "isa/ISA-acquire-pattern-2",
    "released-write: without vloc": "model/release+other-location",
    "acquired-read: without vloc": "model/acquire+other-location",
    "observing-read: without RED": "model/restricted+red",
    "acquired-read: without [observing-read]": "model/acquire+red-then-acquire",
    "strong-read: without RLX | ACQ": "model/acquire+red-then-weak-load",
    "observation: (rmw; observes)^* always empty": "decisions/causality-whole-observation",
    "axiom Coherence": "model/Coherence+aliases",
    "axiom Barrier-order": "model/Barrier-order+four-threads",
    "coherence: (co & (strong-pair | IW * W) | W * W & overlap & causality)+ one step only": (
        "model/coherence+transitive"
    ),
    "morally-strong: without po": "model/observation+weak-store-then-atom",
    "generation-over: (base-causality; po)? never empty": "model/barrier-mismatch+known-over",
}


@cache
def model() -> Model:
    return load("ptx")


@cache
def named() -> dict[str, Mutant]:
    return {mutant.description: mutant for mutant in mutants(model())}


def structure(name: str) -> Structure:
    (case,) = find(str(SUITE / f"{name}.litmus"))
    return unfold(case.parse())


@pytest.mark.parametrize(("description", "name"), DANGEROUS.items())
def test_dangerous_mutants_are_noticed(description: str, name: str) -> None:
    test = structure(name)
    assert answer(test, named()[description].model) != answer(test, model())


def test_only_the_letter_needs_single_copy_atomicity() -> None:
    """The decision on tearing implies it; under the option `tearing` it is what forbids mixtures."""
    test, mutant = structure("model/SCA+b64"), named()["axiom Single-copy-atomicity"]
    assert answer(test, mutant.model) == answer(test, model())
    assert answer(test, mutant.model, tearing=True) != answer(test, model(), tearing=True) == answer(test, model())


def test_every_mutant_has_its_own_description() -> None:
    assert len(named()) == len(mutants(model())) > 200


def test_implied_mutants_exist() -> None:
    assert not IMPLIED.keys() - named().keys()
