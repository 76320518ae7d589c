"""Swizzling (ISA 5.5.7): a permutation of the bytes of shared memory, by address.

The pattern repeats from a boundary on (1024 bytes for 128-byte swizzle). A copy that begins on another 128-byte line
begins with a base offset, the number of that line within the pattern: counting lines by address says the same.
"""

from __future__ import annotations

from memcheck.tensor.descriptor import Atomicity, Swizzle

LINE = 128
"""Bytes of a line of shared memory, its 32 banks."""
_LINES = {Swizzle.NONE: 1, Swizzle.B32: 2, Swizzle.B64: 4, Swizzle.B96: 2, Swizzle.B128: 8}
_FLIPPED = 8


def pattern_lines(swizzle: Swizzle, atomicity: Atomicity = Atomicity.B16) -> int:
    """Lines after which the pattern repeats; with larger atoms a line has fewer of them to permute."""
    return max(1, _LINES[swizzle] * Atomicity.B16.bytes // atomicity.bytes)


def swizzled(address: int, swizzle: Swizzle, atomicity: Atomicity = Atomicity.B16) -> int:
    """Where the byte lands that would lie at `address` of shared memory; its own inverse, within each line."""
    line = address // LINE
    moved = address ^ line % pattern_lines(swizzle, atomicity) * atomicity.bytes
    if atomicity is Atomicity.B32_FLIP_8B and line % 2:
        return moved ^ _FLIPPED
    return moved
