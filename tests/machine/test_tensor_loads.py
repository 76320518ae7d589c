"""What tensor loads of the machine leave in shared memory: tiles as numpy lays them out, an image by hand."""

from __future__ import annotations

import numpy as np
import pytest

from memcheck.language.test import Test
from memcheck.machine import simulate
from tests.machine.building import built
from tests.tensor.test_swizzle import B32, B64, B128, NONE

TENSOR = np.arange(1, 12 * 40 + 1, dtype=np.uint32).reshape(12, 40)
ROWS = 8
"""Of the box."""


def _loaded(test: Test) -> tuple[int, ...]:
    """The values of its registers in the one final state."""
    found = simulate(test, seconds=30)
    assert found.complete
    (state,) = found.states
    return state


def _test(variables: str, load: str, size: int, places: list[int]) -> Test:
    loads = " ".join(f"ld.shared.u32 r{i}, [s+{place}];" for i, place in enumerate(places))
    wait = "L: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L;"
    expect = f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};"
    registers = "; ".join(f"P0:r{i}" for i in range(len(places)))
    variables += f".shared .align 1024 .b32 s[{size // 4}]; .shared .mbarrier bar = 1;"
    return built(f"cta 0 {{ {expect} {load} {wait} {loads} }}", variables=variables, end=f"locations [{registers}]")


@pytest.mark.parametrize(("swizzle", "columns", "table"), [(0, 8, NONE), (32, 8, B32), (64, 16, B64), (128, 32, B128)])
@pytest.mark.parametrize(("column", "row"), [(4, 1), (-4, -2), (28, 7)])
def test_tiles_against_numpy(swizzle: int, columns: int, table: list[str], column: int, row: int) -> None:
    padded = np.pad(TENSOR, 64)[64 + row :, 64 + column :]
    chunks = padded[:ROWS, :columns].reshape(-1, 8, 4)  # lines of 128 bytes, of eight chunks of 16
    laid = np.stack([line[[int(one) for one in table[i % len(table)]]] for i, line in enumerate(chunks)]).ravel()
    words = ", ".join(map(str, TENSOR.ravel()))
    height, width = TENSOR.shape
    variables = f".global .align 128 .b32 x[{TENSOR.size}] = {{{words}}}; .global .align 128 .tensormap tm = "
    variables += f"{{ base = x, type = .u32, dims = {{{width}, {height}}}, strides = {{{4 * width}}}, "
    variables += f"box = {{{columns}, {ROWS}}}, swizzle = {swizzle} }};"
    load = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
    load += f" [s], [tm, {{{column}, {row}}}], [bar];"
    places = [0, 20, laid.nbytes // 2 + 36, laid.nbytes - 4]
    test = _test(variables, load, laid.nbytes, places)
    assert _loaded(test) == tuple(laid[place // 4] for place in places)


def test_an_image_by_hand() -> None:
    """3 x 3 pixels of 4 channels; the base goes from -1 to 1 along W, then a row on; the offset is one to the right."""
    words = ", ".join(str(100 * h + 10 * w + c) for h in range(1, 4) for w in range(1, 4) for c in range(4))
    variables = f".global .align 128 .b32 x[36] = {{{words}}}; .global .align 128 .tensormap tm = "
    variables += "{ base = x, type = .u32, dims = {4, 3, 3, 1}, strides = {16, 48, 144}, "
    variables += "lower = {-1, -1}, upper = {-1, -1}, channels = 4, pixels = 6 };"
    load = "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes"
    load += " [s], [tm, {0, 0, -1, 0}], [bar], {1, 0};"
    # base (0, -1), (1, -1), (-1, 0), (0, 0), (1, 0), (-1, 1): read one to the right of it
    test = _test(variables, load, 96, [0, 20, 32, 52, 64 + 8, 80 + 12])
    assert _loaded(test) == (0, 0, 110, 121, 132, 213)
