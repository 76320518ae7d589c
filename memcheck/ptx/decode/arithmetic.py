"""Register instructions: a table of forms (ISA 9.7.1 to 9.7.9), and the reading of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memcheck.errors import SourceError, UnsupportedError
from memcheck.ptx.decode.operands import Reader, bracketed, register_bits
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Arithmetic, Instruction
from memcheck.ptx.operands import AddressOf, Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawAddress, RawOperand, RawVector
from memcheck.ptx.types import TYPES, ScalarType, TypeClass

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
SIGNED = ("s16", "s32", "s64")
BITS = ("b16", "b32", "b64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
FLOATS = ("f32", "f64")
PACKED = ("u16x2", "s16x2")


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction. `result` and each letter of `sources` are operand kinds:

    t the type's width, w twice it, i 32 bits, p predicate, a address or register of the type's width.
    `letter`: the class of types that a missing type stands for. `later`: legal types that are not decided.
    """

    page: str
    types: tuple[str, ...]
    letter: str
    sources: str
    result: str = "t"
    later: tuple[str, ...] = ()


ROWS: dict[str, Row] = {
    "mov": Row("9.7.10.3", (*BITS, "b128", *INTEGERS, *FLOATS, "pred"), "b", "a"),
    "add": Row("9.7.1.1", (*INTEGERS, *PACKED, *FLOATS, *HALVES), "u", "tt"),
    "sub": Row("9.7.1.2", (*INTEGERS, *FLOATS, *HALVES), "u", "tt"),
    "mul": Row("9.7.3.5", (*FLOATS, *HALVES), "u", "tt"),
    "mul.lo": Row("9.7.1.3", INTEGERS, "u", "tt"),
    "mul.hi": Row("9.7.1.3", INTEGERS, "u", "tt"),
    "mul.wide": Row("9.7.1.3", ("u16", "s16", "u32", "s32"), "u", "tt", "w"),
    "mad.lo": Row("9.7.1.4", INTEGERS, "u", "ttt"),
    "mad.hi": Row("9.7.1.4", INTEGERS, "u", "ttt"),
    "mad.wide": Row("9.7.1.4", ("u16", "s16", "u32", "s32"), "u", "ttw", "w"),
    "div": Row("9.7.1.9", INTEGERS, "u", "tt", later=FLOATS),
    "rem": Row("9.7.1.10", INTEGERS, "u", "tt"),
    "abs": Row("9.7.1.11", (*SIGNED, *FLOATS, *HALVES), "s", "t"),
    "neg": Row("9.7.1.12", (*SIGNED, *FLOATS, *HALVES), "s", "t"),
    "min": Row("9.7.1.13", (*INTEGERS, *PACKED, *FLOATS, *HALVES), "u", "tt"),
    "max": Row("9.7.1.14", (*INTEGERS, *PACKED, *FLOATS, *HALVES), "u", "tt"),
    "popc": Row("9.7.1.15", ("b32", "b64"), "b", "t", "i"),
    "clz": Row("9.7.1.16", ("b32", "b64"), "b", "t", "i"),
    "brev": Row("9.7.1.19", ("b32", "b64"), "b", "t"),
    "bfe": Row("9.7.1.20", ("u32", "s32", "u64", "s64"), "u", "tii"),
    "and": Row("9.7.9.1", (*BITS, "pred"), "b", "tt"),
    "or": Row("9.7.9.2", (*BITS, "pred"), "b", "tt"),
    "xor": Row("9.7.9.3", (*BITS, "pred"), "b", "tt"),
    "not": Row("9.7.9.4", (*BITS, "pred"), "b", "t"),
    "shl": Row("9.7.9.8", BITS, "b", "ti"),
    "shr": Row("9.7.9.9", (*BITS, *INTEGERS), "u", "ti"),
    "selp": Row("9.7.7.3", (*BITS, *INTEGERS, *FLOATS), "b", "ttp"),
    "mapa": Row("9.7.10.26", ("u32", "u64"), "u", "ai"),
    "cvta": Row("9.7.10.23", ("u32", "u64"), "u", "a"),
    "cvta.to": Row("9.7.10.23", ("u32", "u64"), "u", "a"),
}
"""Register instructions with one type. setp, set, cvt and isspacep are in comparisons.py and conversions.py."""

PARTS = {"mul": ("lo", "hi", "wide"), "mad": ("lo", "hi", "wide"), "cvta": ("to",)}
"""Sub-operation names, bound to the mnemonic."""

UNTYPED = {"mul": "mul.lo", "mad": "mad.lo"}
"""The short forms without a type."""

_MODIFIERS = "sat ftz rn rz rm rp cc relu NaN abs approx full xorsign"
_SPACES = {
    "mapa": "shared::cluster",
    "cvta": "global shared shared::cta shared::cluster const local param param::entry",
    "cvta.to": "global shared shared::cta shared::cluster const local param param::entry",
}
_ALL_TYPES = tuple(TYPES)


@dataclass(frozen=True, slots=True)
class ArithmeticForm:
    """Words of a register instruction, legal together. `type` None: by the operands' width."""

    op: str
    row: Row
    type: ScalarType | None
    space: Space | None = None

    def build(self, at: Reader) -> Instruction:
        names = "abcd"[: len(self.row.sources)]
        if self.op == "mov" and any(isinstance(o, RawVector) for o in at.operands):
            raise UnsupportedError("mov of a vector is not supported yet.", at.span, "use shl, or and cvt")
        at.count(", ".join(["d", *names]), len(names) + 1)
        type = self.type or self._infer(at)
        destination = self._destination(at, type)
        sources = tuple(self._source(at, o, kind, type) for o, kind in zip(at.operands[1:], self.row.sources))
        return Arithmetic(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op=self.op,
            type=type,
            destinations=(destination,),
            sources=sources,
            space=self.space,
        )

    def _destination(self, at: Reader, type: ScalarType) -> Register:
        bits = {"t": register_bits(type), "w": 2 * type.bits, "i": 32}[self.row.result]
        return at.destination(at.operands[0], bits, type=f".{type.name}" if self.row.result == "t" else "")

    def _source(self, at: Reader, operand: RawOperand, kind: str, type: ScalarType) -> Operand:
        if kind == "i":
            return at.word(operand)
        if kind == "p":
            return positive(at, operand)
        if kind == "w":
            return at.source(operand, TYPES[f"{type.cls.value}{2 * type.bits}"])
        if kind == "a":
            address = self._address(at, operand, type)
            if address is not None:
                return address
        return positive(at, operand) if type.cls is TypeClass.PREDICATE else at.source(operand, type)

    def _address(self, at: Reader, operand: RawOperand, type: ScalarType) -> AddressOf | None:
        """A variable's address as a value: `x`, or `x+4` without brackets."""
        base = operand.base if isinstance(operand, RawAddress) and not bracketed(operand) else operand
        variable = at.variable(base)
        if variable is None:
            return None
        home = at.names.space(variable)
        if type.cls in (TypeClass.FLOAT, TypeClass.PREDICATE) or type.bits > 64:
            raise SourceError(f"{at.opcode}: {variable} is an address, no .{type.name}.", operand.span)
        shared = (Space.SHARED_CTA, Space.SHARED_CLUSTER)
        wanted = Space.SHARED_CLUSTER if self.op == "mapa" else self.space
        if wanted is not None and home is not wanted and not (home in shared and wanted in shared):
            raise SourceError(
                f"{at.opcode} is about .{wanted.value} addresses, and {variable} lies in"
                f" .{home.value if home else '?'} (ISA {self.row.page}).",
                operand.span,
            )
        return AddressOf(variable, operand.offset if isinstance(operand, RawAddress) else 0)

    def _infer(self, at: Reader) -> ScalarType:
        """The type of a short form: the width of the first register that has the type's width, else 32 bits."""
        width = None
        for operand, kind in zip(at.operands, self.row.result + self.row.sources):
            if kind in "ta":
                width = at.width(operand)
                if width is not None:
                    break
        if width == 1 and "pred" in self.row.types:
            return TYPES["pred"]
        type = TYPES.get(f"{self.row.letter}{width or 32}")
        if type is None or type.name not in self.row.types:
            raise SourceError(f"{at.opcode} does not exist on {width} bits (ISA {self.row.page}).", at.span)
        return type


def analyse(words: Words) -> ArithmeticForm:
    """The instructions of ROWS; raises FormError."""
    op, start = words[0], 1
    if len(words) > 1 and words[1] in PARTS.get(op, ()):
        op, start = f"{op}.{words[1]}", 2
    elif len(words) == 1:
        op = UNTYPED.get(op, op)
    row = ROWS.get(op)
    if row is None:
        if op == "mad" and any(t in words for t in FLOATS):
            raise LaterError("mad on floating point")
        parts = " or ".join(f".{p}" for p in PARTS[op])
        raise FormError(f"{op} on integers is {op}{parts} (ISA 9.7.1)", None)
    allowed = slots(
        type=_ALL_TYPES, modifier=_MODIFIERS, space=_SPACES.get(op, ()), vector="v2 v4" if op == "mov" else ""
    )
    q = Qualifiers(words, start, allowed, row.page, frozenset(("modifier",)))
    name = q.get("type")
    if name is not None and name not in row.types and name not in row.later:
        if op in PARTS:
            q.refuse(f"{op}.{name} needs {', '.join('.' + p for p in PARTS[op])} after {op}", "type")
        q.refuse(f"{op} has no type .{name}", "type")
    _modifiers(q, op, name)
    if q.has("vector"):
        raise LaterError("mov of a vector", q.found["vector"][0])
    space = q.space() if q.has("space") else None
    if op.startswith("cvta") and space is None:
        q.refuse(f"{op} needs a state space")
    return ArithmeticForm(op=op, row=row, type=None if name is None else TYPES[name], space=space)


def _modifiers(q: Qualifiers, op: str, name: str | None) -> None:
    """`.rn` is what floating-point addition does anyway; the other modifiers change results and are not decided."""
    float_type = name is not None and TYPES[name].cls is TypeClass.FLOAT
    for word in q.all("modifier"):
        at = q.words.index(word)
        if word == "rn" and float_type and op in ("add", "sub", "mul"):
            continue
        integer = (word, op) in (("sat", "add"), ("sat", "sub"), ("cc", "add"), ("cc", "sub"), ("relu", "min"))
        if float_type or (integer and name in ("s32", "u32", "u64", "s64", "s16x2")):
            raise LaterError(f"{op}.{word}", at)
        raise FormError(f"{op}{'.' + name if name else ''} takes no .{word} (ISA {q.page})", at)
    if name in ROWS[op].later:
        raise LaterError(f"{op}.{name}", q.found["type"][0])


def positive(at: Reader, operand: RawOperand) -> Operand:
    """A predicate source; legal with `!`, which has no place in the instruction yet."""
    value, negated = at.predicate(operand)
    if negated:
        raise UnsupportedError(
            f"{at.opcode}: a negated source predicate is not supported yet.", operand.span, "negate it first with not"
        )
    return value


def first_width(at: Reader, operands: Iterable[RawOperand]) -> int:
    """Width of the first register among them, 32 where there is none."""
    return next((w for w in map(at.width, operands) if w is not None), 32)
