"""What a tensor map says (ISA 5.5.8): a tensor in global memory, the box of a copy, its layout in shared memory.

All per-dimension tuples run from the innermost dimension outwards, as the coordinates of an instruction do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.tensor.element import ElementType

CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""Bits of one signed offset of an im2col corner, by rank (ISA 5.5.4.1); an im2col offset has as many, unsigned."""


class Interleave(Enum):
    """Slices of channels in global memory (ISA 5.5.6); `value` as in tensormap.replace."""

    NONE = 0
    B16 = 1
    B32 = 2


class Swizzle(Enum):
    """Width in which chunks of shared memory trade places (ISA 5.5.7); `value` as in tensormap.replace."""

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3
    B96 = 4

    @property
    def span(self) -> int:
        """Bytes; 0 without swizzle."""
        return (0, 32, 64, 128, 96)[self.value]


class Atomicity(Enum):
    """How many bytes a 128-byte swizzle keeps together (ISA 5.5.7, table 14); `value` as in tensormap.replace."""

    B16 = 0
    B32 = 1
    B32_FLIP_8B = 2
    B64 = 3

    @property
    def bytes(self) -> int:
        return (16, 32, 32, 64)[self.value]


class Fill(Enum):
    """What a load writes for elements out of bounds (ISA 5.5.3.3)."""

    ZERO = 0
    NAN = 1


@dataclass(frozen=True, slots=True)
class Tile:
    """Tile mode (ISA 5.5.3): `box`, elements that a copy spans in each dimension, those skipped included."""

    box: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Im2col:
    """Im2col mode (ISA 5.5.4): pixels of images, found by walking a bounding box.

    `lower` and `upper` are the corners in W, H, D: offsets from the first and from the last pixel of an image.
    `channels` is channels per pixel, `pixels` is pixels per column.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A descriptor. `base` in bytes; `strides` in bytes, of every dimension but the innermost; `dims` in elements.

    Images have the dimensions C, W, H, D, N, the shorter ranks without D or H. With interleave these are W, H, D, C, N;
    a slice of channels is then one element, and C counts slices.
    """

    base: int
    element: ElementType
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    mode: Tile | Im2col
    element_strides: tuple[int, ...]
    interleave: Interleave = Interleave.NONE
    swizzle: Swizzle = Swizzle.NONE
    atomicity: Atomicity = Atomicity.B16
    fill: Fill = Fill.ZERO

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def interleaved(self) -> bool:
        return self.interleave is not Interleave.NONE

    @property
    def image(self) -> tuple[int, ...]:
        """Sizes of an image in W, H, D."""
        return self.dims[:-2] if self.interleaved else self.dims[1:-1]

    @property
    def unit(self) -> int:
        """Bytes of one step of the innermost dimension: an element, or a slice with interleave."""
        return 16 * self.interleave.value or self.element.size

    @property
    def inner_bytes(self) -> int:
        """Bytes of the innermost dimension of the box, as the encoder counts them."""
        return self.element.size * (self.mode.box[0] if isinstance(self.mode, Tile) else self.mode.channels)
