"""`atom`, `red` and the abstract `suatom sured` (ISA 9.7.15.5, 9.7.15.6)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import SINK, Reader, register_bits
from memcheck.ptx.decode.words import FormError, Qualifiers, Slots, Words, slots
from memcheck.ptx.instructions import Atom, AtomOp, Instruction
from memcheck.ptx.operands import Immediate, Operand, Register
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.raw import RawName, RawOperand
from memcheck.ptx.types import TYPES, ScalarType, TypeClass

ATOM_PAGE, RED_PAGE = "9.7.15.5", "9.7.15.6"

HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ADDENDS = ("u32", "s32", "u64", "f32", "f64", *HALVES)

TYPES_OF: dict[AtomOp, tuple[str, ...]] = {
    AtomOp.ADD: ADDENDS,
    AtomOp.SUB: ("u32", "s32", "u64"),
    AtomOp.INC: ("u32",),
    AtomOp.DEC: ("u32",),
    AtomOp.MIN: ("u32", "s32", "u64", "s64", *HALVES),
    AtomOp.MAX: ("u32", "s32", "u64", "s64", *HALVES),
    AtomOp.AND: ("b32", "b64"),
    AtomOp.OR: ("b32", "b64"),
    AtomOp.XOR: ("b32", "b64"),
    AtomOp.EXCH: ("b32", "b64", "b128"),
    AtomOp.CAS: ("b32", "b16", "b64", "b128"),
}
"""The types of each operation, the one that a missing type stands for first."""

VECTORS_OF: dict[AtomOp, dict[str, tuple[int, ...]]] = {
    AtomOp.ADD: {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)},
    AtomOp.MIN: {"f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)},
    AtomOp.MAX: {"f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)},
}
"""Vector sizes by operation and element type."""

_ATOMIC = slots(
    scope="cta cluster gpu sys",
    space="global shared shared::cta shared::cluster",
    vector="v2 v4 v8",
    noftz="noftz",
    policy="L2::cache_hint",
    type="b16 b32 b64 b128 u32 u64 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2",
)
_REDUCTIONS = "add sub inc dec min max and or xor"
ATOM = _ATOMIC | slots(sem="relaxed acquire release acq_rel", op=_REDUCTIONS + " exch cas")
RED = _ATOMIC | slots(sem="relaxed release", op=_REDUCTIONS)
PEER_RED = RED | slots(sem="acquire acq_rel")
"""The columns layout also has red.acquire and red.acq_rel, which other tools' tests write."""

NO_BOUND = Immediate(0xFFFFFFFF)
"""What `inc` and `dec` without a bound count to (ISA 8.10.3 writes inc so)."""

BOUNDED = (AtomOp.INC, AtomOp.DEC)


@dataclass(frozen=True, slots=True)
class Atomic:
    """Words of atom or red, legal together."""

    op: AtomOp
    type: ScalarType
    sem: Sem
    scope: Scope
    space: Space
    vector: int
    red: bool
    proxy: Proxy
    policy: bool
    written: bool
    """Whether a type was written."""

    def build(self, at: Reader) -> Instruction:
        sources = 2 if self.op is AtomOp.CAS else 1
        first = 0 if self.red else 1
        full = first + 1 + sources + self.policy
        shape = ("" if self.red else "d, ") + "[a]" + ", b, c"[: 3 * sources] + (", policy" if self.policy else "")
        short = (full - 1,) if self.op in BOUNDED else ()
        if not self.red and not short and len(at.operands) == full - 1:
            self._count_short(at, shape)
        given = at.count(shape, full, *short)
        destinations: tuple[Register | None, ...] = (None,) * self.vector
        if not self.red:
            destinations = self._destinations(at, at.operands[0])
        address = at.address(at.operands[first], self.space, writes=True)
        if given < full:
            operands: tuple[tuple[Operand, ...], ...] = ((NO_BOUND,),)
        else:
            columns = [
                [self._operand(at, e) for e in at.elements(at.operands[first + 1 + n], self.vector)]
                for n in range(sources)
            ]
            operands = tuple(zip(*columns))
        if self.policy:
            at.policy(given - 1)
        return Atom(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op=self.op,
            destinations=destinations,
            address=address,
            operands=operands,
            type=self.type,
            sem=self.sem,
            scope=self.scope,
            space=self.space,
            is_red=self.red,
            proxy=self.proxy,
        )

    def _count_short(self, at: Reader, shape: str) -> None:
        raise SourceError(
            f"{at.opcode} returns the old value, so it takes {shape}.",
            at.span,
            "write _ for the destination to discard it" if self.op is AtomOp.CAS else "without a destination it is red",
        )

    def _destinations(self, at: Reader, operand: RawOperand) -> tuple[Register | None, ...]:
        if isinstance(operand, RawName) and operand.name == SINK:
            return (None,) * self.vector
        self._untyped(at, operand)
        bits, type = register_bits(self.type), f".{self.type.name}"
        return tuple(at.destination_or_sink(e, bits, type=type) for e in at.elements(operand, self.vector))

    def _operand(self, at: Reader, operand: RawOperand) -> Operand:
        self._untyped(at, operand)
        return at.source(operand, self.type)

    def _untyped(self, at: Reader, operand: RawOperand) -> None:
        """Without a type the access has 32 bits: a wider register would silently change that."""
        if self.written or (at.width(operand) or 32) == 32:
            return
        width = at.width(operand)
        named = next((t for t in TYPES_OF[self.op] if TYPES[t].bits == width and TYPES[t].lanes == 1), None)
        raise SourceError(
            f"{at.opcode} has no type and so 32 bits, but this register has {width}.",
            operand.span,
            None if named is None else f"write {at.opcode}.{named}",
        )


def analyse(words: Words) -> Atomic:
    """atom, red, suatom, sured; raises FormError."""
    return _analyse(words, RED if words[0] in ("red", "sured") else ATOM)


def analyse_peer(words: Words) -> Atomic:
    """red in the columns layout; raises FormError."""
    return _analyse(words, PEER_RED)


def _analyse(words: Words, allowed: Slots) -> Atomic:
    red = words[0] in ("red", "sured")
    page = RED_PAGE if red else ATOM_PAGE
    _reduction_only(words, red, page)
    q = Qualifiers(words, 1, allowed, page)
    op_word = q.get("op")
    if op_word is None:
        q.refuse(f"{words[0]} needs an operation: {', '.join(_REDUCTIONS.split())}" + ("" if red else ", exch or cas"))
    op = AtomOp(op_word)
    written = q.get("type")
    type = TYPES[written or TYPES_OF[op][0]]
    if type.name not in TYPES_OF[op]:
        q.refuse(f"{words[0]}.{op.value} is for {either(TYPES_OF[op])}, not .{type.name}", "type")
    _halves(q, op, type)
    proxy = Proxy.SURFACE if words[0].startswith("su") else Proxy.GENERIC
    return Atomic(
        op=op,
        type=type,
        sem=Sem(q.get("sem") or "relaxed"),
        scope=q.scope() or Scope.GPU,
        space=q.space(),
        vector=q.vector(),
        red=red,
        proxy=proxy,
        policy=q.has("policy"),
        written=written is not None,
    )


def either(types: tuple[str, ...]) -> str:
    names = [f".{t}" for t in types]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _reduction_only(words: Words, red: bool, page: str) -> None:
    if not red:
        return
    for at, word in enumerate(words):
        if word in ("exch", "cas"):
            raise FormError(f"{words[0]} has no .{word}: only atom returns the old value (ISA {page})", at)


def _halves(q: Qualifiers, op: AtomOp, type: ScalarType) -> None:
    half = type.name in HALVES
    if half and not q.has("noftz"):
        q.refuse(f"{q.name}.{op.value}.{type.name} needs .noftz", "type")
    if q.has("noftz") and type.cls is not TypeClass.FLOAT:
        q.refuse(f".noftz is for floating-point types, not .{type.name}", "noftz")
    if not q.has("vector"):
        if half and op is not AtomOp.ADD:
            q.refuse(f"{q.name}.{op.value}.{type.name} exists as a vector only: .v2, .v4", "type")
        return
    sizes = VECTORS_OF.get(op, {}).get(type.name)
    if sizes is None:
        q.refuse(f"{q.name}.{op.value}.{type.name} has no vector form", "vector")
    if q.vector() not in sizes:
        q.refuse(f"{q.name}.{op.value}.{type.name} has no .{q.get('vector')}", "vector")
    if q.space() not in (Space.GLOBAL, Space.GENERIC):
        q.refuse("vector atomics are for .global memory", "space")
