"""Which bytes a tensor copy moves: from a descriptor and a request to pairs of shared and global bytes.

A box is a sequence of rows. A row runs along the innermost dimension, and rows follow one another in shared memory;
with interleave a row is one slice of channels. Swizzling then moves chunks of shared memory (`swizzle`).

What the ISA's text leaves open is as sm_90 machines do it:
- rows narrower than the swizzle span lie a span apart; the gaps are neither written nor counted;
- elements out of bounds count as bytes copied;
- stores drop elements out of bounds by whole 16-byte chunks: one that crosses the end of a row is written whole;
- im2col applies the element stride of N too; interleaved copies take one slice of channels, whatever the box says.
Modes that these machines lack (gather4, im2col::w) follow the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from memcheck.errors import MemcheckError
from memcheck.tensor.descriptor import Fill, Im2col, TensorMap, Tile
from memcheck.tensor.request import LoadMode, Request
from memcheck.tensor.swizzle import swizzled

Position = tuple[int, ...]
"""A place in the tensor, one coordinate for each dimension."""
CHUNK = 16
_OUT_OF_BOUNDS_NAN = b"\xf7\x7f"
"""Repeated to the size of an element; a NaN in every floating-point type."""


class Copy(NamedTuple):
    """One element, or an element's share of a slice: `shared` counts from the request's shared address.

    `address` is None out of bounds: a load fills these bytes, a store leaves them out.
    """

    shared: int
    address: int | None
    size: int


def walk(tensor: TensorMap, request: Request) -> Iterator[Copy]:
    """The copies of the elements of a box, in the order of the box. The request is no `misuse`."""
    size, unit, apart = tensor.element.size, tensor.unit, _pitch(tensor)
    sizes = _stored_sizes(tensor) if request.store else tensor.dims
    for row, (first, *others) in enumerate(rows(tensor, request)):
        for i in range(_row_units(tensor)):
            address = _address(tensor, (first + i, *others), sizes)
            for part in range(0, unit, size):
                at = request.shared + row * apart + i * unit + part
                moved = swizzled(at, tensor.swizzle, tensor.atomicity) - request.shared
                yield Copy(moved, None if address is None else address + part, size)


def stretches(tensor: TensorMap, request: Request) -> Iterator[Copy]:
    """What `walk` gives, by shared address, as one where copies continue each other in shared and in global memory.

    Without what a store leaves out.
    """
    last: Copy | None = None
    for copy in sorted(walk(tensor, request), key=lambda copy: copy.shared):
        if request.store and copy.address is None:
            continue
        if last is not None and last.shared + last.size == copy.shared and _follows(last, copy):
            last = last._replace(size=last.size + copy.size)
            continue
        if last is not None:
            yield last
        last = copy
    if last is not None:
        yield last


def _follows(last: Copy, copy: Copy) -> bool:
    if last.address is None or copy.address is None:
        return last.address is copy.address
    return last.address + last.size == copy.address


def transaction_bytes(tensor: TensorMap, request: Request) -> int:
    """What complete-tx counts: every element of the box, those out of bounds too (ISA 9.7.10.28.5.3)."""
    return _row_count(tensor, request) * _row_units(tensor) * tensor.unit


def shared_bytes(tensor: TensorMap, request: Request) -> int:
    """Bytes from the shared address to the end of what the copy may touch: whole swizzle spans, gaps included."""
    whole = tensor.swizzle.span or 1
    return -(-_row_count(tensor, request) * _pitch(tensor) // whole) * whole


def fill_bytes(tensor: TensorMap) -> bytes:
    """What a load writes for one element out of bounds (ISA 5.5.3.3)."""
    if tensor.fill is Fill.ZERO:
        return bytes(tensor.element.size)
    return _OUT_OF_BOUNDS_NAN * (tensor.element.size // len(_OUT_OF_BOUNDS_NAN))


def rows(tensor: TensorMap, request: Request) -> Iterator[Position]:
    """Where each row begins."""
    mode = tensor.mode
    if isinstance(mode, Im2col):
        return _pixels(tensor, mode, request)
    if request.mode is LoadMode.GATHER4:
        column, *lines = request.coordinates
        return ((column, line) for line in lines)
    return _tile_rows(tensor, mode, request.coordinates)


def _tile_rows(tensor: TensorMap, mode: Tile, start: Position) -> Iterator[Position]:
    """Steps of the element strides through the box, outermost dimension slowest (ISA 5.5.3.2)."""
    steps = [range(0, size, step) for size, step in zip(_stepped(tensor, mode), tensor.element_strides)]
    for outwards in product(*reversed(steps)):
        yield tuple(at + step for at, step in zip(start, reversed(outwards)))


def _stepped(tensor: TensorMap, mode: Tile) -> tuple[int, ...]:
    """The box as rows step through it: a row spans the innermost dimension, a slice all its channels."""
    if tensor.interleaved:
        return (*mode.box[:-2], 1, mode.box[-1])
    return (1, *mode.box[1:])


def _pixels(tensor: TensorMap, mode: Im2col, request: Request) -> Iterator[Position]:
    """Base pixels through the bounding box, then the next image; each plus the offsets (ISA 5.5.4, 5.5.5)."""
    space = slice(0, -2) if tensor.interleaved else slice(1, -1)
    base, image = list(request.coordinates[space]), request.coordinates[-1]
    steps = tensor.element_strides[space]
    first, last = list(mode.lower), [size - 1 + high for size, high in zip(tensor.image, mode.upper)]
    offsets = request.offsets or (0,) * len(base)
    if request.mode.wide:
        offset = _wide_offset(request.offsets)
        base[0], first[0], last[0] = base[0] + offset, first[0] + offset, last[0] + offset
        first[1:] = last[1:] = base[1:]
        offsets = (0,) * len(base)
    for _ in range(_row_count(tensor, request)):
        pixel = tuple(at + offset for at, offset in zip(base, offsets))
        yield (
            (*pixel, request.coordinates[-2], image) if tensor.interleaved else (request.coordinates[0], *pixel, image)
        )
        for axis, step in enumerate(steps):
            base[axis] += step
            if base[axis] <= last[axis]:
                break
            base[axis] = first[axis]
        else:
            image += tensor.element_strides[-1]


def _wide_offset(offsets: tuple[int, ...]) -> int:
    """wOffset (ISA 5.5.5.4); of wHalo only 0 is modelled, since the text does not say which pixels the halo has."""
    halo, offset = offsets or (0, 0)
    if halo:
        raise MemcheckError(f"Which pixels a wHalo of {halo} adds is not specified; only wHalo = 0 is modelled.")
    return offset


def _row_count(tensor: TensorMap, request: Request) -> int:
    if request.mode is LoadMode.IM2COL_W_128:
        return 128
    if request.mode is LoadMode.GATHER4:
        return 4
    if isinstance(tensor.mode, Im2col):
        return tensor.mode.pixels
    count = 1
    for size, step in zip(_stepped(tensor, tensor.mode), tensor.element_strides):
        count *= -(-size // step)
    return count


def _row_units(tensor: TensorMap) -> int:
    if tensor.interleaved:
        return 1
    return tensor.mode.box[0] if isinstance(tensor.mode, Tile) else tensor.mode.channels


def _pitch(tensor: TensorMap) -> int:
    """Bytes of shared memory from row to row."""
    row = _row_units(tensor) * tensor.unit
    return row if tensor.interleaved else max(row, tensor.swizzle.span)


def _stored_sizes(tensor: TensorMap) -> tuple[int, ...]:
    """The tensor as stores see it: rows end where a 16-byte chunk does."""
    whole = max(1, CHUNK // tensor.unit)
    return (-(-tensor.dims[0] // whole) * whole, *tensor.dims[1:])


def _address(tensor: TensorMap, position: Position, sizes: tuple[int, ...]) -> int | None:
    """Address of an element or slice; None out of bounds in any dimension."""
    if any(not 0 <= at < size for at, size in zip(position, sizes)):
        return None
    return tensor.base + sum(at * stride for at, stride in zip(position, (tensor.unit, *tensor.strides)))
