"""Every complaint of the language with its place, caret and hint, as `errors.golden` has them.

`python -m tests.language.test_errors` writes the present messages into the file, to be read before they are kept.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memcheck import corpus
from memcheck.errors import MemcheckError
from tests.language.reading import read

GOLDEN = Path(__file__).with_name("errors.golden")
_CASE = re.compile(
    r"^=== (?P<name>[^\n]*)\n(?P<text>.*?)\n---\n(?P<message>.*?)(?=\n=== |\Z)", re.DOTALL | re.MULTILINE
)


def cases() -> dict[str, tuple[str, str]]:
    found = _CASE.finditer(GOLDEN.read_text(encoding="utf-8"))
    return {match["name"]: (match["text"], match["message"].strip("\n")) for match in found}


def message(text: str) -> str:
    try:
        read(text)
    except MemcheckError as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


@pytest.mark.parametrize("name", cases())
def test_message(name):
    text, expected = cases()[name]
    assert message(text) == expected
    assert expected != "accepted"


def test_there_are_many():
    assert len(cases()) > 80


def test_files(tmp_path):
    path = tmp_path / "t.litmus"
    with pytest.raises(MemcheckError, match="No such file"):
        corpus.read(str(path))
    with pytest.raises(MemcheckError, match="Is a directory"):
        corpus.read(str(tmp_path))
    with pytest.raises(MemcheckError, match="null byte"):
        corpus.read("a\0b")
    path.write_bytes(b"PTX T\n{ \xc3\xa9\xff }")
    with pytest.raises(MemcheckError, match=r"t.litmus:2:4: this is no UTF-8 text: a byte 0xff"):
        corpus.read(str(path))
    path.write_bytes(b"\xef\xbb\xbfPTX T\r\n{\r}")
    assert corpus.read(str(path)).text == "PTX T\n{\n}"


if __name__ == "__main__":
    GOLDEN.write_text(
        "\n".join(f"=== {name}\n{text}\n---\n{message(text)}\n" for name, (text, _) in cases().items()),
        encoding="utf-8",
    )
