"""The models that ship, and models by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from memcheck import models
from memcheck.errors import MemcheckError, SourceError
from memcheck.events.vocabulary import VOCABULARY


def test_every_model_loads_and_has_a_title() -> None:
    titles = models.available()
    assert list(titles) == list(models.NAMES)
    assert all(titles.values())
    for name in models.NAMES:
        assert models.load(name).names <= set(VOCABULARY)


def test_axioms_and_flags_have_names_of_their_own() -> None:
    for name in models.NAMES:
        model = models.load(name)
        assert model.name == name
        named = [a.name for a in (*model.axioms, *model.flags)]
        assert len(named) == len(set(named))


def test_every_axiom_of_an_edition_tells_its_section() -> None:
    for name in ("ptx", "ptx-7.5", "ptx-6.0"):
        for axiom in models.load(name).axioms:
            assert axiom.comment[:1].isdigit(), (name, axiom.name)


def test_a_model_is_loaded_once() -> None:
    assert models.load("sc") is models.load("sc")
    assert models.load("ptx", frozenset({"rmw-one-operation"})) is not models.load("ptx")


def test_unknown_models() -> None:
    with pytest.raises(MemcheckError, match=r"did you mean `ptx-7\.5`"):
        models.load("ptx-75")
    with pytest.raises(MemcheckError, match="cannot be read"):
        models.load("nowhere.cat")
    with pytest.raises(MemcheckError, match="no option `nope`"):
        models.load("ptx", ["nope"])


def test_models_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.cat"
    path.write_text("PTX\nacyclic po | rf as x\n")
    model = models.load(str(path))
    assert (model.name, model.path, model.title) == ("mine", str(path), "PTX")
    path.write_text("acyclic po | rff as x\n")
    with pytest.raises(SourceError):
        models.load(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(MemcheckError, match="UTF-8"):
        models.load(str(path))


def test_a_model_may_include_one_that_ships(tmp_path: Path) -> None:
    path = tmp_path / "mine.cat"
    path.write_text('include "sc.cat"\nempty po & po^-1 as nothing\n')
    assert [a.name for a in models.load(str(path)).axioms][-1] == "nothing"
