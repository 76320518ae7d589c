"""`multimem.ld_reduce`, `multimem.st`, `multimem.red` (ISA 9.7.10.15)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.ptx.decode.atomics import either
from memcheck.ptx.decode.operands import Form, Reader, register_bits
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import AtomOp, Instruction, Multimem, MultimemKind
from memcheck.ptx.operands import Operand, Register
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.types import TYPES, ScalarType

PAGE = "9.7.10.15"

PACKED = ("f16", "f16x2", "bf16", "bf16x2")
QUARTERS = ("e4m3", "e4m3x2", "e4m3x4", "e5m2", "e5m2x2", "e5m2x4")
"""8-bit floating-point types: legal from sm_100 on, not decided."""

_COMMON = slots(
    scope="cta cluster gpu sys",
    space="global",
    vector="v2 v4 v8",
    type=("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64", *PACKED, *QUARTERS),
)
_REDUCTIONS = "add min max and or xor"
WORDS: dict[MultimemKind, dict[str, str]] = {
    MultimemKind.LD_REDUCE: _COMMON | slots(sem="weak relaxed acquire", op=_REDUCTIONS, acc="acc::f32 acc::f16"),
    MultimemKind.ST: _COMMON | slots(sem="weak relaxed release"),
    MultimemKind.RED: _COMMON | slots(sem="relaxed release", op=_REDUCTIONS),
}

INTEGERS: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "st": ("b32", "b64", "u32", "u64", "s32", "s64"),
}
"""Integer types of each operation, the one that a missing type stands for first."""
FLOATS = {"add": ("f32", "f64"), "st": ("f32", "f64")}
VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (1, 2, 4), "bf16x2": (1, 2, 4)}
"""Elements of floating-point vectors; f32 is also scalar, f16 and bf16 are not."""


@dataclass(frozen=True, slots=True)
class MultimemAccess:
    """Words of a multimem instruction, legal together."""

    kind: MultimemKind
    op: AtomOp | None
    type: ScalarType
    vector: int
    sem: Sem
    scope: Scope | None

    def build(self, at: Reader) -> Instruction:
        reduces = self.kind is MultimemKind.LD_REDUCE
        at.count("d, [a]" if reduces else "[a], b", 2)
        address = at.address(at.operands[1 if reduces else 0], Space.GENERIC, writes=True)
        destinations: tuple[Register | None, ...] = ()
        sources: tuple[Operand, ...] = ()
        elements = at.elements(at.operands[0 if reduces else 1], self.vector)
        if reduces:
            bits, name = register_bits(self.type), f".{self.type.name}"
            destinations = tuple(at.destination(e, bits, type=name) for e in elements)
        else:
            sources = tuple(at.source(e, self.type) for e in elements)
        return Multimem(
            text=at.text,
            span=at.span,
            guard=at.guard,
            kind=self.kind,
            op=self.op,
            destinations=destinations,
            sources=sources,
            address=address,
            type=self.type,
            sem=self.sem,
            scope=self.scope,
        )


def analyse(words: Words) -> Form:
    """multimem.ld_reduce, .st, .red, .cp; raises FormError."""
    second = words[1] if len(words) > 1 else ""
    if second == "cp":
        return _copy(words)
    kinds = {k.value: k for k in MultimemKind}
    if second not in kinds:
        raise FormError(f"multimem is followed by .ld_reduce, .st, .red or .cp (ISA {PAGE})", 1 if second else None)
    kind = kinds[second]
    q = Qualifiers(words, 2, WORDS[kind], PAGE)
    sem, scope = _semantics(q, kind)
    op_word = "st" if kind is MultimemKind.ST else q.get("op")
    if op_word is None:
        q.refuse(f"{q.name} needs an operation: {', '.join(_REDUCTIONS.split())}")
    type = _type(q, kind, op_word)
    op = None if kind is MultimemKind.ST else AtomOp(op_word)
    return MultimemAccess(kind=kind, op=op, type=type, vector=q.vector(), sem=sem, scope=scope)


def _copy(words: Words) -> Form:
    """multimem.cp.async.bulk, multimem.cp.reduce.async.bulk."""
    from memcheck.ptx.decode import bulk

    start = 5 if words[2:3] == ("reduce",) else 4
    if words[start - 2 : start] != ("async", "bulk"):
        raise FormError(f"multimem.cp is followed by .async.bulk or .reduce.async.bulk (ISA {PAGE})", 1)
    return bulk.analyse(words, start)


def _semantics(q: Qualifiers, kind: MultimemKind) -> tuple[Sem, Scope | None]:
    """Without semantics a reduction is relaxed.sys, the other two are weak."""
    word, scope = q.get("sem"), q.scope()
    if word in (None, "weak"):
        if scope is not None:
            strong = "acquire" if kind is MultimemKind.LD_REDUCE else "release"
            q.refuse(f"a scope needs .relaxed or .{strong}", "scope")
        return (Sem.RELAXED, Scope.SYS) if kind is MultimemKind.RED else (Sem.WEAK, None)
    if scope is None:
        q.refuse(f".{word} needs a scope: .cta, .cluster, .gpu or .sys", "sem")
    return Sem(word), scope


def _type(q: Qualifiers, kind: MultimemKind, op: str) -> ScalarType:
    integers, floats = INTEGERS[op], FLOATS.get(op, ())
    name = q.get("type") or integers[0]
    if name in QUARTERS or q.has("acc"):
        raise LaterError(f"{q.name}{'' if kind is MultimemKind.ST else '.' + op}.{name}", q.found["type"][0])
    packed = PACKED if op in ("add", "min", "max", "st") else ()
    if name not in (*integers, *floats, *packed):
        q.refuse(f"{q.name}.{op} is for {either((*integers, *floats, *packed))}, not .{name}", "type")
    vector = q.vector()
    sizes = (1, *VECTORS[name]) if name == "f32" else VECTORS.get(name, (1,))
    if kind is MultimemKind.RED and op in ("min", "max") and name in PACKED:
        sizes = tuple(size for size in sizes if size > 1)  # ld_reduce alone has the scalar f16x2
    if vector not in sizes:
        if vector == 1:
            q.refuse(f"{q.name} on .{name} exists as a vector only: .v2, .v4 or .v8", "type")
        q.refuse(f"{q.name} on .{name} has no .{q.get('vector')}", "vector")
    return TYPES[name]
