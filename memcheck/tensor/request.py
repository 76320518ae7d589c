"""What one tensor instruction asks for beside its tensor map (ISA 9.7.10.28.5), and what it must not ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from memcheck.tensor.descriptor import CORNER_BITS, Atomicity, Im2col, Swizzle, TensorMap, Tile
from memcheck.tensor.swizzle import LINE


class LoadMode(Enum):
    """How coordinates are read. Those of stores go with them: scatter4 with gather4, im2col_no_offs with im2col."""

    TILE = "tile"
    GATHER4 = "tile::gather4"
    IM2COL = "im2col"
    IM2COL_W = "im2col::w"
    IM2COL_W_128 = "im2col::w::128"

    @classmethod
    def of(cls, word: str) -> LoadMode:
        """The mode that an instruction names, of a load or of a store."""
        return cls(_OF_STORES.get(word, word))

    @property
    def wide(self) -> bool:
        """Whether pixels are walked along W alone."""
        return self in (LoadMode.IM2COL_W, LoadMode.IM2COL_W_128)


_OF_STORES = {"tile::scatter4": "tile::gather4", "im2col_no_offs": "im2col"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A copy of one box. `coordinates` as written; `shared`, destination or source, an address in the CTA's window.

    `offsets`: of im2col in W, H, D (none: zeros); of the wide modes wHalo and wOffset.
    """

    coordinates: tuple[int, ...]
    mode: LoadMode = LoadMode.TILE
    offsets: tuple[int, ...] = ()
    shared: int = 0
    store: bool = False
    """From shared to global memory; a reduction too."""


def misuse(tensor: TensorMap, request: Request) -> tuple[str, ...]:
    """Sentences on what makes the copy undefined; none for a good one. The map is one that can be encoded.

    Machines trap on a misaligned row or shared address, on negative coordinates of a store and on an im2col store whose
    bounding box leaves the image (sm_90).
    """
    return tuple(_of_mode(tensor, request)) or (*_of_place(tensor, request), *_of_image(tensor, request))


def _of_mode(tensor: TensorMap, request: Request) -> Iterator[str]:
    mode, tiled = request.mode, isinstance(tensor.mode, Tile)
    if tiled is not (mode in (LoadMode.TILE, LoadMode.GATHER4)):
        yield f"The instruction copies in mode {mode.value}, but the map is for {'tile' if tiled else 'im2col'} mode."
        return
    needed = 5 if mode is LoadMode.GATHER4 else tensor.rank
    if len(request.coordinates) != needed:
        yield f"There are {len(request.coordinates)} coordinates; this copy takes {needed}."
    if isinstance(tensor.mode, Tile):
        if mode is LoadMode.GATHER4 and (tensor.rank != 2 or tensor.mode.box[1] != 1 or tensor.interleaved):
            yield f"Mode {mode.value} is for maps of 2 dimensions with `box[1]` = 1 and without interleave."
        return
    needed = 2 if mode.wide else tensor.rank - 2
    if len(request.offsets) not in (0, needed):
        yield f"There are {len(request.offsets)} offsets; this copy takes {needed}."
    if mode.wide and (
        tensor.interleaved or tensor.swizzle is Swizzle.NONE or tensor.atomicity is Atomicity.B32_FLIP_8B
    ):
        yield f"Mode {mode.value} needs a swizzle, not one that flips 8 bytes, and no interleave."


def _of_place(tensor: TensorMap, request: Request) -> Iterator[str]:
    if request.shared % LINE:
        yield f"The shared address {request.shared:#x} is not a multiple of {LINE}."
    if not tensor.interleaved and request.coordinates[0] * tensor.element.size % 16:
        yield f"The first coordinate, {request.coordinates[0]}, is not at a multiple of 16 bytes."
    for i, coordinate in enumerate(request.coordinates):
        if request.store and coordinate < 0:
            yield f"Coordinate {i} of a store is {coordinate}; it must not be negative."
    if request.store and tensor.atomicity is Atomicity.B32_FLIP_8B:
        yield "A swizzle that flips 8 bytes is for loads only."


def _of_image(tensor: TensorMap, request: Request) -> Iterator[str]:
    mode = tensor.mode
    if not isinstance(mode, Im2col) or request.mode.wide:
        return
    base = request.coordinates[:-2] if tensor.interleaved else request.coordinates[1:-1]
    for axis, at, size, low, high in zip("WHD", base, tensor.image, mode.lower, mode.upper):
        if not low <= at <= size - 1 + high:
            yield f"{axis} is {at}, outside the bounding box from {low} to {size - 1 + high}."
        if request.store and (low < 0 or high > 0):
            yield f"The bounding box of a store leaves the image in {axis}."
    most = (1 << CORNER_BITS[tensor.rank]) - 1
    for offset in request.offsets:
        if not 0 <= offset <= most:
            yield f"The im2col offset {offset} is not from 0 to {most}."
