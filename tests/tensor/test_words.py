"""The 128 bytes of a tensor map: by hand, there and back, and as the CUDA driver writes them."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.errors import MemcheckError
from memcheck.ptx.tensors import TensormapField
from memcheck.tensor.descriptor import Atomicity, Fill, Interleave, Swizzle, TensorMap, Tile
from memcheck.tensor.element import ElementType
from memcheck.tensor.words import decode, encode, slots
from tests.tensor.maps import image, images, recorded, tile, tiles


def _word(raw: bytes, at: int) -> int:
    return int(struct.unpack_from("<I", raw, at)[0])


def test_a_tile_map_by_hand():
    tensor = tile(
        base=0x7F00_1234_5670,
        element=ElementType.BF16,  # 10
        dims=(1 << 32, 100, 7),
        strides=(0x10, 0xA9_8765_4320),
        element_strides=(1, 3, 8),
        box=(64, 256, 2),
        swizzle=Swizzle.B128,
        fill=Fill.NAN,
    )
    raw = encode(tensor)
    assert len(raw) == 128
    assert struct.unpack_from("<Q", raw) == (0x7F00_1234_5670,)
    assert _word(raw, 0x08) == 2 << 4 | 10 << 7 | 3 << 13 | 1 << 15
    assert [_word(raw, at) for at in (0x0C, 0x10, 0x14, 0x18)] == [1, 0x98765432, 0, 0]
    assert _word(raw, 0x1C) == 0xA << 4
    assert [_word(raw, at) for at in range(0x20, 0x34, 4)] == [0xFFFFFFFF, 99, 6, 0, 0]
    assert _word(raw, 0x34) == 0 | 2 << 3 | 7 << 6 | 63 << 24
    assert _word(raw, 0x38) == 255 | 1 << 8
    assert raw[0x3C:] == bytes(128 - 0x3C)


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        ((-32768,), (32767,), 0x7FFF8000),
        ((-128, 127), (3, -4), 0xFC037F80),
        ((-16, 15, -1), (1, 2, -3), (0b10000 | 15 << 5 | 31 << 10) | (1 | 2 << 5 | 29 << 10) << 16),
    ],
)
def test_corners_by_hand(lower: tuple[int, ...], upper: tuple[int, ...], word: int):
    rank = len(lower) + 2
    tensor = image(
        dims=(64,) * rank,
        strides=(128,) * (rank - 1),
        element_strides=(1,) * rank,
        lower=lower,
        upper=upper,
        channels=200,
        pixels=1024,
        interleave=Interleave.B16,
    )
    raw = encode(tensor)
    assert _word(raw, 0x08) == 1 | (rank - 1) << 4 | 6 << 7 | 1 << 11
    assert _word(raw, 0x34) == 199 << 24
    assert _word(raw, 0x38) == word
    assert _word(raw, 0x3C) == 1023


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({"element": ElementType.TF32}, 7 << 7 | 1 << 16),
        ({"element": ElementType.TF32_FTZ}, 8 << 7 | 1 << 16),
        ({"element": ElementType.F32_FTZ}, 8 << 7),
        ({"swizzle": Swizzle.B96}, 2 << 7 | 1 << 22),
        ({"swizzle": Swizzle.B128, "atomicity": Atomicity.B64}, 2 << 7 | 3 << 13 | 3 << 19),
    ],
)
def test_flags_by_hand(changes: dict[str, object], flags: int):
    tensor = tile(**changes)
    assert _word(encode(tensor), 0x08) == flags | 1 << 4
    assert decode(encode(tensor)) == tensor


@settings(max_examples=50)
@given(tiles() | images(), st.sampled_from(Atomicity), st.integers(0, (1 << 40) - 1))
def test_there_and_back(made: tuple[TensorMap, object], atomicity: Atomicity, stride: int):
    tensor, _ = made
    strides = (stride & ~15, *tensor.strides[1:]) if tensor.strides else ()
    tensor = replace(tensor, atomicity=atomicity, strides=strides)
    assert decode(encode(tensor)) == tensor


def test_bytes_of_the_drivers_encoder():
    """All fields but the driver's own (from 0x40 on)."""
    entries = [entry for entry in recorded("encoder.jsonl") if "bytes" in entry]
    assert len(entries) > 80
    for entry in entries:
        raw = bytes.fromhex(entry["bytes"])
        assert encode(entry["map"])[: len(raw)] == raw
        assert decode(raw.ljust(128, b"\0")) == entry["map"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (7 << 4, "8 dimensions; it has 1 to 5"),
        (1 | 1 << 4, "im2col with 2 dimensions"),
        (13 << 7, "element type 13, which is not modelled"),
        (3 << 11, "interleave 3"),
    ],
)
def test_bytes_that_say_no_map(flags: int, sentence: str):
    with pytest.raises(MemcheckError, match=sentence):
        decode(struct.pack("<QI", 0, flags).ljust(128, b"\0"))


def _put(raw: int, field: TensormapField, ordinal: int, number: int) -> int:
    """The bytes, a number, with a field set slot by slot."""
    for slot in slots(field, ordinal, number):
        part = (number - slot.less >> slot.shift if slot.fixed is None else slot.fixed) & (1 << slot.width) - 1
        raw = raw & ~((1 << slot.width) - 1 << slot.at) | part << slot.at
    return raw


@settings(max_examples=50)
@given(st.data())
def test_every_field_has_its_slots(data: st.DataObject):
    """A map becomes another of its rank when every field is replaced, whatever was there before."""
    first, second = (data.draw(tiles())[0] for _ in range(2))
    first, second = (replace(one, swizzle=data.draw(st.sampled_from(Swizzle))) for one in (first, second))
    field, box = TensormapField, second.mode
    assert isinstance(box, Tile)
    changes = [
        (field.GLOBAL_ADDRESS, 0, second.base),
        (field.RANK, 0, second.rank - 1),
        *((field.BOX_DIM, i, number) for i, number in enumerate(box.box)),
        *((field.GLOBAL_DIM, i, number) for i, number in enumerate(second.dims)),
        *((field.GLOBAL_STRIDE, i, number) for i, number in enumerate(second.strides)),
        *((field.ELEMENT_STRIDE, i, number) for i, number in enumerate(second.element_strides)),
        (field.ELEMTYPE, 0, second.element.value),
        (field.INTERLEAVE, 0, second.interleave.value),
        (field.SWIZZLE, 0, second.swizzle.value),
        (field.SWIZZLE_ATOMICITY, 0, second.atomicity.value),
        (field.FILL, 0, second.fill.value),
    ]
    raw = int.from_bytes(encode(first), "little")
    for change in data.draw(st.permutations(changes)):
        raw = _put(raw, *change)
    assert decode(raw.to_bytes(128, "little")) == second


def test_a_fifth_stride_has_no_slot():
    assert slots(TensormapField.GLOBAL_STRIDE, 4, 16) == ()


def test_too_few_bytes():
    with pytest.raises(MemcheckError, match="128 bytes, not 64"):
        decode(bytes(64))
