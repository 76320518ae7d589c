"""`cp.async.bulk`, `cp.reduce.async.bulk`, their multimem forms, `cp.async.bulk.prefetch` (ISA 9.7.10.28.4)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.ptx.asynchronous import BulkCopy, BulkReduce
from memcheck.ptx.decode.atomics import either
from memcheck.ptx.decode.objects import (
    COMPLETE_TX,
    COMPLETION,
    MULTICAST,
    chunks,
    cta_mask,
    mbarrier,
    order,
    shared,
    tensor,
)
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import AtomOp, Instruction, Nop
from memcheck.ptx.operands import Address, Operand
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.raw import RawOperand
from memcheck.ptx.types import TYPES, ScalarType

COPY_PAGE, REDUCE_PAGE, PREFETCH_PAGE = "9.7.10.28.4.1", "9.7.10.28.4.2", "9.7.10.28.4.3"

MECHANISMS = {
    ("shared::cta", "global"): COMPLETE_TX,
    ("shared::cluster", "global"): COMPLETE_TX,
    ("shared::cluster", "shared::cta"): COMPLETE_TX,
    ("global", "shared::cta"): "bulk_group",
}
"""Destination and source, and how such a copy completes."""
SCOPES = ("cta", "cluster", "gpu", "sys")

COPY = COMPLETION | slots(
    sem="weak relaxed",
    scope=SCOPES,
    space="global shared shared::cta shared::cluster",
    multicast=MULTICAST,
    policy="L2::cache_hint",
    type="b128",
    later="ignore_oob cp_mask report_mechanism",
)
REDUCE = COMPLETION | slots(
    sem="relaxed",
    scope=SCOPES,
    space="global shared shared::cta shared::cluster",
    policy="L2::cache_hint",
    op="add min max inc dec and or xor",
    noftz="noftz",
    type="b32 b64 u32 u64 s32 s64 f16 f32 f64 bf16",
)

SHARED_TYPES: dict[AtomOp, tuple[str, ...]] = {
    AtomOp.ADD: ("u32", "s32", "u64"),
    AtomOp.MIN: ("u32", "s32"),
    AtomOp.MAX: ("u32", "s32"),
    AtomOp.INC: ("u32",),
    AtomOp.DEC: ("u32",),
    AtomOp.AND: ("b32",),
    AtomOp.OR: ("b32",),
    AtomOp.XOR: ("b32",),
}
GLOBAL_TYPES: dict[AtomOp, tuple[str, ...]] = SHARED_TYPES | {
    AtomOp.ADD: ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"),
    AtomOp.MIN: ("u32", "s32", "u64", "s64", "f16", "bf16"),
    AtomOp.MAX: ("u32", "s32", "u64", "s64", "f16", "bf16"),
    AtomOp.AND: ("b32", "b64"),
    AtomOp.OR: ("b32", "b64"),
    AtomOp.XOR: ("b32", "b64"),
}
"""Types of a reduction by its destination, the one that a missing type stands for first."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a bulk operation goes and how it completes. Operands: `[dst], [src], size{, [mbar]}{, mask}{, policy}`."""

    destination: Space
    source: Space
    counted: bool
    """Whether it completes on an mbarrier."""
    multicast: bool
    policy: bool

    def read(self, at: Reader) -> tuple[Address, Address, Operand, Address | None, Operand | None]:
        """The operands, the cache policy left out."""
        shape = "[dst], [src], size" + ", [mbar]" * self.counted + ", mask" * self.multicast + ", policy" * self.policy
        at.count(shape, 3 + self.counted + self.multicast + self.policy)
        destination = _place(at, at.operands[0], self.destination)
        source = _place(at, at.operands[1], self.source)
        size = chunks(at, at.operands[2])
        object = mbarrier(at, at.operands[3]) if self.counted else None
        mask = cta_mask(at, at.operands[4]) if self.multicast else None
        if self.policy:
            at.policy(len(at.operands) - 1)
        return destination, source, size, object, mask


def _place(at: Reader, operand: RawOperand, space: Space) -> Address:
    return at.address(operand, space) if space is Space.GLOBAL else shared(at, operand, space)


@dataclass(frozen=True, slots=True)
class CopyForm:
    route: Route
    sem: Sem
    scope: Scope | None
    multimem: bool

    def build(self, at: Reader) -> Instruction:
        destination, source, size, object, mask = self.route.read(at)
        return BulkCopy(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=destination,
            source=source,
            size=size,
            destination_space=self.route.destination,
            source_space=self.route.source,
            mbarrier=object,
            mask=mask,
            sem=self.sem,
            scope=self.scope,
            multimem=self.multimem,
        )


@dataclass(frozen=True, slots=True)
class ReduceForm:
    route: Route
    op: AtomOp
    type: ScalarType
    scope: Scope
    multimem: bool

    def build(self, at: Reader) -> Instruction:
        destination, source, size, object, _ = self.route.read(at)
        return BulkReduce(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=destination,
            source=source,
            size=size,
            destination_space=self.route.destination,
            mbarrier=object,
            op=self.op,
            type=self.type,
            scope=self.scope,
            multimem=self.multimem,
        )


@dataclass(frozen=True, slots=True)
class PrefetchForm:
    """`[a], size`, or with `coordinates` `[map, {…}]{, offsets}`; a hint."""

    coordinates: int
    offsets: int
    policy: bool

    def build(self, at: Reader) -> Instruction:
        from memcheck.ptx.decode.objects import halves

        hint = ", policy" * self.policy
        if self.coordinates:
            at.count("[map, {…}]" + ", {…}" * bool(self.offsets) + hint, 1 + bool(self.offsets) + self.policy)
            tensor(at, at.operands[0], self.coordinates)
            if self.offsets:
                halves(at, at.operands[1], self.offsets)
        else:
            at.count("[a], size" + hint, 2 + self.policy)
            at.address(at.operands[0], Space.GLOBAL)
            chunks(at, at.operands[1])
        if self.policy:
            at.policy(len(at.operands) - 1)
        return Nop(text=at.text, span=at.span, guard=at.guard)


def analyse(words: Words, start: int) -> Form:
    """{multimem.}cp.async.bulk, {multimem.}cp.reduce.async.bulk; `start`: the first word behind `bulk`."""
    multimem = words[0] == "multimem"
    reduces = words[start - 3] == "reduce"
    page = REDUCE_PAGE if reduces else COPY_PAGE
    q = Qualifiers(words, start, REDUCE if reduces else COPY, page, frozenset(("space",)))
    route = _route(q, multimem, reduces)
    return _reduce(q, route, multimem) if reduces else _copy(q, route, multimem)


def _route(q: Qualifiers, multimem: bool, reduces: bool) -> Route:
    spaces = q.all("space")
    if "shared" in spaces:
        at = q.found["space"][spaces.index("shared")]
        raise FormError(f"{q.name} says .shared::cta or .shared::cluster, not .shared (ISA {q.page})", at)
    routes = [r for r in MECHANISMS if (r[1] == "shared::cta" or not reduces) and (r[0] == "global" or not multimem)]
    key = (spaces[0], spaces[1]) if len(spaces) == 2 else None
    if key not in routes:
        known = either(tuple(f"{to}.{of}" for to, of in routes))
        q.refuse(f"{q.name} goes from its second to its first state space: {known}", "space")
    wanted, given = MECHANISMS[key], q.get("completion")
    if given != wanted:
        if given is None:
            q.refuse(f"{q.name}.{'.'.join(key)} needs .{wanted}")
        q.refuse(f"{q.name}.{'.'.join(key)} completes by .{wanted}", "completion")
    if q.has("multicast"):
        if key != ("shared::cluster", "global"):
            q.refuse(f".{q.get('multicast')} is for .shared::cluster.global", "multicast")
        if q.get("multicast") == "multicast::cluster::32b":
            raise LaterError(f"{q.name}.multicast::cluster::32b", q.found["multicast"][0])
    if q.has("policy") and (multimem or key == ("shared::cluster", "shared::cta")):
        q.refuse(f"{q.name}.{'.'.join(key)} takes no .L2::cache_hint", "policy")
    to, of = Space(key[0]), Space(key[1])
    return Route(to, of, wanted == COMPLETE_TX, q.has("multicast"), q.has("policy"))


def _scopes(route: Route) -> tuple[str, ...]:
    """Between shared memories nothing is wider than the cluster."""
    return SCOPES if Space.GLOBAL in (route.destination, route.source) else SCOPES[:2]


def _copy(q: Qualifiers, route: Route, multimem: bool) -> Form:
    if q.has("later"):
        raise LaterError(f"{q.name}.{q.get('later')}", q.found["later"][0])
    if q.get("sem") == "relaxed":
        _, scope = order(q, Sem.RELAXED, Scope.SYS, _scopes(route))
        if not q.has("type"):
            q.refuse(f"{q.name}.relaxed needs .b128", "sem")
        return CopyForm(route, Sem.RELAXED, scope, multimem)
    for slot in ("scope", "type"):
        if q.has(slot):
            q.refuse(f".{q.get(slot)} goes with .relaxed: .relaxed, a scope and .b128 are written together", slot)
    return CopyForm(route, Sem.WEAK, None, multimem)


def _reduce(q: Qualifiers, route: Route, multimem: bool) -> Form:
    word = q.get("op")
    if word is None:
        q.refuse(f"{q.name} needs an operation: add, min, max, inc, dec, and, or, xor")
    op = AtomOp(word)
    types = (GLOBAL_TYPES if route.destination is Space.GLOBAL else SHARED_TYPES)[op]
    name = q.get("type") or types[0]
    if name not in types:
        q.refuse(f"{q.name}.{word} to .{route.destination.value} is for {either(types)}, not .{name}", "type")
    adds_half = op is AtomOp.ADD and name in ("f16", "bf16")
    if adds_half and not q.has("noftz"):
        q.refuse(f"{q.name}.add.{name} needs .noftz", "type")
    if q.has("noftz") and not adds_half and (op, name) != (AtomOp.ADD, "f32"):
        q.refuse(f".noftz is for floating-point add, not {word}.{name}", "noftz")
    _, scope = order(q, Sem.RELAXED, Scope.SYS, _scopes(route))
    return ReduceForm(route, op, TYPES[name], scope, multimem)


def analyse_prefetch(words: Words) -> Form:
    """cp.async.bulk.prefetch.L2, cp.async.bulk.prefetch.tensor; raises FormError."""
    from memcheck.ptx.decode.tensors import dimensions

    q_words = slots(level="L2", space="global", policy="L2::cache_hint")
    is_tensor = words[4:5] == ("tensor",)
    if is_tensor:
        q_words |= slots(dim="1d 2d 3d 4d 5d", mode="tile tile::gather4 im2col im2col::w im2col::w::128")
    q = Qualifiers(words, 5 if is_tensor else 4, q_words, PREFETCH_PAGE)
    if not q.has("level") or not q.has("space"):
        q.refuse(f"{q.name} needs .L2.global")
    if not is_tensor:
        return PrefetchForm(0, 0, q.has("policy"))
    _, _, coordinates, offsets = dimensions(q)
    return PrefetchForm(coordinates, offsets, q.has("policy"))
