"""`setp`, `set`, `cvt`, `isspacep`: register instructions with two types or two results (ISA 9.7.7, 9.7.10)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.arithmetic import first_width, positive
from memcheck.ptx.decode.operands import Reader
from memcheck.ptx.decode.words import LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Arithmetic, Instruction
from memcheck.ptx.operands import Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.types import TYPES, ScalarType, TypeClass

SETP_PAGE, SET_PAGE, CVT_PAGE, ISSPACEP_PAGE = "9.7.7.2", "9.7.7.1", "9.7.10.24", "9.7.10.22"

EQUALITIES = ("eq", "ne")
ORDERS = ("lt", "le", "gt", "ge")
UNSIGNED_ORDERS = ("lo", "ls", "hi", "hs")
FLOAT_ONLY = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_TYPES = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64"
_COMPARES = (*EQUALITIES, *ORDERS, *UNSIGNED_ORDERS, *FLOAT_ONLY)

SETP = slots(compare=_COMPARES, bool="and or xor", type=_TYPES, ftz="ftz")
CVT = slots(
    type="u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64",
    modifier="sat ftz rn rz rm rp rni rzi rmi rpi relu satfinite pack",
)
ISSPACEP = slots(space="global shared shared::cta shared::cluster const local param param::entry")


@dataclass(frozen=True, slots=True)
class SetpForm:
    """`setp.CMP{.BOOL}.type p{|q}, a, b{, c}`."""

    op: str
    type: ScalarType | None

    def build(self, at: Reader) -> Instruction:
        combined = self.op.count(".") == 2
        at.count("p{|q}, a, b, c" if combined else "p{|q}, a, b", 4 if combined else 3)
        first, second = at.pair(at.operands[0])
        destinations: tuple[Register | None, ...] = (at.destination_or_sink(first, 1),)
        if second is not None:
            destinations += (at.destination_or_sink(second, 1),)
        type = self.type or _inferred(at, "u")
        sources: tuple[Operand, ...] = (at.source(at.operands[1], type), at.source(at.operands[2], type))
        if combined:
            sources += (positive(at, at.operands[3]),)
        return Arithmetic(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op=self.op,
            type=type,
            destinations=destinations,
            sources=sources,
        )


@dataclass(frozen=True, slots=True)
class SetForm:
    """`set.CMP.dtype.stype d, a, b`: all 32 bits ones, or zero. The type of the instruction is the operands'."""

    op: str
    type: ScalarType | None

    def build(self, at: Reader) -> Instruction:
        at.count("d, a, b", 3)
        type = self.type or _inferred(at, "u")
        return Arithmetic(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op=self.op,
            type=type,
            destinations=(at.destination(at.operands[0], 32),),
            sources=(at.source(at.operands[1], type), at.source(at.operands[2], type)),
        )


@dataclass(frozen=True, slots=True)
class CvtForm:
    """`cvt.dtype.stype d, a` on integers; registers may be wider than the types (ISA 9.4.1)."""

    type: ScalarType | None
    source_type: ScalarType | None

    def build(self, at: Reader) -> Instruction:
        at.count("d, a", 2)
        type = self.type or TYPES[f"u{at.width(at.operands[0]) or 32}"]
        source_type = self.source_type or TYPES[f"u{at.width(at.operands[1]) or 32}"]
        return Arithmetic(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op="cvt",
            type=type,
            destinations=(at.destination(at.operands[0], type.bits, wider=True, type=f".{type.name}"),),
            sources=(at.source(at.operands[1], source_type, wider=True),),
            source_type=source_type,
        )


@dataclass(frozen=True, slots=True)
class IsspacepForm:
    """`isspacep.space p, a`."""

    space: Space

    def build(self, at: Reader) -> Instruction:
        at.count("p, a", 2)
        destination = at.destination(at.operands[0], 1)
        width = first_width(at, at.operands[1:])
        if width not in (32, 64):
            raise SourceError(f"An address has 64 or 32 bits, not {width}.", at.operands[1].span)
        type = TYPES[f"u{width}"]
        source = at.source(at.operands[1], type)
        return Arithmetic(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op="isspacep",
            type=type,
            destinations=(destination,),
            sources=(source,),
            space=self.space,
        )


def _inferred(at: Reader, letter: str) -> ScalarType:
    """The type of compared operands where none is written."""
    width = first_width(at, at.operands[1:3])
    type = TYPES.get(f"{letter}{width}")
    if type is None or not 16 <= width <= 64:
        raise SourceError(f"{at.opcode} does not compare {width} bits (ISA {SETP_PAGE}).", at.span)
    return type


def analyse_setp(words: Words) -> SetpForm:
    q = Qualifiers(words, 1, SETP, SETP_PAGE)
    type = _compared(q, q.get("type"))
    op = f"setp.{q.get('compare')}"
    if q.has("bool"):
        op += f".{q.get('bool')}"
    return SetpForm(op, type)


def analyse_set(words: Words) -> SetForm:
    q = Qualifiers(words, 1, SETP, SET_PAGE, frozenset(("type",)))
    types = q.all("type")
    if types and len(types) != 2:
        q.refuse("set has two types, the result's and the operands', as in set.eq.u32.s64", "type")
    target = types[0] if types else "u32"
    if target in ("f32", "f16", "bf16", "f16x2", "bf16x2"):
        raise LaterError(f"set with a .{target} result", q.found["type"][0])
    if target not in ("u32", "s32"):
        q.refuse(f"set has a .u32 or .s32 result, not .{target}", "type")
    source = _compared(q, types[1] if types else None)
    if q.has("bool"):
        raise LaterError(f"set.{q.get('bool')}", q.found["bool"][0])
    return SetForm(f"set.{q.get('compare')}", source)


def _compared(q: Qualifiers, name: str | None) -> ScalarType | None:
    compare = q.get("compare")
    if compare is None:
        q.refuse(f"{q.name} needs a comparison: {', '.join((*EQUALITIES, *ORDERS))}")
    type = None if name is None else TYPES[name]
    cls = TypeClass.UNSIGNED if type is None else type.cls
    if cls is TypeClass.FLOAT:
        if compare in UNSIGNED_ORDERS:
            q.refuse(f".{compare} compares unsigned integers, not .{name}", "compare")
        raise LaterError(f"{q.name} on .{name}", q.found["type"][-1])
    if q.has("ftz"):
        q.refuse(f".ftz is for .f32, not .{name or 'u32'}", "ftz")
    if compare in FLOAT_ONLY:
        q.refuse(f".{compare} compares floating-point numbers, not .{name or 'u32'}", "compare")
    if cls is TypeClass.BITS and compare not in EQUALITIES:
        q.refuse(f".{name} has no order: .{compare} needs .u{name[1:] if name else '32'} or .s", "compare")
    if cls is TypeClass.SIGNED and compare in UNSIGNED_ORDERS:
        q.refuse(f".{compare} compares unsigned integers, not .{name}", "compare")
    return type


def analyse_cvt(words: Words) -> CvtForm:
    q = Qualifiers(words, 1, CVT, CVT_PAGE, frozenset(("type", "modifier")))
    types = q.all("type")
    if q.has("modifier"):
        raise LaterError(f"cvt.{q.get('modifier')}", q.found["modifier"][0])
    if not types:
        return CvtForm(None, None)
    if len(types) != 2:
        q.refuse("cvt has two types, the result's first, as in cvt.u64.u32", "type")
    for at, name in zip(q.found["type"], types):
        if TYPES[name].cls is TypeClass.FLOAT:
            raise LaterError(f"cvt with .{name}", at)
    return CvtForm(TYPES[types[0]], TYPES[types[1]])


def analyse_isspacep(words: Words) -> IsspacepForm:
    q = Qualifiers(words, 1, ISSPACEP, ISSPACEP_PAGE)
    if not q.has("space"):
        q.refuse("isspacep needs a state space: .global, .shared, .const, .local")
    return IsspacepForm(q.space())
