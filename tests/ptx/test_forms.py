"""A table of legal and illegal forms, each judged by the decoder and by ptxas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.ptx.decode.spelling import spell
from tests.ptx.assembler import TARGET, Version, newest, ptxas, refusals
from tests.ptx.reading import bare, read

TABLES = Path(__file__).parent / "forms"
FAMILIES = ("", "async-", "wgmma-")
TARGETS = {"wgmma-": "sm_90a"}
"""Where a family is not for the usual target."""


def rows(table: str, families: Iterable[str] = FAMILIES) -> Iterator[tuple[str, Version]]:
    """The forms of a table in all families, and the PTX version that brought each (9.0 where none is written)."""
    for family in families:
        path = TABLES / f"{family}{table}.txt"
        if path.exists():
            yield from _read(path)


def _read(path: Path) -> Iterator[tuple[str, Version]]:
    for line in path.read_text().splitlines():
        form, _, version = line.partition(";")
        if form.strip() and not line.startswith("#"):
            major, minor = version.strip().split(".") if version else ("9", "0")
            yield form.strip(), (int(major), int(minor))


def forms(table: str) -> list[str]:
    return [form for form, _ in rows(table)]


@pytest.mark.parametrize("form", forms("accepted") + forms("shorthand"))
def test_accepted_and_spelled_back(form: str) -> None:
    instruction = read(form)
    spelled = spell(instruction)
    assert bare(read(spelled)) == bare(instruction), spelled


@pytest.mark.parametrize("form", forms("refused") + forms("stricter"))
def test_refused_with_a_reason_and_a_place(form: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(form)
    error = caught.value
    assert not isinstance(error, UnsupportedError)
    assert error.message.endswith(".")
    assert 1 <= error.span.column <= len(form)
    assert error.span.column - 1 + error.span.length <= len(form)


@pytest.mark.parametrize("form", forms("undecided"))
def test_undecided_is_said_so(form: str) -> None:
    with pytest.raises(UnsupportedError, match="not supported yet"):
        read(form)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("table", "legal"),
    [("accepted", True), ("undecided", True), ("stricter", True), ("refused", False), ("shorthand", False)],
)
def test_ptxas_agrees(table: str, legal: bool, family: str, tmp_path: Path) -> None:
    if ptxas() is None:
        pytest.skip("ptxas is not installed: pip install 'nvidia-cuda-nvcc>=13,<14'")
    known = [form for form, version in rows(table, [family]) if version <= newest()]
    against = refusals(known, tmp_path, TARGETS.get(family, TARGET))
    if legal:
        assert against == {}
    else:
        assert [form for form in known if form not in against] == []
    newer = [form for form, version in rows(table, [family]) if version > newest()]
    if newer:
        pytest.skip(f"newer than this ptxas: {'; '.join(newer)}")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_spelled_form_is_legal_ptx(family: str, tmp_path: Path) -> None:
    """What `fmt` writes for PTX's own instructions assembles."""
    if ptxas() is None:
        pytest.skip("ptxas is not installed: pip install 'nvidia-cuda-nvcc>=13,<14'")
    known = [spell(read(form)) for form, version in rows("accepted", [family]) if version <= newest()]
    assert refusals(known, tmp_path, TARGETS.get(family, TARGET)) == {}
