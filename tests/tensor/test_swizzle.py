"""Swizzle patterns against the tables of ISA 5.5.7, written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck.tensor.descriptor import Atomicity, Swizzle
from memcheck.tensor.swizzle import pattern_lines, swizzled

# Row: a line of 128 bytes; column: where in the line, in 16 bytes; entry: the chunk that lies there.
NONE = ["01234567"]
B32 = ["01234567", "10325476"]
B64 = ["01234567", "10325476", "23016745", "32107654"]
B128 = [*B64, "45670123", "54761032", "67452301", "76543210"]
ATOM_32 = ["01234567", "23016745", "45670123", "67452301"]
ATOM_64 = ["01234567", "45670123"]

TABLES = [
    (Swizzle.NONE, Atomicity.B16, NONE),
    (Swizzle.B32, Atomicity.B16, B32),
    (Swizzle.B64, Atomicity.B16, B64),
    (Swizzle.B96, Atomicity.B16, B32),
    (Swizzle.B128, Atomicity.B16, B128),
    (Swizzle.B128, Atomicity.B32, ATOM_32),
    (Swizzle.B128, Atomicity.B64, ATOM_64),
]


@pytest.mark.parametrize(("swizzle", "atomicity", "table"), TABLES)
def test_tables(swizzle: Swizzle, atomicity: Atomicity, table: list[str]):
    assert pattern_lines(swizzle, atomicity) == len(table)
    for line in range(16):
        for place, chunk in enumerate(table[line % len(table)]):
            for byte in range(16):
                home = 128 * line + 16 * int(chunk) + byte
                assert swizzled(home, swizzle, atomicity) == 128 * line + 16 * place + byte


def test_eight_bytes_flip_in_every_other_line():
    for address in range(0, 1024, 4):
        flipped = swizzled(address, Swizzle.B128, Atomicity.B32_FLIP_8B)
        kept = swizzled(address, Swizzle.B128, Atomicity.B32)
        line, byte = divmod(kept, 128)
        assert flipped == (kept if line % 2 == 0 else 128 * line + byte // 16 * 16 + (byte + 8) % 16)


@pytest.mark.parametrize(
    ("swizzle", "boundary", "modulus"),
    [(Swizzle.B128, 1024, 8), (Swizzle.B96, 256, 2), (Swizzle.B64, 512, 4), (Swizzle.B32, 256, 2)],
)
def test_base_offset(swizzle: Swizzle, boundary: int, modulus: int):
    """A destination off the boundary begins in the line (destination / 128) % modulus of the pattern."""
    for start in range(0, 4096, 128):
        offset = start // 128 % modulus
        for at in range(0, boundary, 16):
            anchored = swizzled(offset * 128 + at, swizzle) - offset * 128
            assert swizzled(start + at, swizzle) - start == anchored


@given(st.integers(0, 1 << 18), st.sampled_from(Swizzle), st.sampled_from(Atomicity))
def test_a_permutation_of_each_line(address: int, swizzle: Swizzle, atomicity: Atomicity):
    moved = swizzled(address, swizzle, atomicity)
    assert moved // 128 == address // 128
    assert swizzled(moved, swizzle, atomicity) == address
