"""Texts to tests, and tests compared but for places in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from memcheck.language.load import parse_test
from memcheck.language.test import Test
from memcheck.source import SourceFile, Span

LAYOUT = frozenset(("span", "text", "source", "notes", "columns"))


def read(text: str) -> Test:
    return parse_test(SourceFile("t.litmus", text))


def thread(body: str, state: str = "x = 0; y = 0", place: str = "") -> Test:
    """A test of one thread in blocks."""
    return read(f"PTX T\n{{ {state} }}\nP0{place} {{ {body} }}\n")


def content(value: Any) -> Any:
    """A test without its layout, to compare."""
    if isinstance(value, Span):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        inner = {f.name: content(getattr(value, f.name)) for f in fields(value) if f.name not in LAYOUT}
        return type(value).__name__, inner
    if isinstance(value, Mapping):
        return {key: content(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [content(item) for item in value]
    return value
