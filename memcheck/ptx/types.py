"""Fundamental and packed PTX types (ISA 5.2)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class TypeClass(Enum):
    """How the bits are read: untyped, unsigned, signed, floating point, predicate."""

    BITS = "b"
    UNSIGNED = "u"
    SIGNED = "s"
    FLOAT = "f"
    PREDICATE = "pred"


class ScalarType(NamedTuple):
    """A type as written (`u32`, `f16x2`): `bits` of one element, `lanes` elements (packed: 2)."""

    name: str
    cls: TypeClass
    bits: int
    lanes: int = 1

    @property
    def size(self) -> int:
        """Bytes in memory, all lanes."""
        return self.bits * self.lanes // 8

    @property
    def signed(self) -> bool:
        return self.cls is TypeClass.SIGNED


def _table() -> dict[str, ScalarType]:
    types = [ScalarType("pred", TypeClass.PREDICATE, 1)]
    for letter, widths in (("b", (8, 16, 32, 64, 128)), ("u", (8, 16, 32, 64)), ("s", (8, 16, 32, 64))):
        types += [ScalarType(f"{letter}{w}", TypeClass(letter), w) for w in widths]
    types += [ScalarType(f"f{w}", TypeClass.FLOAT, w) for w in (16, 32, 64)]
    types += [
        ScalarType("bf16", TypeClass.FLOAT, 16),
        ScalarType("f16x2", TypeClass.FLOAT, 16, 2),
        ScalarType("bf16x2", TypeClass.FLOAT, 16, 2),
        ScalarType("u16x2", TypeClass.UNSIGNED, 16, 2),
        ScalarType("s16x2", TypeClass.SIGNED, 16, 2),
    ]
    return {t.name: t for t in types}


TYPES: dict[str, ScalarType] = _table()
