"""The 128 bytes of a tensor map (ISA 5.5.8 calls them opaque), as far as their layout is known.

    0x00  base, 8 bytes
    0x08  bit 0 im2col; 4-6 rank - 1; 7-10 element type; 11-12 interleave; 13-14 swizzle; 15 NaN fill;
          16 tf32 (the type says f32 or f32.ftz); 19-20 atomicity (sm_100); 22 96-byte swizzle (sm_103)
    0x0c  strides[0..3] / 16, the low 32 bits of each
    0x1c  bits 32-35 of the same, 4 bits each
    0x20  dims[0..4] - 1, 32 bits each; 0 beyond the rank
    0x34  element strides - 1, 3 bits each; byte 3: box[0] - 1 or channels - 1
    0x38  tile: box[1..4] - 1, 8 bits each; im2col: lower corner in the low half, upper in the high half,
          one of 16, two of 8 or three of 5 bits
    0x3c  im2col: pixels - 1

The fields that `tensormap.replace` sets (ISA 9.7.10.29) are where its machine code puts them (ptxas 13; sm_90a,
sm_100a, sm_103a). Bit 0, the corners and the pixels are where the encoder of the CUDA driver (13.0) puts them. It also
leaves the bytes of the box at 0x40, the alignment of its shared memory at 0x48 and the level-2 promotion in bits 17-18
of 0x08: nothing here reads these, and they and the rest are zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memcheck.errors import MemcheckError
from memcheck.ptx.tensors import TensormapField
from memcheck.tensor.descriptor import CORNER_BITS, Atomicity, Fill, Im2col, Interleave, Swizzle, TensorMap, Tile
from memcheck.tensor.element import ElementType

SIZE = 128
STRIDES = 4
"""Strides that a map holds: the innermost dimension has none."""
_TF32 = {ElementType.TF32: ElementType.F32, ElementType.TF32_FTZ: ElementType.F32_FTZ}
_PLAIN = {plain: tf32 for tf32, plain in _TF32.items()}


def encode(tensor: TensorMap) -> bytes:
    """The bytes of a map that `limits.check` accepts, or that tensormap.replace made of one."""
    padding = 5 - tensor.rank
    mode = tensor.mode
    steps = _packed([step - 1 for step in tensor.element_strides], 3)
    if isinstance(mode, Tile):
        inner, outer, pixels = mode.box[0], _packed([size - 1 for size in mode.box[1:]], 8), 0
    else:
        bits = CORNER_BITS[tensor.rank]
        outer = _packed(mode.lower, bits) | _packed(mode.upper, bits) << 16
        inner, pixels = mode.channels, mode.pixels - 1
    strides = [stride >> 4 for stride in tensor.strides] + [0] * padding
    words = [
        _flags(tensor),
        *(stride & 0xFFFFFFFF for stride in strides),
        _packed([stride >> 32 for stride in strides], 4),
        *(size - 1 for size in tensor.dims),
        *[0] * padding,
        steps | inner - 1 << 24,
        outer,
        pixels,
    ]
    return (tensor.base.to_bytes(8, "little") + b"".join(word.to_bytes(4, "little") for word in words)).ljust(
        SIZE, b"\0"
    )


def decode(raw: bytes) -> TensorMap:
    """The map that 128 bytes say; MemcheckError where they say none."""
    if len(raw) != SIZE:
        raise MemcheckError(f"A tensor map has {SIZE} bytes, not {len(raw)}.")
    words = [int.from_bytes(raw[i : i + 4], "little") for i in range(8, 64, 4)]
    flags, strides, high, dims, (steps, outer, pixels) = words[0], words[1:5], words[5], words[6:11], words[11:]
    rank = _field(flags, 4, 3) + 1
    inner = _field(steps, 24, 8) + 1
    mode: Tile | Im2col
    if not flags & 1:
        mode = Tile((inner, *(size + 1 for size in _unpacked(outer, 8, rank - 1))))
    elif bits := CORNER_BITS.get(rank):
        low, up = (_signed(_unpacked(half, bits, rank - 2), bits) for half in (outer, outer >> 16))
        mode = Im2col(low, up, inner, pixels + 1)
    else:
        raise MemcheckError(f"The bytes of a tensor map say im2col with {rank} dimensions; it has 3 to 5.")
    if rank > 5:
        raise MemcheckError(f"The bytes of a tensor map say {rank} dimensions; it has 1 to 5.")
    return TensorMap(
        base=int.from_bytes(raw[:8], "little"),
        element=_element(flags),
        dims=tuple(size + 1 for size in dims[:rank]),
        strides=tuple((_field(high, 4 * i, 4) << 32 | low) << 4 for i, low in enumerate(strides[: rank - 1])),
        mode=mode,
        element_strides=tuple(step + 1 for step in _unpacked(steps, 3, rank)),
        interleave=_interleave(_field(flags, 11, 2)),
        swizzle=Swizzle.B96 if flags >> 22 & 1 else Swizzle(_field(flags, 13, 2)),
        atomicity=Atomicity(_field(flags, 19, 2)),
        fill=Fill(_field(flags, 15, 1)),
    )


class Slot(NamedTuple):
    """`width` bits of a map from bit `at` on, and what tensormap.replace puts there: `fixed`, or without it the low
    bits of its operand less `less`, shifted right by `shift`."""

    at: int
    width: int
    less: int = 0
    shift: int = 0
    fixed: int | None = None


_FLAGS, _STRIDES_AT, _HIGH, _DIMS, _STEPS, _BOX = (8 * byte for byte in (0x08, 0x0C, 0x1C, 0x20, 0x34, 0x38))
_PLACES = {
    TensormapField.GLOBAL_ADDRESS: Slot(0, 64),
    TensormapField.RANK: Slot(_FLAGS + 4, 3),
    TensormapField.INTERLEAVE: Slot(_FLAGS + 11, 2),
    TensormapField.FILL: Slot(_FLAGS + 15, 1),
    TensormapField.SWIZZLE_ATOMICITY: Slot(_FLAGS + 19, 2),
}
IM2COL_BIT = _FLAGS
"""The bit that says im2col."""


def slots(field: TensormapField, ordinal: int, number: int) -> tuple[Slot, ...]:
    """Where tensormap.replace writes; `ordinal`: the dimension, `number`: the operand where it is an immediate.

    Nowhere for a fifth stride, which maps do not have.
    """
    if field is TensormapField.ELEMTYPE:
        element = ElementType(number)
        stored = _TF32.get(element, element)
        return Slot(_FLAGS + 7, 4, fixed=stored.value), Slot(_FLAGS + 16, 1, fixed=int(stored is not element))
    if field is TensormapField.SWIZZLE:
        wide = number == Swizzle.B96.value
        return Slot(_FLAGS + 13, 2, fixed=0 if wide else number), Slot(_FLAGS + 22, 1, fixed=int(wide))
    if field is TensormapField.BOX_DIM:
        return (Slot(_BOX + 8 * (ordinal - 1) if ordinal else _STEPS + 24, 8, less=1),)
    if field is TensormapField.GLOBAL_DIM:
        return (Slot(_DIMS + 32 * ordinal, 32, less=1),)
    if field is TensormapField.ELEMENT_STRIDE:
        return (Slot(_STEPS + 3 * ordinal, 3, less=1),)
    if field is TensormapField.GLOBAL_STRIDE:
        parts = Slot(_STRIDES_AT + 32 * ordinal, 32, shift=4), Slot(_HIGH + 4 * ordinal, 4, shift=36)
        return parts if ordinal < STRIDES else ()
    return (_PLACES[field],)


def _flags(tensor: TensorMap) -> int:
    stored = _TF32.get(tensor.element, tensor.element)
    wide = tensor.swizzle is Swizzle.B96
    fields = (
        (isinstance(tensor.mode, Im2col), 0),
        (tensor.rank - 1, 4),
        (stored.value, 7),
        (tensor.interleave.value, 11),
        (0 if wide else tensor.swizzle.value, 13),
        (tensor.fill.value, 15),
        (stored is not tensor.element, 16),
        (tensor.atomicity.value, 19),
        (wide, 22),
    )
    return sum(int(value) << at for value, at in fields)


def _element(flags: int) -> ElementType:
    number = _field(flags, 7, 4)
    if number not in {one.value for one in ElementType} - {one.value for one in _TF32}:
        raise MemcheckError(f"The bytes of a tensor map say element type {number}, which is not modelled.")
    element = ElementType(number)
    return _PLAIN.get(element, element) if flags >> 16 & 1 else element


def _interleave(number: int) -> Interleave:
    if number > Interleave.B32.value:
        raise MemcheckError(f"The bytes of a tensor map say interleave {number}; there are 0, 1 and 2.")
    return Interleave(number)


def _packed(values: Iterable[int], bits: int) -> int:
    """Values side by side, the first in the lowest bits; negative ones in two's complement."""
    return sum(_field(value, 0, bits) << bits * i for i, value in enumerate(values))


def _unpacked(word: int, bits: int, count: int) -> tuple[int, ...]:
    return tuple(_field(word, bits * i, bits) for i in range(count))


def _signed(values: Iterable[int], bits: int) -> tuple[int, ...]:
    return tuple(value - (value >> bits - 1 << bits) for value in values)


def _field(word: int, at: int, bits: int) -> int:
    return word >> at & (1 << bits) - 1
