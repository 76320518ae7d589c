"""`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` (ISA 9.7.10.28.5)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.ptx.decode.atomics import either
from memcheck.ptx.decode.objects import (
    COMPLETE_TX,
    COMPLETION,
    MULTICAST,
    cta_mask,
    halves,
    mbarrier,
    shared,
    tensor,
)
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.tensors import TensorLoad, TensorMode, TensorReduce, TensorStore

COPY_PAGE, REDUCE_PAGE = "9.7.10.28.5.3", "9.7.10.28.5.4"

_COMMON = COMPLETION | slots(
    dim="1d 2d 3d 4d 5d",
    space="global shared shared::cta shared::cluster",
    mode="tile tile::gather4 tile::scatter4 im2col im2col::w im2col::w::128 im2col_no_offs im2col_no_offs::w",
    policy="L2::cache_hint",
    sem="weak relaxed release acquire",
    scope="cta cluster gpu sys",
)
COPY = _COMMON | slots(multicast=MULTICAST, ctas="cta_group::1 cta_group::2")
REDUCE = _COMMON | slots(op="add min max inc dec and or xor")

LOADS = ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")
STORES = ("tile", "tile::scatter4", "im2col_no_offs")
LATER = "im2col_no_offs::w"
ROWS = 5
"""Coordinates of gather4 and scatter4: a column and four rows (ISA 5.5.3.4)."""


@dataclass(frozen=True, slots=True)
class LoadForm:
    """`[dst], [map, {…}], [mbar]{, {offsets}}{, mask}{, policy}`."""

    dimensions: int
    mode: TensorMode
    coordinates: int
    offsets: int
    destination: Space
    multicast: bool
    cta_group: int
    policy: bool

    def build(self, at: Reader) -> Instruction:
        shape = "[dst], [map, {…}], [mbar]" + ", {offsets}" * bool(self.offsets)
        shape += ", mask" * self.multicast + ", policy" * self.policy
        at.count(shape, 3 + bool(self.offsets) + self.multicast + self.policy)
        map, coordinates = tensor(at, at.operands[1], self.coordinates)
        offsets = halves(at, at.operands[3], self.offsets) if self.offsets else ()
        if self.policy:
            at.policy(len(at.operands) - 1)
        return TensorLoad(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=shared(at, at.operands[0], self.destination),
            map=map,
            dimensions=self.dimensions,
            coordinates=coordinates,
            offsets=offsets,
            mbarrier=mbarrier(at, at.operands[2]),
            mask=cta_mask(at, at.operands[3 + bool(self.offsets)]) if self.multicast else None,
            mode=self.mode,
            destination_space=self.destination,
            cta_group=self.cta_group,
        )


@dataclass(frozen=True, slots=True)
class StoreForm:
    """`[map, {…}], [src]{, policy}`; with an operation a reduction."""

    dimensions: int
    mode: TensorMode
    coordinates: int
    policy: bool
    op: AtomOp | None

    def build(self, at: Reader) -> Instruction:
        at.count("[map, {…}], [src]" + ", policy" * self.policy, 2 + self.policy)
        map, coordinates = tensor(at, at.operands[0], self.coordinates)
        source = shared(at, at.operands[1], Space.SHARED_CTA)
        if self.policy:
            at.policy(2)
        if self.op is None:
            return TensorStore(
                text=at.text,
                span=at.span,
                guard=at.guard,
                map=map,
                dimensions=self.dimensions,
                coordinates=coordinates,
                source=source,
                mode=self.mode,
            )
        return TensorReduce(
            text=at.text,
            span=at.span,
            guard=at.guard,
            map=map,
            dimensions=self.dimensions,
            coordinates=coordinates,
            source=source,
            mode=self.mode,
            op=self.op,
        )


def analyse(words: Words, start: int) -> Form:
    """`start`: the first word behind `tensor`; raises FormError."""
    reduces = words[1] == "reduce"
    q = Qualifiers(
        words, start, REDUCE if reduces else COPY, REDUCE_PAGE if reduces else COPY_PAGE, frozenset(("space",))
    )
    for slot in ("sem", "scope"):
        if q.has(slot):
            q.refuse(f"{q.name} {'is relaxed.gpu' if reduces else 'is weak'}, without qualifiers for it", slot)
    spaces = q.all("space")
    if "shared" in spaces:
        at = q.found["space"][spaces.index("shared")]
        raise FormError(f"{q.name} says .shared::cta or .shared::cluster, not .shared (ISA {q.page})", at)
    if spaces == ("global", "shared::cta"):
        return _store(q, reduces)
    if reduces:
        q.refuse(f"{q.name} goes to global memory: .global.shared::cta", "space")
    if spaces not in (("shared::cta", "global"), ("shared::cluster", "global")):
        q.refuse(
            f"{q.name} is a load .shared::cta.global, .shared::cluster.global or a store .global.shared::cta", "space"
        )
    return _load(q, Space(spaces[0]))


def _load(q: Qualifiers, destination: Space) -> Form:
    _completes(q, COMPLETE_TX)
    number, mode, coordinates, offsets = dimensions(q, LOADS)
    if q.has("multicast"):
        if destination is not Space.SHARED_CLUSTER:
            q.refuse(f".{q.get('multicast')} is for .shared::cluster.global", "multicast")
        if q.get("multicast") == "multicast::cluster::32b":
            raise LaterError(f"{q.name}.multicast::cluster::32b", q.found["multicast"][0])
    return LoadForm(
        number,
        mode,
        coordinates,
        offsets,
        destination,
        q.has("multicast"),
        2 if q.get("ctas") == "cta_group::2" else 1,
        q.has("policy"),
    )


def _store(q: Qualifiers, reduces: bool) -> Form:
    _completes(q, "bulk_group")
    for slot in ("multicast", "ctas"):
        if q.has(slot):
            q.refuse(f".{q.get(slot)} is for loads", slot)
    word = q.get("op")
    if reduces and word is None:
        q.refuse(f"{q.name} needs an operation: add, min, max, inc, dec, and, or, xor")
    number, mode, coordinates, _ = dimensions(q, STORES)
    return StoreForm(number, mode, coordinates, q.has("policy"), None if word is None else AtomOp(word))


def _completes(q: Qualifiers, mechanism: str) -> None:
    given = q.get("completion")
    way = ".".join(q.all("space"))
    if given is None:
        q.refuse(f"{q.name}.{way} needs .{mechanism}")
    if given != mechanism:
        q.refuse(f"{q.name}.{way} completes by .{mechanism}", "completion")


def dimensions(q: Qualifiers, modes: tuple[str, ...] = LOADS) -> tuple[int, TensorMode, int, int]:
    """Dimensions and mode, the number of coordinates and of im2col offsets."""
    dim, word = q.get("dim"), q.get("mode") or "tile"
    if dim is None:
        q.refuse(f"{q.name} needs its dimensions: .1d to .5d")
    number = int(dim[0])
    if word not in modes:
        if word == LATER and LATER not in modes and "im2col_no_offs" in modes:
            raise LaterError(f"{q.name}.{word}", q.found["mode"][0])
        q.refuse(f"{q.name} in this direction has the modes {either(modes)}, not .{word}", "mode")
    mode = TensorMode(word)
    if mode in (TensorMode.GATHER4, TensorMode.SCATTER4):
        if number != 2:
            q.refuse(f".{word} is for .2d, not .{dim}", "dim")
        return number, mode, ROWS, 0
    if word.startswith("im2col") and number < 3:
        q.refuse(f".{word} is for .3d, .4d or .5d, not .{dim}", "dim")
    offsets = {TensorMode.IM2COL: number - 2, TensorMode.IM2COL_W: 2, TensorMode.IM2COL_W_128: 2}.get(mode, 0)
    return number, mode, number, offsets
