"""Which maps can be encoded: each rule by hand, and the verdicts of the CUDA driver's encoder."""

from __future__ import annotations

import pytest

from memcheck.errors import MemcheckError
from memcheck.tensor.descriptor import Atomicity, Fill, Interleave, Swizzle, TensorMap
from memcheck.tensor.element import ElementType, element_type
from memcheck.tensor.limits import check, refusals
from tests.tensor.maps import image, recorded, tile

CUBE = {"dims": (64, 8, 6), "strides": (1024, 8192), "element_strides": (1, 1, 1), "box": (8, 4, 4)}
WIDE = {"element": ElementType.U64, "strides": (512,)}
NARROW = {**CUBE, "interleave": Interleave.B32, "swizzle": Swizzle.B32}

REFUSED = [
    (tile(base=0x1008), "`base` is 0x1008; it must be a multiple of 16."),
    (tile(**NARROW, base=0x1010), "`base` is 0x1010; it must be a multiple of 32 with 32-byte interleave."),
    (tile(base=1 << 57), "`base` is 0x200000000000000; it must be below 2^57."),
    (tile(dims=(0, 8)), "`dims[0]` is 0; it must be from 1 to 2^32."),
    (tile(dims=(16, (1 << 32) + 1)), "`dims[1]` is 4294967297; it must be from 1 to 2^32."),
    (tile(strides=(72,)), "`strides[0]` is 72; it must be a multiple of 16 bytes."),
    (tile(strides=(1 << 40,)), "`strides[0]` is 1099511627776; it must be below 2^40 bytes."),
    (
        tile(**{**NARROW, "strides": (1040, 8192)}),
        "`strides[0]` is 1040; it must be a multiple of 32 bytes with 32-byte interleave.",
    ),
    (tile(box=(8, 0)), "`box[1]` is 0; it must be from 1 to 256."),
    (tile(box=(8, 257)), "`box[1]` is 257; it must be from 1 to 256."),
    (tile(box=(6, 4)), "`box[0]` is 24 bytes; it must be a multiple of 16 bytes."),
    (tile(**WIDE, box=(256, 115)), "The box has 235520 bytes; it must have at most 233472."),
    (tile(element_strides=(1, 9)), "`element_strides[1]` is 9; it must be from 1 to 8."),
    (tile(element_strides=(0, 1)), "`element_strides[0]` is 0; it must be from 1 to 8."),
    (tile(swizzle=Swizzle.B32, box=(12, 4)), "`box[0]` is 48 bytes; with 32-byte `swizzle` it must be at most 32."),
    (tile(swizzle=Swizzle.B64, box=(20, 4)), "`box[0]` is 80 bytes; with 64-byte `swizzle` it must be at most 64."),
    (tile(swizzle=Swizzle.B128, box=(36, 4)), "`box[0]` is 144 bytes; with 128-byte `swizzle` it must be at most 128."),
    (tile(swizzle=Swizzle.B96), "`swizzle` is 96 bytes; no encoder makes that, only tensormap.replace."),
    (tile(atomicity=Atomicity.B64), "`atomicity` is 64 bytes; `swizzle` must be 128 bytes."),
    (tile(fill=Fill.NAN), "`fill` is NaN; `type` must be floating point, and .u32 is not."),
    (tile(**{**NARROW, "swizzle": Swizzle.NONE}), "`interleave` is 32 bytes; `swizzle` must be 32 bytes too."),
    (tile(interleave=Interleave.B16), "`dims` has 2 dimensions; `interleave` needs 3 to 5."),
    (
        tile(dims=(1,) * 6, strides=(16,) * 5, element_strides=(1,) * 6, box=(4,) * 6),
        "`dims` has 6 dimensions; a tensor map has 1 to 5.",
    ),
    (tile(box=(8,)), "`box` has 1 entries; 2 dimensions need 2."),
    (tile(strides=()), "`strides` has 0 entries; 2 dimensions need 1."),
    (image(lower=(-129, 0)), "`lower[0]` is -129; with 4 dimensions it must be from -128 to 127."),
    (image(upper=(0, 128)), "`upper[1]` is 128; with 4 dimensions it must be from -128 to 127."),
    (image(lower=(0, 0), upper=(-9, 0)), "`lower[0]` is 0 and `upper[0]` -9: the bounding box of 9 pixels is empty."),
    (image(channels=264), "`channels` is 264; it must be from 1 to 256."),
    (image(channels=12), "`channels` is 24 bytes; it must be a multiple of 16 bytes."),
    (image(pixels=1025), "`pixels` is 1025; it must be from 1 to 1024."),
    (image(pixels=0), "`pixels` is 0; it must be from 1 to 1024."),
    (image(swizzle=Swizzle.B32, channels=24), "`channels` is 48 bytes; with 32-byte `swizzle` it must be at most 32."),
    (
        image(dims=(64, 9), strides=(128,), element_strides=(1, 1), lower=(), upper=()),
        "`dims` has 2 dimensions; an im2col map has 3 to 5.",
    ),
]

ACCEPTED = [
    tile(),
    tile(base=(1 << 57) - 16, dims=(1 << 32, 1), strides=((1 << 40) - 16,)),
    tile(strides=(0,), element_strides=(8, 8), box=(256, 64)),
    tile(**WIDE, box=(256, 114)),
    tile(**WIDE, box=(256, 229), element_strides=(1, 2)),  # 114 whole steps, and a begun one that is not counted
    tile(**NARROW),
    tile(swizzle=Swizzle.B128, box=(32, 4), atomicity=Atomicity.B32_FLIP_8B),
    image(lower=(-128, 127), upper=(127, 127)),
    image(dims=(64, 40, 40, 40, 2), strides=(128,) * 4, element_strides=(1,) * 5, lower=(-16,) * 3, upper=(15,) * 3),
    image(dims=(64, 9, 2), strides=(128, 1152), element_strides=(1,) * 3, lower=(-32768,), upper=(32767,)),
]


@pytest.mark.parametrize(("tensor", "sentence"), REFUSED)
def test_refused(tensor: TensorMap, sentence: str):
    assert refusals(tensor) == (sentence,)


@pytest.mark.parametrize("tensor", ACCEPTED)
def test_accepted(tensor: TensorMap):
    assert refusals(tensor) == ()
    check(tensor)


@pytest.mark.parametrize("element", ElementType)
def test_nan_fill_is_for_floating_point(element: ElementType):
    """Names of floating-point types begin with f, bf or tf."""
    tensor = tile(element=element, fill=Fill.NAN, box=(16, 1))
    assert (refusals(tensor) == ()) is ("f" in element.spelling)


def test_check_says_everything_that_is_wrong():
    with pytest.raises(MemcheckError) as raised:
        check(tile(base=8, box=(8, 0)))
    assert str(raised.value) == ("`base` is 0x8; it must be a multiple of 16. `box[1]` is 0; it must be from 1 to 256.")


def test_element_types_by_name():
    sizes = {one.spelling: one.size for one in ElementType}
    assert sizes == {
        **{"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u32": 4, "s32": 4, "f32": 4, "f32.ftz": 4, "tf32": 4},
        **{"tf32.ftz": 4, "u64": 8, "s64": 8, "f64": 8},
    }
    assert all(element_type(one.spelling) is one for one in ElementType)
    with pytest.raises(MemcheckError, match="smaller than a byte"):
        element_type("b4x16")
    with pytest.raises(MemcheckError, match=r"no elements of type \.s8; there are \.u8 \.u16"):
        element_type("s8")


def test_verdicts_of_the_drivers_encoder():
    """Recorded from cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (driver 580, sm_90)."""
    entries = recorded("encoder.jsonl")
    wrong = [entry for entry in entries if (refusals(entry["map"]) == ()) is not entry["accepted"]]
    assert not wrong
    assert sum(entry["accepted"] for entry in entries) > 100 < sum(not entry["accepted"] for entry in entries)


def test_what_only_tensormap_replace_makes():
    wide = tile(swizzle=Swizzle.B96)
    assert refusals(wide, encoded=False) == ()
    (sentence,) = refusals(tile(swizzle=Swizzle.B96, box=(28, 4)), encoded=False)
    assert sentence == "`box[0]` is 112 bytes; with 96-byte `swizzle` it must be at most 96."
