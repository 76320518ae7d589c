"""`st.async` (ISA 9.7.10.12), `red.async` (ISA 9.7.15.7)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.ptx.asynchronous import AsyncReduce, AsyncStore
from memcheck.ptx.decode.atomics import either
from memcheck.ptx.decode.objects import COMPLETE_TX, mbarrier, shared
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import Qualifiers, Words, slots
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.operands import Address
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.types import TYPES, ScalarType

STORE_PAGE, REDUCE_PAGE = "9.7.10.12", "9.7.15.7"

_COMMON = slots(
    scope="cta cluster gpu sys",
    space="global shared shared::cta shared::cluster",
    completion=COMPLETE_TX,
    mmio="mmio",
)
STORE = _COMMON | slots(
    sem="weak relaxed release",
    vector="v2 v4",
    type="b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
)
REDUCE = _COMMON | slots(
    sem="relaxed release",
    op="add inc dec min max and or xor",
    type="b32 b64 u32 u64 s32 s64",
)

COUNTED_TYPES = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64", "b128")
RELEASED_TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
REDUCED_TYPES: dict[AtomOp, tuple[str, ...]] = {
    AtomOp.ADD: ("u32", "s32", "u64"),
    AtomOp.INC: ("u32",),
    AtomOp.DEC: ("u32",),
    AtomOp.MIN: ("u32", "s32"),
    AtomOp.MAX: ("u32", "s32"),
    AtomOp.AND: ("b32",),
    AtomOp.OR: ("b32",),
    AtomOp.XOR: ("b32",),
}
"""Types of red.async with an mbarrier, the one that a missing type stands for first."""
RELEASED_ADDENDS = ("u32", "s32", "u64", "s64")
MAX_BITS = 128


@dataclass(frozen=True, slots=True)
class Target:
    """Where it goes. Operands: `[a], b{, [mbar]}`."""

    counted: bool
    """Weak or relaxed in the cluster's shared memory, completing on an mbarrier; else a release to global memory."""
    scope: Scope | None
    space: Space
    mmio: bool

    def read(self, at: Reader) -> tuple[Address, Address | None]:
        at.count("[a], b, [mbar]" if self.counted else "[a], b", 2 + self.counted)
        if self.counted:
            return shared(at, at.operands[0], Space.SHARED_CLUSTER), mbarrier(at, at.operands[2])
        return at.address(at.operands[0], Space.GLOBAL), None


@dataclass(frozen=True, slots=True)
class StoreForm:
    target: Target
    vector: int
    type: ScalarType

    def build(self, at: Reader) -> Instruction:
        address, object = self.target.read(at)
        elements = at.elements(at.operands[1], self.vector)
        return AsyncStore(
            text=at.text,
            span=at.span,
            guard=at.guard,
            address=address,
            sources=tuple(at.source(element, self.type) for element in elements),
            type=self.type,
            mbarrier=object,
            sem=Sem.WEAK if self.target.counted else Sem.RELEASE,
            scope=self.target.scope,
            space=self.target.space,
            mmio=self.target.mmio,
        )


@dataclass(frozen=True, slots=True)
class ReduceForm:
    target: Target
    op: AtomOp
    type: ScalarType

    def build(self, at: Reader) -> Instruction:
        address, object = self.target.read(at)
        assert self.target.scope is not None
        return AsyncReduce(
            text=at.text,
            span=at.span,
            guard=at.guard,
            address=address,
            op=self.op,
            operand=at.source(at.operands[1], self.type),
            type=self.type,
            mbarrier=object,
            sem=Sem.RELAXED if self.target.counted else Sem.RELEASE,
            scope=self.target.scope,
            space=self.target.space,
            mmio=self.target.mmio,
        )


def analyse(words: Words) -> Form:
    """st.async, red.async; raises FormError."""
    if words[0] == "red":
        return _reduce(Qualifiers(words, 2, REDUCE, REDUCE_PAGE))
    return _store(Qualifiers(words, 2, STORE, STORE_PAGE))


def _store(q: Qualifiers) -> Form:
    if q.get("sem") == "relaxed":
        q.refuse("st.async is .weak with an mbarrier or .release at a scope", "sem")
    counted = q.get("sem") != "release"
    if counted and q.get("space") == "global":
        q.refuse("st.async to global memory is .release at a scope", "space")
    if counted and q.has("scope"):
        q.refuse("a scope goes with .release", "scope")
    target = Target(counted, _common(q, counted), _space(q, counted), q.has("mmio"))
    types = COUNTED_TYPES if counted else RELEASED_TYPES
    name = q.get("type") or "b32"
    if name not in types:
        q.refuse(f"st.async{'' if counted else '.release'} is for {either(types)}, not .{name}", "type")
    if q.has("vector"):
        if not counted:
            q.refuse("st.async.release has no vectors", "vector")
        if q.vector() * TYPES[name].bits > MAX_BITS or name == "b128":
            q.refuse(f"st.async stores at most 128 bits, and .{q.get('vector')}.{name} has more", "vector")
    return StoreForm(target, q.vector(), TYPES[name])


def _reduce(q: Qualifiers) -> Form:
    word, sem = q.get("op"), q.get("sem")
    if sem is None:
        q.refuse("red.async needs .relaxed.cluster with an mbarrier, or .release at a scope")
    counted = sem == "relaxed"
    if counted and q.get("scope") != "cluster":
        q.refuse("red.async.relaxed has the scope .cluster", "scope" if q.has("scope") else "sem")
    scope = _common(q, counted) or Scope.CLUSTER
    if word is None:
        q.refuse("red.async needs an operation: add, inc, dec, min, max, and, or, xor")
    op = AtomOp(word)
    if not counted and op is not AtomOp.ADD:
        q.refuse(f"red.async.release has .add only, not .{word}", "op")
    types = REDUCED_TYPES[op] if counted else RELEASED_ADDENDS
    name = q.get("type") or types[0]
    if name not in types:
        q.refuse(f"red.async.{sem}.{word} is for {either(types)}, not .{name}", "type")
    return ReduceForm(Target(counted, scope, _space(q, counted), q.has("mmio")), op, TYPES[name])


def _common(q: Qualifiers, counted: bool) -> Scope | None:
    """Completion, scope and mmio; the scope of a release."""
    if counted:
        if q.has("mmio"):
            q.refuse(".mmio goes with .release.sys", "mmio")
        if not q.has("completion"):
            q.refuse(f"{q.name} in shared memory needs .{COMPLETE_TX}")
        return None
    if q.has("completion"):
        q.refuse(f".{COMPLETE_TX} does not go with .release", "completion")
    scope = q.scope()
    if scope is None:
        q.refuse(".release needs a scope: .gpu or .sys", "sem")
    if scope not in (Scope.GPU, Scope.SYS):
        q.refuse(f"{q.name}.release has the scopes .gpu and .sys, not .{scope.value}", "scope")
    if q.has("mmio") and scope is not Scope.SYS:
        q.refuse(f".mmio goes with .sys, not .{scope.value}", "scope")
    return scope


def _space(q: Qualifiers, counted: bool) -> Space:
    word = q.get("space")
    wanted = "shared::cluster" if counted else "global"
    if word not in (None, wanted):
        kind = f"with .{COMPLETE_TX}" if counted else "with .release"
        q.refuse(f"{q.name} {kind} goes to .{wanted}, not .{word}", "space")
    return q.space()
