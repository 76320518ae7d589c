"""shfl, vote, match, redux, elect, activemask: values exchanged inside a warp (ISA 9.7.10.6, 9.7.15.10 ff)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import SINK, Reader
from memcheck.ptx.decode.words import LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Collective, Instruction
from memcheck.ptx.operands import Immediate, Operand, Register
from memcheck.ptx.raw import RawPair
from memcheck.ptx.types import TYPES, ScalarType

PAGES = {
    "shfl": "9.7.10.6",
    "vote": "9.7.15.10",
    "match": "9.7.15.11",
    "redux": "9.7.15.13",
    "activemask": "9.7.15.12",
    "elect": "9.7.15.15",
}
WORDS = {
    "shfl": slots(sync="sync", op="up down bfly idx", type="b32"),
    "vote": slots(sync="sync", op="all any uni ballot", type="pred b32"),
    "match": slots(sync="sync", op="any all", type="b32 b64"),
    "redux": slots(sync="sync", op="add min max and or xor", type="u32 s32 b32 f32", float="abs NaN"),
    "elect": slots(sync="sync"),
    "activemask": slots(type="b32"),
}
REDUX_TYPES = {"add": ("u32", "s32"), "min": ("u32", "s32"), "max": ("u32", "s32")} | dict.fromkeys(
    ("and", "or", "xor"), ("b32",)
)
ALL_LANES = Immediate(0xFFFFFFFF)

Operands = tuple[tuple[Register | None, ...], tuple[Operand, ...], Operand, bool]
"""Destinations, sources, mask, negated."""


@dataclass(frozen=True, slots=True)
class CollectiveForm:
    """Words of a collective, legal together."""

    op: str
    type: ScalarType

    def build(self, at: Reader) -> Instruction:
        destinations, sources, mask, negated = _OPERANDS[self.op.partition(".")[0]](self, at)
        return Collective(
            text=at.text,
            span=at.span,
            guard=at.guard,
            op=self.op,
            type=self.type,
            destinations=destinations,
            sources=sources,
            mask=mask,
            negated=negated,
        )


def analyse(words: Words) -> CollectiveForm:
    """The collectives; raises FormError."""
    name = words[0]
    q = Qualifiers(words, 1, WORDS[name], PAGES[name])
    if name != "activemask" and not q.has("sync"):
        q.refuse(f"{name} needs .sync: the form without it is gone since sm_70")
    op, written = q.get("op"), q.get("type")
    if name in ("elect", "activemask"):
        return CollectiveForm(name, TYPES["b32"])
    if op is None:
        choices = [w for w, slot in WORDS[name].items() if slot == "op"]
        q.refuse(f"{name}.sync needs one of {', '.join('.' + c for c in choices)}")
    allowed = {"shfl": ("b32",), "match": ("b32", "b64"), "vote": ("b32",) if op == "ballot" else ("pred",)}.get(
        name
    ) or REDUX_TYPES[op]
    if name == "redux" and (written == "f32" or q.has("float")):
        if op not in ("min", "max"):
            q.refuse(f"redux.sync.{op} has no .f32", "type")
        raise LaterError("redux.sync on .f32", q.found["op"][0])
    if written is not None and written not in allowed:
        q.refuse(f"{name}.sync.{op} has the type {' or '.join('.' + t for t in allowed)}, not .{written}", "type")
    return CollectiveForm(f"{name}.{op}", TYPES[written or allowed[0]])


def _pair(at: Reader) -> tuple[Register | None, ...]:
    """`d` or `d|p`."""
    first, second = at.pair(at.operands[0])
    destination = at.destination(first, 32)
    return (destination,) if second is None else (destination, at.destination_or_sink(second, 1))


def _shuffle(_: CollectiveForm, at: Reader) -> Operands:
    at.count("d{|p}, a, b, c, membermask", 5)
    sources = tuple(at.word(o) for o in at.operands[1:4])
    return _pair(at), sources, at.word(at.operands[4]), False


def _vote(form: CollectiveForm, at: Reader) -> Operands:
    at.count("d, {!}a, membermask", 3)
    destination = at.destination(at.operands[0], 32 if form.op == "vote.ballot" else 1)
    source, negated = at.predicate(at.operands[1])
    return (destination,), (source,), at.word(at.operands[2]), negated


def _match(form: CollectiveForm, at: Reader) -> Operands:
    at.count("d{|p}, a, membermask" if form.op == "match.all" else "d, a, membermask", 3)
    if form.op == "match.any" and isinstance(at.operands[0], RawPair):
        raise SourceError("match.any has no predicate result (ISA 9.7.15.11).", at.operands[0].span)
    return _pair(at), (at.source(at.operands[1], form.type),), at.word(at.operands[2]), False


def _redux(_: CollectiveForm, at: Reader) -> Operands:
    at.count("d, a, membermask", 3)
    return (at.destination(at.operands[0], 32),), (at.word(at.operands[1]),), at.word(at.operands[2]), False


def _elect(_: CollectiveForm, at: Reader) -> Operands:
    at.count("d|p, membermask", 2)
    pair = at.operands[0]
    if not isinstance(pair, RawPair) or pair.second.name == SINK:
        raise SourceError("elect.sync has two results (ISA 9.7.15.15).", pair.span, "write _|p0, or r0|p0")
    first = None if pair.first.name == SINK else at.destination(pair.first, 32)
    return (first, at.destination(pair.second, 1)), (), at.word(at.operands[1]), False


def _activemask(_: CollectiveForm, at: Reader) -> Operands:
    at.count("d", 1)
    return (at.destination(at.operands[0], 32),), (), ALL_LANES, False


_OPERANDS: dict[str, Callable[[CollectiveForm, Reader], Operands]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "elect": _elect,
    "activemask": _activemask,
}
