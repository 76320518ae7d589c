"""The walk of a tile against numpy, properties of every walk, and examples by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from memcheck.errors import MemcheckError
from memcheck.tensor.descriptor import Fill, Interleave, Swizzle, TensorMap, Tile
from memcheck.tensor.element import ElementType
from memcheck.tensor.limits import refusals
from memcheck.tensor.request import LoadMode, Request, misuse
from memcheck.tensor.walk import Copy, fill_bytes, rows, shared_bytes, stretches, transaction_bytes, walk
from tests.tensor.maps import box_elements, image, images, tile, tiles
from tests.tensor.test_swizzle import B32, B64, B128, NONE

TABLE = {Swizzle.NONE: NONE, Swizzle.B32: B32, Swizzle.B64: B64, Swizzle.B128: B128}
UNTOUCHED = 0xEE


def _global(tensor: TensorMap) -> np.ndarray:
    """Random bytes, enough for the tensor and the padding of its rows."""
    reach = tensor.base + (tensor.dims[0] + 16) * tensor.unit
    reach += sum((size - 1) * stride for size, stride in zip(tensor.dims[1:], tensor.strides))
    return np.random.default_rng(reach).integers(0, 256, size=reach, dtype=np.uint8)


def _loaded(tensor: TensorMap, request: Request, memory: np.ndarray) -> np.ndarray:
    """Shared memory after the walk has been carried out."""
    shared = np.full(shared_bytes(tensor, request), UNTOUCHED, dtype=np.uint8)
    fill = np.frombuffer(fill_bytes(tensor), dtype=np.uint8)
    for copy in walk(tensor, request):
        source = fill if copy.address is None else memory[copy.address : copy.address + copy.size]
        shared[copy.shared : copy.shared + copy.size] = source
    return shared


def _sliced(tensor: TensorMap, request: Request, memory: np.ndarray) -> np.ndarray:
    """The same with numpy: pad the tensor all round, cut the box out, lay its rows out, exchange chunks by table."""
    assert isinstance(tensor.mode, Tile)
    box, dims, size = tensor.mode.box[::-1], tensor.dims[::-1], tensor.element.size
    strides = (*reversed(tensor.strides), size, 1)
    whole = np.lib.stride_tricks.as_strided(memory[tensor.base :], (*dims, size), strides)
    padded = np.tile(np.frombuffer(fill_bytes(tensor), dtype=np.uint8), [n + 2 * b for n, b in zip(dims, box)] + [1])
    padded[tuple(slice(b, b + n) for n, b in zip(dims, box))] = whole
    about = zip(box, request.coordinates[::-1], tensor.element_strides[::-1])
    data = padded[tuple(slice(b + at, b + at + b, step) for b, at, step in about)].reshape(-1, box[-1] * size)
    laid = np.full((len(data), max(data.shape[1], tensor.swizzle.span)), UNTOUCHED, dtype=np.uint8)
    laid[:, : data.shape[1]] = data
    lines = np.full(-(-laid.size // 128) * 128, UNTOUCHED, dtype=np.uint8)
    lines[: laid.size] = laid.ravel()
    table = TABLE[tensor.swizzle]
    moved = [
        line.reshape(8, 16)[[int(chunk) for chunk in table[(request.shared // 128 + i) % len(table)]]]
        for i, line in enumerate(lines.reshape(-1, 128))
    ]
    return np.concatenate(moved).ravel()[: laid.size]


@settings(max_examples=60)
@given(tiles())
def test_tiles_against_numpy(made: tuple[TensorMap, Request]):
    tensor, request = made
    assert refusals(tensor) == misuse(tensor, request) == ()
    memory = _global(tensor)
    assert np.array_equal(_loaded(tensor, request, memory), _sliced(tensor, request, memory))


@settings(max_examples=30)
@given(tiles())
def test_a_tile_writes_each_of_its_bytes_once(made: tuple[TensorMap, Request]):
    tensor, request = made
    _each_byte_once(tensor, request)
    assert transaction_bytes(tensor, request) == box_elements(tensor) * tensor.element.size
    if not tensor.swizzle.span or tensor.inner_bytes == tensor.swizzle.span:
        assert shared_bytes(tensor, request) == transaction_bytes(tensor, request)


@settings(max_examples=40)
@given(images())
def test_an_image_writes_each_of_its_bytes_once(made: tuple[TensorMap, Request]):
    tensor, request = made
    assert refusals(tensor) == misuse(tensor, request) == ()
    _each_byte_once(tensor, request)


def _each_byte_once(tensor: TensorMap, request: Request) -> None:
    written = [copy.shared + i for copy in walk(tensor, request) for i in range(copy.size)]
    assert len(set(written)) == len(written) == transaction_bytes(tensor, request)
    assert 0 <= min(written) <= max(written) < shared_bytes(tensor, request)


@settings(max_examples=30)
@given(tiles())
def test_loads_stay_within_the_tensor(made: tuple[TensorMap, Request]):
    """Every address is an element of the tensor."""
    tensor, request = made
    elements = np.full(tensor.dims, tensor.base)
    for axis, stride in enumerate((tensor.element.size, *tensor.strides)):
        elements += (np.arange(tensor.dims[axis]) * stride).reshape(
            [-1 if i == axis else 1 for i in range(tensor.rank)]
        )
    there = set(elements.ravel().tolist())
    assert all(copy.address is None or copy.address in there for copy in walk(tensor, request))


def test_a_store_writes_the_last_chunk_of_a_row_whole():
    """Six words of a row are two chunks: a store writes eight words, a load fills the last two."""
    tensor = tile(dims=(6, 2), strides=(32,), box=(12, 1), base=0)
    load, store = (Request(coordinates=(0, 1), store=store) for store in (False, True))
    assert [copy.address for copy in walk(tensor, load)] == [*range(32, 56, 4), *[None] * 6]
    assert [copy.address for copy in walk(tensor, store)] == [*range(32, 64, 4), *[None] * 4]
    assert transaction_bytes(tensor, load) == 48


def test_gather4_reads_four_rows():
    """ISA 5.5.3.4, figure 10: rows 2, 5, 0 and 9 from the second chunk on."""
    tensor = tile(dims=(16, 10), box=(4, 1), base=0)
    request = Request(coordinates=(4, 2, 5, 0, 9), mode=LoadMode.GATHER4)
    assert misuse(tensor, request) == ()
    copies = list(walk(tensor, request))
    assert [copy.address for copy in copies] == [
        64 * row + 4 * column for row in (2, 5, 0, 9) for column in range(4, 8)
    ]
    assert [copy.shared for copy in copies] == list(range(0, 64, 4))
    assert transaction_bytes(tensor, request) == 64


def _pixels(tensor: TensorMap, request: Request) -> list[tuple[int, ...]]:
    return list(rows(tensor, request))


def test_im2col_with_padding():
    """ISA 5.5.4.1, example 1: W runs from -1 to 7 and H from -1 to 12, then the next image begins at their corner."""
    tensor = image(dims=(64, 9, 14, 64), channels=8, pixels=64)
    request = Request(coordinates=(0, 4, 7, 7), mode=LoadMode.IM2COL, offsets=(0, 0))
    expected = [(0, w, 7, 7) for w in range(4, 8)]
    expected += [(0, w, h, 7) for h in range(8, 13) for w in range(-1, 8)]
    expected += [(0, w, h, 8) for h in range(-1, 14) for w in range(-1, 8)]
    assert _pixels(tensor, request) == expected[:64]
    outside = [copy for copy in walk(tensor, request) if copy.address is None]
    assert len(outside) == 8 * sum(w < 0 or h < 0 for _, w, h, _ in expected[:64])


def test_im2col_offsets_move_the_pixel_not_the_box():
    """ISA 5.5.4.1, example 2: bases within [0, 6] x [0, 11], read two to the right and two below."""
    tensor = image(dims=(64, 9, 14, 64), lower=(0, 0), upper=(-2, -2), pixels=20)
    request = Request(coordinates=(0, 4, 7, 7), mode=LoadMode.IM2COL, offsets=(2, 2))
    expected = [(0, w + 2, 9, 7) for w in (4, 5, 6)] + [(0, w + 2, h + 2, 7) for h in (8, 9, 10) for w in range(7)]
    assert _pixels(tensor, request) == expected[:20]


def test_im2col_with_traversal_stride():
    """ISA 5.5.4.2: stride 2 leaves the number of pixels as it is; a row goes on at the corner of the box."""
    tensor = image(dims=(64, 8, 14, 64), element_strides=(1, 2, 2, 1), channels=16, pixels=32)
    request = Request(coordinates=(0, 5, 7, 7), mode=LoadMode.IM2COL, offsets=(1, 1))
    expected = [(0, w + 1, 8, 7) for w in (5,)]
    expected += [(0, w + 1, h + 1, 7) for h in (9, 11) for w in (-1, 1, 3, 5)]
    expected += [(0, w + 1, h + 1, 8) for h in range(-1, 13, 2) for w in (-1, 1, 3, 5)]
    assert _pixels(tensor, request) == expected[:32]


def test_wide_im2col_keeps_h():
    """ISA 5.5.5.4, example 1: the box and the start move by wOffset, stride 2 along W; then the next image."""
    tensor = image(
        dims=(128, 9, 67, 64),
        strides=(256, 2304, 154368),
        lower=(-1, 0),
        upper=(0, 0),
        element_strides=(1, 2, 1, 1),
        channels=64,
        pixels=12,
        swizzle=Swizzle.B128,
    )
    at = {"coordinates": (0, -1, 2, 7), "mode": LoadMode.IM2COL_W}
    assert _pixels(tensor, Request(**at)) == [(0, w, 2, n) for n in (7, 8) for w in (-1, 1, 3, 5, 7)] + [
        (0, -1, 2, 9),
        (0, 1, 2, 9),
    ]
    moved = Request(**at, offsets=(0, 1))
    assert misuse(tensor, moved) == ()
    assert _pixels(tensor, moved) == [(0, w, 2, n) for n in (7, 8, 9) for w in (0, 2, 4, 6, 8)][:12]
    fixed = replace(moved, mode=LoadMode.IM2COL_W_128)
    assert transaction_bytes(tensor, fixed) == 128 * 128
    with pytest.raises(MemcheckError, match="wHalo of 2"):
        list(walk(tensor, Request(**at, offsets=(2, 0))))


def test_interleave_copies_slices():
    """W, H, C, N with slices of 16 bytes: eight channels of two bytes each, one slice of C in a box."""
    tensor = tile(
        element=ElementType.F16,
        base=0,
        dims=(3, 2, 5, 2),
        strides=(64, 256, 2048),
        element_strides=(2, 1, 1, 1),
        box=(8, 2, 8, 1),
        interleave=Interleave.B16,
    )
    request = Request(coordinates=(0, 1, 4, 1))
    assert refusals(tensor) == misuse(tensor, request) == ()
    slices = list(walk(tensor, request))[::8]
    first = 64 + 4 * 256 + 2048
    assert [copy.address for copy in slices] == [first, first + 32, None, None, *[None] * 4]
    assert [copy.shared for copy in slices] == list(range(0, 128, 16))
    assert transaction_bytes(tensor, request) == 128


def test_fill_bytes():
    """The special NaN is 0x7ff7 again and again: a NaN in each format."""
    for element in ElementType:
        assert fill_bytes(tile(element=element)) == bytes(element.size)
        if element.floating:
            raw = fill_bytes(tile(element=element, fill=Fill.NAN))
            assert raw == b"\xf7\x7f" * (element.size // 2)
            if element is not ElementType.BF16:
                assert np.isnan(np.frombuffer(raw, dtype=f"<f{element.size}")).all()


@pytest.mark.parametrize(
    ("tensor", "request_", "sentence"),
    [
        (tile(), Request(coordinates=(0,)), "There are 1 coordinates; this copy takes 2."),
        (tile(), Request(coordinates=(2, 0)), "The first coordinate, 2, is not at a multiple of 16 bytes."),
        (tile(), Request(coordinates=(0, 0), shared=0x110), "The shared address 0x110 is not a multiple of 128."),
        (
            tile(),
            Request(coordinates=(0, -1), store=True),
            "Coordinate 1 of a store is -1; it must not be negative.",
        ),
        (
            tile(),
            Request(coordinates=(0, 0), mode=LoadMode.IM2COL),
            "The instruction copies in mode im2col, but the map is for tile mode.",
        ),
        (
            tile(),
            Request(coordinates=(0, 0, 0, 0, 0), mode=LoadMode.GATHER4),
            "Mode tile::gather4 is for maps of 2 dimensions with `box[1]` = 1 and without interleave.",
        ),
        (
            image(),
            Request(coordinates=(0, 8, 0, 0), mode=LoadMode.IM2COL),
            "W is 8, outside the bounding box from -1 to 7.",
        ),
        (
            image(),
            Request(coordinates=(0, 0, 0, 0), mode=LoadMode.IM2COL, offsets=(0, 256)),
            "The im2col offset 256 is not from 0 to 255.",
        ),
        (
            image(),
            Request(coordinates=(0, 0, 0, 0), mode=LoadMode.IM2COL, offsets=(1,)),
            "There are 1 offsets; this copy takes 2.",
        ),
        (
            image(lower=(-1, 0), upper=(0, 0)),
            Request(coordinates=(0, 0, 0, 0), mode=LoadMode.IM2COL, store=True),
            "The bounding box of a store leaves the image in W.",
        ),
        (
            image(lower=(0, 0), upper=(0, 1)),
            Request(coordinates=(0, 0, 0, 0), mode=LoadMode.IM2COL, store=True),
            "The bounding box of a store leaves the image in H.",
        ),
        (
            image(),
            Request(coordinates=(0, 0, 0, 0), mode=LoadMode.IM2COL_W),
            "Mode im2col::w needs a swizzle, not one that flips 8 bytes, and no interleave.",
        ),
    ],
)
def test_misuse(tensor: TensorMap, request_: Request, sentence: str):
    assert misuse(tensor, request_) == (sentence,)


@settings(deadline=None)
@given(tiles())
def test_stretches_are_the_same_bytes_and_none_continues_another(made: tuple[TensorMap, Request]):
    tensor, request = made
    for asked in (request, replace(request, store=True)):
        if asked.store and misuse(tensor, asked):
            continue
        found = list(stretches(tensor, asked))
        kept = [copy for copy in walk(tensor, asked) if copy.address is not None or not asked.store]
        assert sorted(_bytes(found), key=str) == sorted(_bytes(kept), key=str)
        assert not set(_ends(found)) & {(copy.shared, copy.address) for copy in found}


def _bytes(copies: Iterable[Copy]) -> Iterator[tuple[int, int | None]]:
    for copy in copies:
        for i in range(copy.size):
            yield copy.shared + i, None if copy.address is None else copy.address + i


def _ends(copies: Iterable[Copy]) -> Iterator[tuple[int, int | None]]:
    for copy in copies:
        yield copy.shared + copy.size, None if copy.address is None else copy.address + copy.size


def test_modes_of_stores_go_with_those_of_loads():
    words = {"tile": LoadMode.TILE, "tile::scatter4": LoadMode.GATHER4, "im2col_no_offs": LoadMode.IM2COL}
    assert {word: LoadMode.of(word) for word in words} == words
