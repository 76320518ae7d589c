"""Declared tensor maps: what they describe as descriptors, and whether these can be encoded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memcheck.errors import SourceError
from memcheck.language.test import TensorMap
from memcheck.source import Span
from memcheck.tensor import descriptor, limits
from memcheck.tensor.descriptor import Fill, Im2col, Interleave, Swizzle, Tile
from memcheck.tensor.element import element_type

LEAST_ALIGNMENT = 64
"""Of a tensor map itself, in bytes (cuda.h, CUtensorMap)."""
ALIGNMENT = 128
"""Where a declaration says none; the instructions that change a map need this one."""
_FIELD = re.compile(r"`(\w+)")


def described(map: TensorMap, base: int) -> descriptor.TensorMap:
    """The descriptor of a declared map whose tensor lies at address `base`."""
    mode: Tile | Im2col
    if map.box:
        mode = Tile(map.box)
    else:
        mode = Im2col(map.lower, map.upper, map.channels, map.pixels)
    return descriptor.TensorMap(
        base=base,
        element=element_type(map.type),
        dims=map.dims,
        strides=map.strides,
        mode=mode,
        element_strides=map.element_strides,
        interleave=Interleave(map.interleave // 16),
        swizzle=next(one for one in Swizzle if one.span == map.swizzle),
        fill=Fill(map.fills_nan),
    )


def check(map: TensorMap, fields: Mapping[str, Span], whole: Span) -> None:
    """SourceError for the first limit that a map breaks, at the field that does; `whole` stands for fields not given.

    Where its tensor lies is checked by `base_alignment`.
    """
    for refusal in limits.refusals(described(map, 0)):
        named = _FIELD.match(refusal)
        span = fields.get(named[1], whole) if named else whole
        raise SourceError(f"no driver encodes this tensor map: {refusal[0].lower()}{refusal[1:]}", span)


def base_alignment(map: TensorMap) -> int:
    """Bytes of which the address of the tensor is a multiple."""
    return 32 if map.interleave == 32 else 16
