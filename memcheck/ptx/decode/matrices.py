"""`wgmma.*` (ISA 9.7.17)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.asynchronous import CommitGroup, Group, WaitGroup, WarpgroupFence, WarpgroupMultiply
from memcheck.ptx.decode.objects import immediate, shared
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawAddress, RawOperand, RawVector

PAGE = "9.7.17"
MAX_PENDING = (1 << 31) - 1
ROWS = 64
A_REGISTERS = 4
"""Registers of each thread that hold a fragment of A, whatever its type."""

_FP8, _INT8 = ("e4m3", "e5m2"), ("s8", "u8")


@dataclass(frozen=True, slots=True)
class Kind:
    """Types that go together. `scaled`: has scale immediates; `transposed`: and transposes; `coarse`: few N."""

    results: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    depth: int
    scaled: bool = False
    transposed: bool = False
    coarse: bool = False


KINDS = (
    Kind(("f32", "f16"), ("f16",), ("f16",), 16, scaled=True, transposed=True),
    Kind(("f32",), ("bf16",), ("bf16",), 16, scaled=True, transposed=True),
    Kind(("f32",), ("tf32",), ("tf32",), 8, scaled=True),
    Kind(("f32", "f16"), _FP8, _FP8, 32, scaled=True),
    Kind(("s32",), _INT8, _INT8, 32, coarse=True),
    Kind(("s32",), ("b1",), ("b1",), 256, coarse=True),
)
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_SHAPES = [f"m{ROWS}n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32, 256)]
MULTIPLY = slots(
    sync="sync",
    aligned="aligned",
    shape=_SHAPES,
    type="f16 f32 bf16 tf32 e4m3 e5m2 s8 u8 s32 b1",
    saturate="satfinite",
    logic="and",
    count="popc",
    sparse="sp",
)


@dataclass(frozen=True, slots=True)
class FenceForm:
    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return WarpgroupFence(text=at.text, span=at.span, guard=at.guard)


@dataclass(frozen=True, slots=True)
class GroupForm:
    waits: bool

    def build(self, at: Reader) -> Instruction:
        if not self.waits:
            at.count("alone", 0)
            return CommitGroup(text=at.text, span=at.span, guard=at.guard, group=Group.WARPGROUP)
        at.count("N", 1)
        pending = immediate(at, at.operands[0], 0, MAX_PENDING, "The number of pending groups")
        return WaitGroup(text=at.text, span=at.span, guard=at.guard, group=Group.WARPGROUP, pending=pending)


@dataclass(frozen=True, slots=True)
class MultiplyForm:
    """`{d…}, a, b, scale-d{, imm-scale-a, imm-scale-b{, imm-trans-a, imm-trans-b}}`."""

    shape: tuple[int, int, int]
    types: tuple[str, str, str]
    kind: Kind
    saturates: bool

    def build(self, at: Reader) -> Instruction:
        fragments = len(at.operands) > 1 and isinstance(at.operands[1], RawVector)
        scales = 2 if self.kind.scaled else 0
        transposes = (1 if fragments else 2) if self.kind.transposed else 0
        shape = "{d…}, a, b, scale-d" + ", 1, 1" * (scales > 0) + ", 0" * transposes
        at.count(shape, 4 + scales + transposes)
        scale_d, negated = at.predicate(at.operands[3])
        numbers = at.operands[4:]
        return WarpgroupMultiply(
            text=at.text,
            span=at.span,
            guard=at.guard,
            shape=self.shape,
            types=self.types,
            accumulators=_registers(at, at.operands[0], self._results()),
            a=_registers(at, at.operands[1], A_REGISTERS) if fragments else _matrix(at, at.operands[1]),
            b=_matrix(at, at.operands[2]),
            scale_d=scale_d,
            scale_negated=negated,
            scales=tuple(_sign(at, operand) for operand in numbers[:scales]),
            transposes=tuple(immediate(at, operand, 0, 1, "A transpose") for operand in numbers[scales:]),
            saturates=self.saturates,
        )

    def _results(self) -> int:
        """Registers of each of the 128 threads; two values of f16 share one."""
        return self.shape[1] // (4 if self.types[0] == "f16" else 2)


def _registers(at: Reader, operand: RawOperand, count: int) -> tuple[Register, ...]:
    if not isinstance(operand, RawVector) or len(operand.elements) != count:
        raise SourceError(
            f"{at.opcode} takes a vector of {count} registers here.", operand.span, f"write {{r0, …, r{count - 1}}}"
        )
    return tuple(at.destination(element, 32) for element in operand.elements)


def _matrix(at: Reader, operand: RawOperand) -> Address | Register:
    """A register with a descriptor; a variable or `[…]` for the matrix at that address, in litmus tests."""
    if isinstance(operand, RawAddress) or at.variable(operand) is not None:
        return shared(at, operand, Space.SHARED_CTA)
    return at.destination(operand, 64, type="a matrix descriptor")


def _sign(at: Reader, operand: RawOperand) -> int:
    number = immediate(at, operand, -1, 1, "A scale")
    if number == 0:
        raise SourceError("A scale is 1 or -1, not 0.", operand.span)
    return number


def analyse(words: Words) -> Form:
    """wgmma.*; raises FormError."""
    part = words[1] if len(words) > 1 else ""
    if part == "mma_async":
        return _multiply(words)
    if part not in ("fence", "commit_group", "wait_group"):
        known = ".fence, .commit_group, .wait_group or .mma_async"
        raise FormError(f"wgmma is followed by {known} (ISA {PAGE})", 1 if part else None)
    q = Qualifiers(words, 2, slots(sync="sync", aligned="aligned"), PAGE)
    _together(q)
    return FenceForm() if part == "fence" else GroupForm(part == "wait_group")


def _together(q: Qualifiers) -> None:
    if not q.has("sync"):
        q.refuse(f"{q.name} needs .sync.aligned")


def _multiply(words: Words) -> Form:
    q = Qualifiers(words, 2, MULTIPLY, PAGE, frozenset(("type",)))
    if q.has("sparse"):
        raise LaterError("wgmma.mma_async.sp", q.found["sparse"][0])
    _together(q)
    written = q.get("shape")
    if written is None:
        q.refuse("wgmma.mma_async needs a shape, as in .m64n8k16")
    match = _SHAPE.fullmatch(written)
    assert match is not None
    m, n, k = map(int, match.groups())
    types = q.all("type")
    if len(types) != 3:
        q.refuse("wgmma.mma_async needs the types of D, A and B, as in .f32.f16.f16", "type")
    d, a, b = types
    kind = next((kd for kd in KINDS if d in kd.results and a in kd.a and b in kd.b), None)
    if kind is None:
        q.refuse(f"wgmma.mma_async has no types .{d}.{a}.{b}", "type")
    if k != kind.depth:
        q.refuse(f"wgmma.mma_async.{d}.{a}.{b} has K {kind.depth}, not {k}", "shape")
    if kind.coarse and n > 24 and n % 16:
        q.refuse(f"wgmma.mma_async.{d}.{a}.{b} has N 8, 24 or a multiple of 16, not {n}", "shape")
    bits = a == "b1"
    if bits != q.has("logic") or bits != q.has("count"):
        wrong = "logic" if q.has("logic") else "count" if q.has("count") else None
        q.refuse(".and.popc is for .s32.b1.b1, which needs it", wrong)
    if q.has("saturate") and a not in _INT8:
        q.refuse(".satfinite is for .s8 and .u8", "saturate")
    return MultiplyForm((m, n, k), (d, a, b), kind, q.has("saturate"))
