"""An instruction as the parser hands it over: words and operands with their places, nothing resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from memcheck.ptx.operands import Register
from memcheck.ptx.qualifiers import Space
from memcheck.source import Span


class RawName(NamedTuple):
    """`r0`, `%p1`, `x`, `LC00`; `percent` where a `%` stood before it; `negated` for `!p`."""

    name: str
    span: Span
    percent: bool = False
    negated: bool = False


class RawNumber(NamedTuple):
    value: int
    span: Span


class RawAddress(NamedTuple):
    """`[base+offset]`; base is a name or a number."""

    base: RawName | RawNumber
    offset: int
    span: Span


class RawVector(NamedTuple):
    """`{a, b}`."""

    elements: tuple[RawName | RawNumber, ...]
    span: Span


class RawPair(NamedTuple):
    """`d|p`, two destinations."""

    first: RawName
    second: RawName
    span: Span


class RawTensor(NamedTuple):
    """`[map, {c0, c1}]`: a tensor map and coordinates."""

    map: RawName
    coordinates: RawVector
    span: Span


RawOperand = RawName | RawNumber | RawAddress | RawVector | RawPair | RawTensor
"""The sink `_` is a RawName of that name."""


class RawInstruction(NamedTuple):
    """`words`: the mnemonic split at single dots, `::` kept (`ld`, `relaxed`, `shared::cta`, `b32`); a span each."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]
    operands: tuple[RawOperand, ...]
    guard: RawName | None
    text: str
    span: Span


class Names(Protocol):
    """What the decoder asks of the test around an instruction."""

    columns: bool
    """The columns layout, where `bar.cta.*` is the peers' dialect."""

    def space(self, name: str) -> Space | None:
        """The state space of a declared variable, None where the name is no variable (then it is a register)."""

    def register(self, name: RawName) -> Register:
        """The register of this name with its width (`.reg`, or by its name)."""

    def special(self, name: str) -> int | None:
        """The value of a special register (`laneid`, `cluster_ctarank`, …) of this thread, or None."""

    def variables(self) -> Sequence[str]:
        """All variable names, for suggestions."""

    def labels(self) -> Sequence[str]:
        """All labels of this thread."""
