"""Tensor copies and tensor maps (ISA 9.7.10.28.5, 9.7.10.29, 9.7.15.17); classes as in `asynchronous`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.operands import Address, Operand
from memcheck.ptx.qualifiers import Scope, Space


class TensorMode(Enum):
    TILE = "tile"
    GATHER4 = "tile::gather4"
    SCATTER4 = "tile::scatter4"
    IM2COL = "im2col"
    IM2COL_W = "im2col::w"
    IM2COL_W_128 = "im2col::w::128"
    IM2COL_NO_OFFSETS = "im2col_no_offs"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorLoad(Instruction):
    """`cp.async.bulk.tensor` from global to shared memory; always weak.

    `dimensions` 1 to 5; `coordinates` as many, or five in GATHER4 (column, four rows). `offsets` of im2col.
    """

    destination: Address
    map: Address
    dimensions: int
    coordinates: tuple[Operand, ...]
    offsets: tuple[Operand, ...]
    mbarrier: Address
    mask: Operand | None
    mode: TensorMode
    destination_space: Space
    cta_group: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorStore(Instruction):
    """`cp.async.bulk.tensor` from shared to global memory, completed by a bulk group."""

    map: Address
    dimensions: int
    coordinates: tuple[Operand, ...]
    source: Address
    mode: TensorMode


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorReduce(Instruction):
    """`cp.reduce.async.bulk.tensor`: for each element a relaxed.gpu operation of the map's element type."""

    map: Address
    dimensions: int
    coordinates: tuple[Operand, ...]
    source: Address
    mode: TensorMode
    op: AtomOp


class TensormapField(Enum):
    """Fields of a tensor map, as tensormap.replace names them (ISA 9.7.10.29)."""

    GLOBAL_ADDRESS = "global_address"
    RANK = "rank"
    BOX_DIM = "box_dim"
    GLOBAL_DIM = "global_dim"
    GLOBAL_STRIDE = "global_stride"
    ELEMENT_STRIDE = "element_stride"
    ELEMTYPE = "elemtype"
    INTERLEAVE = "interleave_layout"
    SWIZZLE = "swizzle_mode"
    SWIZZLE_ATOMICITY = "swizzle_atomicity"
    FILL = "fill_mode"

    @property
    def wide(self) -> bool:
        """Of 64 bits; the others have 32."""
        return self in (TensormapField.GLOBAL_ADDRESS, TensormapField.GLOBAL_STRIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensormapReplace(Instruction):
    """`tensormap.replace.tile.FIELD`: a weak access to the whole 128 bytes. `ordinal`: which dimension, if any."""

    address: Address
    field: TensormapField
    ordinal: int | None
    value: Operand
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class TensormapCopy(Instruction):
    """`tensormap.cp_fenceproxy`: 128 bytes of shared to global memory, then a release fence to the tensormap proxy."""

    destination: Address
    source: Address
    scope: Scope
