"""`cp.async` that is no bulk copy, its groups and those of bulk copies (ISA 9.7.10.28.3, 9.7.10.28.6)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.asynchronous import CommitGroup, CopyArrive, CopyAsync, Group, WaitAll, WaitGroup
from memcheck.ptx.decode.objects import ctas_only, immediate, mbarrier, shared, typed, within
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawNumber

PAGE, GROUP_PAGE, ARRIVE_PAGE = "9.7.10.28.3", "9.7.10.28.6", "9.7.15.16.18"
SIZES = {"ca": (4, 8, 16), "cg": (16,)}
MAX_PENDING = (1 << 31) - 1

COPY = slots(
    cop="ca cg",
    space="shared shared::cta shared::cluster global",
    policy="L2::cache_hint",
    prefetch="L2::64B L2::128B L2::256B",
)


@dataclass(frozen=True, slots=True)
class CopyForm:
    """`[dst], [src], size{, src-size | , ignore}{, policy}`."""

    level: str
    policy: bool

    def build(self, at: Reader) -> Instruction:
        hint = ", policy" * self.policy
        given = at.count(f"[dst], [src], size{{, bytes}}{hint}", 3 + self.policy, 4 + self.policy) - self.policy
        number, sizes = at.operands[2], SIZES[self.level]
        if not isinstance(number, RawNumber) or number.value not in sizes:
            numbers = " or ".join(map(str, sizes))
            raise SourceError(f"{at.opcode} copies {numbers} bytes (ISA {PAGE}).", number.span, f"write {sizes[-1]}")
        source_size: Operand | None = None
        ignore: Register | None = None
        negated = False
        if given == 4:
            fourth = at.operands[3]
            if at.width(fourth) == 1:
                value, negated = at.predicate(fourth)
                assert isinstance(value, Register)
                ignore = value
            else:
                source_size = at.word(fourth)
                within(source_size, 0, number.value, fourth, "The number of bytes that are read")
        if self.policy:
            at.policy(len(at.operands) - 1)
        return CopyAsync(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=shared(at, at.operands[0], Space.SHARED_CTA),
            source=at.address(at.operands[1], Space.GLOBAL),
            size=number.value,
            level=self.level,
            source_size=source_size,
            ignore=ignore,
            ignore_negated=negated,
        )


@dataclass(frozen=True, slots=True)
class ArriveForm:
    """`cp.async.mbarrier.arrive{.noinc} [a]`."""

    noinc: bool
    space: Space

    def build(self, at: Reader) -> Instruction:
        at.count("[a]", 1)
        object = mbarrier(at, at.operands[0], self.space)
        return CopyArrive(
            text=at.text, span=at.span, guard=at.guard, mbarrier=object, noinc=self.noinc, space=self.space
        )


@dataclass(frozen=True, slots=True)
class CommitForm:
    group: Group

    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return CommitGroup(text=at.text, span=at.span, guard=at.guard, group=self.group)


@dataclass(frozen=True, slots=True)
class WaitForm:
    """`….wait_group N`."""

    group: Group
    read: bool = False

    def build(self, at: Reader) -> Instruction:
        at.count("N", 1)
        pending = immediate(at, at.operands[0], 0, MAX_PENDING, "The number of pending groups")
        return WaitGroup(text=at.text, span=at.span, guard=at.guard, group=self.group, pending=pending, read=self.read)


@dataclass(frozen=True, slots=True)
class WaitAllForm:
    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return WaitAll(text=at.text, span=at.span, guard=at.guard)


def analyse(words: Words) -> Form:
    """cp.async.*, cp.reduce.async.bulk.*; raises FormError."""
    from memcheck.ptx.decode import bulk, tensors

    reduces = words[1:2] == ("reduce",)
    start = 2 if reduces else 1
    if words[start : start + 1] != ("async",) or (reduces and words[3:4] != ("bulk",)):
        raise FormError(f"cp is followed by .async or .reduce.async.bulk (ISA {PAGE})", 1 if len(words) > 1 else None)
    if words[start + 1 : start + 2] != ("bulk",):
        return _copy(words)
    part = words[start + 2] if len(words) > start + 2 else ""
    if not reduces and part in ("commit_group", "wait_group"):
        return _group(words, 4, Group.BULK)
    if part == "tensor":
        return tensors.analyse(words, start + 3)
    if part == "prefetch" and not reduces:
        return bulk.analyse_prefetch(words)
    return bulk.analyse(words, start + 2)


def _copy(words: Words) -> Form:
    part = words[2] if len(words) > 2 else ""
    if part in ("commit_group", "wait_group"):
        return _group(words, 3, Group.COPY)
    if part == "wait_all":
        Qualifiers(words, 3, {}, GROUP_PAGE)
        return WaitAllForm()
    if part == "mbarrier":
        return _arrive(words)
    q = Qualifiers(words, 2, COPY, PAGE, frozenset(("space",)))
    level = q.get("cop")
    if level is None:
        q.refuse("cp.async needs .ca or .cg")
    spaces = q.all("space")
    if spaces not in (("shared", "global"), ("shared::cta", "global")):
        q.refuse("cp.async copies from .global to the own CTA's memory: .shared::cta.global", "space")
    return CopyForm(level, q.has("policy"))


def _arrive(words: Words) -> Form:
    if words[3:4] != ("arrive",):
        raise FormError(f"cp.async.mbarrier is followed by .arrive (ISA {ARRIVE_PAGE})", min(3, len(words) - 1))
    allowed = slots(noinc="noinc", space="shared shared::cta shared::cluster", type="b64")
    q = Qualifiers(words, 4, allowed, ARRIVE_PAGE)
    ctas_only(q)
    typed(q, "b64")
    return ArriveForm(q.has("noinc"), q.space())


def _group(words: Words, start: int, group: Group) -> Form:
    waits = words[start - 1] == "wait_group"
    q = Qualifiers(words, start, slots(read="read") if waits and group is Group.BULK else {}, GROUP_PAGE)
    return WaitForm(group, q.has("read")) if waits else CommitForm(group)
