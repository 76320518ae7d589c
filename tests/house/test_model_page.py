"""docs/model.md against the code that it is about."""

from __future__ import annotations

from pathlib import Path

from memcheck.cat.options import OPTIONS
from memcheck.events.vocabulary import VOCABULARY
from memcheck.models import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "model.md").read_text()


def test_every_base_set_and_relation_has_its_row():
    for name, entry in VOCABULARY.items():
        meaning = entry.meaning.replace("|", "\\|")
        assert f"| `{name}` | {entry.kind.name.lower()} | {meaning} |\n" in PAGE


def test_every_option_and_model_is_there():
    for option, meaning in OPTIONS.items():
        assert f"| `{option}` | {meaning} |\n" in PAGE
    for name in NAMES:
        assert f"| `{name}` |" in PAGE
