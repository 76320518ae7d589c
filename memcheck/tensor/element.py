"""Element types of a tensor map (ISA 5.5.1, 9.7.10.29): their sizes and what fills elements out of bounds."""

from __future__ import annotations

from enum import Enum

from memcheck.errors import MemcheckError
from memcheck.ptx.types import TYPES

SUB_BYTE = ("b4x16", "b4x16_p64", "b6x16_p32", "b6p2x16")
"""Packed element types of ISA 5.5.1.1, newer than sm_90: values of 4 or 6 bits, with gaps in shared memory."""


class ElementType(Enum):
    """One element; `value` is the number that `tensormap.replace.tile.elemtype` gives it."""

    U8 = 0
    U16 = 1
    U32 = 2
    S32 = 3
    U64 = 4
    S64 = 5
    F16 = 6
    F32 = 7
    F32_FTZ = 8
    F64 = 9
    BF16 = 10
    TF32 = 11
    TF32_FTZ = 12

    @property
    def spelling(self) -> str:
        """As written after `type =` in a declaration, without the dot: `f32.ftz`."""
        return self.name.lower().replace("_", ".")

    @property
    def size(self) -> int:
        """Bytes in memory; a tf32 is held in 32 bits."""
        kind = self.spelling.partition(".")[0]
        return TYPES["f32" if kind == "tf32" else kind].size

    @property
    def floating(self) -> bool:
        return self.value >= ElementType.F16.value


def element_type(spelling: str) -> ElementType:
    """The type of that spelling; MemcheckError where there is none, or where its elements are parts of bytes."""
    if spelling in SUB_BYTE:
        raise MemcheckError(f"A tensor map of .{spelling} packs elements smaller than a byte; these are not modelled.")
    for one in ElementType:
        if one.spelling == spelling:
            return one
    known = " ".join(f".{one.spelling}" for one in ElementType)
    raise MemcheckError(f"A tensor map has no elements of type .{spelling}; there are {known}.")
