"""Tensor maps for tests: short ways to write them, generators, and those recorded in files."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from memcheck.tensor.descriptor import Fill, Im2col, Interleave, Swizzle, TensorMap, Tile
from memcheck.tensor.element import ElementType, element_type
from memcheck.tensor.request import LoadMode, Request

HERE = Path(__file__).parent
FLOATING = [one for one in ElementType if one.floating]


def tile(**changed: Any) -> TensorMap:
    """A plain map of 16 x 8 words, with changes; `box` is a field here."""
    box = changed.pop("box", (8, 4))
    fields: dict[str, Any] = {
        "base": 0x1000,
        "element": ElementType.U32,
        "dims": (16, 8),
        "strides": (64,),
        "element_strides": (1, 1),
    }
    return TensorMap(**{**fields, **changed}, mode=Tile(box))


def image(**changed: Any) -> TensorMap:
    """NHWC of 2 x 14 x 9 x 64 halves, 3 x 3 filter with padding, with changes."""
    mode = {"lower": (-1, -1), "upper": (-1, -1), "channels": 8, "pixels": 64}
    mode |= {name: changed.pop(name) for name in list(changed) if name in mode}
    fields: dict[str, Any] = {
        "base": 0,
        "element": ElementType.F16,
        "dims": (64, 9, 14, 2),
        "strides": (128, 1152, 16128),
        "element_strides": (1, 1, 1, 1),
    }
    return TensorMap(**{**fields, **changed}, mode=Im2col(**mode))


def recorded(name: str) -> list[dict[str, Any]]:
    """The lines of a file beside this one; `map` becomes a TensorMap."""
    entries = [json.loads(line) for line in (HERE / name).read_text().splitlines()]
    return [{**entry, "map": _read(entry["map"])} for entry in entries]


def _read(fields: dict[str, Any]) -> TensorMap:
    mode: Tile | Im2col
    if "box" in fields:
        mode = Tile(tuple(fields["box"]))
    else:
        mode = Im2col(tuple(fields["lower"]), tuple(fields["upper"]), fields["channels"], fields["pixels"])
    return TensorMap(
        base=fields["base"],
        element=element_type(fields["type"]),
        dims=tuple(fields["dims"]),
        strides=tuple(fields["strides"]),
        mode=mode,
        element_strides=tuple(fields["element_strides"]),
        interleave=Interleave(fields.get("interleave", 0) // 16),
        swizzle=next(one for one in Swizzle if one.span == fields.get("swizzle", 0)),
        fill=Fill.NAN if "fill" in fields else Fill.ZERO,
    )


@st.composite
def tiles(draw: st.DrawFn, most: int = 600) -> tuple[TensorMap, Request]:
    """A tile map whose box has at most `most` elements, and a copy of a box somewhere about its tensor."""
    element, rank = draw(st.sampled_from(ElementType)), draw(st.integers(1, 5))
    swizzle = draw(st.sampled_from([Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128]))
    chunk = 16 // element.size
    inner = chunk * draw(st.integers(1, (swizzle.span or 64) // 16))
    box, left = [inner], max(1, most // inner)
    for _ in range(rank - 1):
        box.append(draw(st.integers(1, min(left, 12))))
        left //= box[-1]
    dims = [draw(st.integers(1, 2 * inner)), *(draw(st.integers(1, size + 3)) for size in box[1:])]
    strides, last = [], dims[0] * element.size
    for size in dims[1:]:
        strides.append(-(-last // 16) * 16 + 16 * draw(st.integers(0, 2)))
        last = strides[-1] * size
    tensor = TensorMap(
        base=16 * draw(st.integers(0, 7)),
        element=element,
        dims=tuple(dims),
        strides=tuple(strides),
        mode=Tile(tuple(box)),
        element_strides=(1, *(draw(st.integers(1, 3)) for _ in box[1:])),
        swizzle=swizzle,
        fill=Fill.NAN if element.floating and draw(st.booleans()) else Fill.ZERO,
    )
    first = chunk * draw(st.integers(-inner // chunk, dims[0] // chunk))
    others = [draw(st.integers(-size, there)) for size, there in zip(box[1:], dims[1:])]
    return tensor, Request(coordinates=(first, *others), shared=128 * draw(st.integers(0, 15)))


@st.composite
def images(draw: st.DrawFn) -> tuple[TensorMap, Request]:
    """An im2col map with or without interleave, and a copy from within its bounding box."""
    element, rank = draw(st.sampled_from(ElementType)), draw(st.integers(3, 5))
    interleave = draw(st.sampled_from(Interleave))
    swizzle = Swizzle.B32 if interleave is Interleave.B32 else draw(st.sampled_from([Swizzle.NONE, Swizzle.B128]))
    chunk = 16 // element.size
    channels = draw(st.integers(1, 4))
    space = [draw(st.integers(2, 6)) for _ in range(rank - 2)]
    lower = [draw(st.integers(-2, 1)) for _ in space]
    upper = [draw(st.integers(low - size + 1, 2)) for low, size in zip(lower, space)]
    steps = [draw(st.integers(1, 3)) for _ in space]
    at = [draw(st.integers(low, size - 1 + high)) for low, high, size in zip(lower, upper, space)]
    first = draw(st.integers(-1, channels))
    depth, number = draw(st.integers(1, 2 * channels * chunk)), draw(st.integers(1, 3))
    step, start = draw(st.integers(1, 2)), draw(st.integers(0, number - 1))
    plain = interleave is Interleave.NONE
    dims = (depth, *space, number) if plain else (*space, depth, number)
    unit = 16 * max(1, interleave.value)
    tensor = TensorMap(
        base=32 * draw(st.integers(0, 3)),
        element=element,
        dims=dims,
        strides=tuple(unit * draw(st.integers(1, 200)) for _ in dims[1:]),
        mode=Im2col(tuple(lower), tuple(upper), channels * chunk, draw(st.integers(1, 24))),
        element_strides=(1, *steps, step) if plain else (*steps, 1, step),
        interleave=interleave,
        swizzle=swizzle,
    )
    request = Request(
        coordinates=(first * chunk, *at, start) if plain else (*at, first, start),
        mode=LoadMode.IM2COL,
        offsets=tuple(draw(st.integers(0, 3)) for _ in space),
        shared=128 * draw(st.integers(0, 15)),
    )
    return tensor, request


def box_elements(tensor: TensorMap) -> int:
    """Elements of a plain tile box, counted by hand from the definition."""
    assert isinstance(tensor.mode, Tile)
    return prod(-(-size // step) for size, step in zip(tensor.mode.box, tensor.element_strides))
