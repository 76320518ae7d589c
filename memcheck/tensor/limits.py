"""Which tensor maps can be encoded: what `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` require (CUDA 13.0).

Each refusal names the field and the rule. Beside the documented rules, these were seen to be kept by the driver: the
first element stride is checked though it has no effect, a base lies below 2^57, the box has at most 228 KiB. Not kept
by it, but documented and so refused here: 32-byte interleave needs 32-byte swizzle.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from memcheck.errors import MemcheckError
from memcheck.tensor.descriptor import CORNER_BITS, Atomicity, Fill, Im2col, Interleave, Swizzle, TensorMap, Tile

LARGEST_BOX = 228 * 1024
"""Bytes: the shared memory of a multiprocessor of sm_90."""


def check(tensor: TensorMap) -> None:
    """MemcheckError with every rule that the map breaks."""
    if broken := refusals(tensor):
        raise MemcheckError(" ".join(broken))


def refusals(tensor: TensorMap, encoded: bool = True) -> tuple[str, ...]:
    """Sentences; none for a map that can be encoded, or, if not `encoded`, that tensormap.replace can make of one."""
    shape = tuple(_shape(tensor))
    return shape or (*_memory(tensor), *_steps(tensor), *_box(tensor), *_layout(tensor, encoded))


def _shape(tensor: TensorMap) -> Iterator[str]:
    rank, im2col = tensor.rank, isinstance(tensor.mode, Im2col)
    if im2col and not 3 <= rank <= 5:
        yield f"`dims` has {rank} dimensions; an im2col map has 3 to 5."
    elif not 1 <= rank <= 5:
        yield f"`dims` has {rank} dimensions; a tensor map has 1 to 5."
    elif tensor.interleaved and rank < 3:
        yield f"`dims` has {rank} dimensions; `interleave` needs 3 to 5."
    lengths = {"strides": (tensor.strides, rank - 1), "element_strides": (tensor.element_strides, rank)}
    if isinstance(tensor.mode, Tile):
        lengths["box"] = (tensor.mode.box, rank)
    else:
        lengths["lower"], lengths["upper"] = (tensor.mode.lower, rank - 2), (tensor.mode.upper, rank - 2)
    for field, (values, needed) in lengths.items():
        if len(values) != needed:
            yield f"`{field}` has {len(values)} entries; {rank} dimensions need {needed}."


def _memory(tensor: TensorMap) -> Iterator[str]:
    align = 32 if tensor.interleave is Interleave.B32 else 16
    why = " with 32-byte interleave" if align == 32 else ""
    if tensor.base % align:
        yield f"`base` is {tensor.base:#x}; it must be a multiple of {align}{why}."
    if not 0 <= tensor.base < 1 << 57:
        yield f"`base` is {tensor.base:#x}; it must be below 2^57."
    for i, size in enumerate(tensor.dims):
        if not 1 <= size <= 1 << 32:
            yield f"`dims[{i}]` is {size}; it must be from 1 to 2^32."
    for i, stride in enumerate(tensor.strides):
        if stride % align:
            yield f"`strides[{i}]` is {stride}; it must be a multiple of {align} bytes{why}."
        if not 0 <= stride < 1 << 40:
            yield f"`strides[{i}]` is {stride}; it must be below 2^40 bytes."


def _steps(tensor: TensorMap) -> Iterator[str]:
    for i, step in enumerate(tensor.element_strides):
        if not 1 <= step <= 8:
            yield f"`element_strides[{i}]` is {step}; it must be from 1 to 8."


def _box(tensor: TensorMap) -> Iterator[str]:
    mode = tensor.mode
    if isinstance(mode, Tile):
        inner = "box[0]"
        for i, size in enumerate(mode.box):
            if not 1 <= size <= 256:
                yield f"`box[{i}]` is {size}; it must be from 1 to 256."
        # the encoder counts whole steps only, though a copy fetches the begun one too
        moved = prod(size // step for size, step in zip(mode.box, tensor.element_strides) if step > 0)
    else:
        inner = "channels"
        if not 1 <= mode.channels <= 256:
            yield f"`channels` is {mode.channels}; it must be from 1 to 256."
        if not 1 <= mode.pixels <= 1024:
            yield f"`pixels` is {mode.pixels}; it must be from 1 to 1024."
        moved = mode.channels * mode.pixels
        yield from _corners(tensor, mode)
    if tensor.inner_bytes % 16:
        yield f"`{inner}` is {tensor.inner_bytes} bytes; it must be a multiple of 16 bytes."
    if moved * tensor.element.size > LARGEST_BOX:
        yield f"The box has {moved * tensor.element.size} bytes; it must have at most {LARGEST_BOX}."


def _corners(tensor: TensorMap, mode: Im2col) -> Iterator[str]:
    bits = CORNER_BITS[tensor.rank]
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    for field, corner in (("lower", mode.lower), ("upper", mode.upper)):
        for i, offset in enumerate(corner):
            if not least <= offset <= most:
                yield f"`{field}[{i}]` is {offset}; with {tensor.rank} dimensions it must be from {least} to {most}."
    for i, (size, low, high) in enumerate(zip(tensor.image, mode.lower, mode.upper)):
        if low > size - 1 + high:
            yield f"`lower[{i}]` is {low} and `upper[{i}]` {high}: the bounding box of {size} pixels is empty."


def _layout(tensor: TensorMap, encoded: bool) -> Iterator[str]:
    span = tensor.swizzle.span
    if encoded and tensor.swizzle is Swizzle.B96:
        yield "`swizzle` is 96 bytes; no encoder makes that, only tensormap.replace."
    elif tensor.interleave is Interleave.B32 and tensor.swizzle is not Swizzle.B32:
        yield "`interleave` is 32 bytes; `swizzle` must be 32 bytes too."
    elif span and not tensor.interleaved and tensor.inner_bytes > span:
        inner = "box[0]" if isinstance(tensor.mode, Tile) else "channels"
        yield f"`{inner}` is {tensor.inner_bytes} bytes; with {span}-byte `swizzle` it must be at most {span}."
    if tensor.atomicity is not Atomicity.B16 and tensor.swizzle is not Swizzle.B128:
        yield f"`atomicity` is {tensor.atomicity.bytes} bytes; `swizzle` must be 128 bytes."
    if tensor.fill is Fill.NAN and not tensor.element.floating:
        yield f"`fill` is NaN; `type` must be floating point, and .{tensor.element.spelling} is not."
