"""`mbarrier.*` (ISA 9.7.15.16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.asynchronous import (
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPendingCount,
    MbarrierTransaction,
    MbarrierWait,
)
from memcheck.ptx.decode.objects import MAX_COUNT, ctas_only, mbarrier, order, typed, within
from memcheck.ptx.decode.operands import SINK, Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Immediate, Operand
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.raw import RawName, RawOperand
from memcheck.ptx.types import TYPES

PAGE = "9.7.15.16"
SCOPES = ("cta", "cluster")

_OBJECT = slots(space="shared shared::cta shared::cluster", type="b64")
_ORDERED = _OBJECT | slots(scope="cta cluster gpu sys", multicast="multicast::cluster::32b")
INIT = _OBJECT | slots(layout="layout::v0 layout::v1")
TRANSACTION = _ORDERED | slots(sem="relaxed")
ARRIVE = _ORDERED | slots(sem="release relaxed")
WAIT = _ORDERED | slots(sem="acquire relaxed", phase="phase_type::primary phase_type::conditional")


@dataclass(frozen=True, slots=True)
class InitForm:
    """`mbarrier.init [a], count`; without `counted` `mbarrier.inval [a]`."""

    space: Space
    counted: bool

    def build(self, at: Reader) -> Instruction:
        at.count("[a], count" if self.counted else "[a]", 1 + self.counted)
        object = mbarrier(at, at.operands[0], self.space)
        if not self.counted:
            return MbarrierInval(text=at.text, span=at.span, guard=at.guard, mbarrier=object, space=self.space)
        count = _count(at, at.operands[1])
        return MbarrierInit(text=at.text, span=at.span, guard=at.guard, mbarrier=object, count=count, space=self.space)


@dataclass(frozen=True, slots=True)
class TransactionForm:
    """`mbarrier.expect_tx`, `mbarrier.complete_tx [a], bytes`."""

    complete: bool
    scope: Scope
    space: Space

    def build(self, at: Reader) -> Instruction:
        at.count("[a], bytes", 2)
        return MbarrierTransaction(
            text=at.text,
            span=at.span,
            guard=at.guard,
            mbarrier=mbarrier(at, at.operands[0], self.space),
            amount=_bytes(at, at.operands[1]),
            complete=self.complete,
            scope=self.scope,
            space=self.space,
        )


@dataclass(frozen=True, slots=True)
class ArriveForm:
    """`state, [a]{, count}`; with a transaction `state, [a], bytes`. A remote arrival has `_` for its state."""

    drop: bool
    expects: bool
    no_complete: bool
    sem: Sem
    scope: Scope
    space: Space

    def build(self, at: Reader) -> Instruction:
        remote = self.space is Space.SHARED_CLUSTER
        state = "_" if remote else "state"
        if self.expects:
            given = at.count(f"{state}, [a], bytes", 3)
        elif self.no_complete:
            given = at.count(f"{state}, [a], count", 3)
        else:
            given = at.count(f"{state}, [a]{{, count}}", 2, 3)
        first = at.operands[0]
        if remote and not (isinstance(first, RawName) and first.name == SINK):
            raise SourceError(
                f"{at.opcode}: an arrival in the cluster returns no state (ISA {PAGE}).", first.span, "write _"
            )
        last = at.operands[2] if given == 3 else None
        return MbarrierArrive(
            text=at.text,
            span=at.span,
            guard=at.guard,
            mbarrier=mbarrier(at, at.operands[1], self.space),
            state=at.destination_or_sink(first, 64),
            count=Immediate(1) if last is None or self.expects else _count(at, last),
            expect=_bytes(at, last) if last is not None and self.expects else None,
            drop=self.drop,
            no_complete=self.no_complete,
            sem=self.sem,
            scope=self.scope,
            space=self.space,
        )


@dataclass(frozen=True, slots=True)
class WaitForm:
    """`p, [a], state`, or with `.parity` `p, [a], parity`; try_wait also takes a time limit."""

    suspends: bool
    by_parity: bool
    sem: Sem
    scope: Scope
    space: Space

    def build(self, at: Reader) -> Instruction:
        what = "parity" if self.by_parity else "state"
        given = at.count(f"p, [a], {what}" + "{, time}" * self.suspends, *((3, 4) if self.suspends else (3,)))
        destination = at.destination(at.operands[0], 1)
        target = at.operands[2]
        if self.by_parity:
            phase = at.word(target)
            within(phase, 0, 1, target, "A parity")
        else:
            phase = at.source(target, TYPES["b64"], what="the state of an mbarrier")
        return MbarrierWait(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=destination,
            mbarrier=mbarrier(at, at.operands[1], self.space),
            state=None if self.by_parity else phase,
            parity=phase if self.by_parity else None,
            suspends=self.suspends,
            hint=at.word(at.operands[3]) if given == 4 else None,
            sem=self.sem,
            scope=self.scope,
            space=self.space,
        )


@dataclass(frozen=True, slots=True)
class PendingForm:
    """`mbarrier.pending_count d, state`."""

    def build(self, at: Reader) -> Instruction:
        at.count("d, state", 2)
        return MbarrierPendingCount(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=at.destination(at.operands[0], 32),
            state=at.source(at.operands[1], TYPES["b64"], what="the state of an mbarrier"),
        )


def analyse(words: Words) -> Form:
    """mbarrier.*; raises FormError."""
    name = words[1] if len(words) > 1 else ""
    reader = _OPERATIONS.get(name)
    if reader is None:
        known = [*(f".{n}" for n in _OPERATIONS)]
        raise FormError(f"mbarrier is followed by {', '.join(known)} (ISA {PAGE})", 1 if name else None)
    return reader(words)


def _init(words: Words) -> Form:
    q = Qualifiers(words, 2, INIT if words[1] == "init" else _OBJECT, PAGE)
    ctas_only(q)
    typed(q, "b64")
    if q.get("layout") == "layout::v1":
        raise LaterError("mbarrier.init.layout::v1", q.found["layout"][0])
    return InitForm(q.space(), words[1] == "init")


def _transaction(words: Words) -> Form:
    q = Qualifiers(words, 2, TRANSACTION, PAGE)
    _no_multicast(q)
    typed(q, "b64")
    _, scope = order(q, Sem.RELAXED, Scope.CTA, SCOPES)
    return TransactionForm(words[1] == "complete_tx", scope, q.space())


def _arrive(words: Words) -> Form:
    part = words[2] if len(words) > 2 and words[2] in ("expect_tx", "noComplete") else ""
    q = Qualifiers(words, 3 if part else 2, ARRIVE, PAGE)
    _no_multicast(q)
    typed(q, "b64")
    sem, scope = order(q, Sem.RELEASE, Scope.CTA, SCOPES)
    if part == "noComplete":
        ctas_only(q)
        if sem is not Sem.RELEASE:
            q.refuse(f"{q.name} is .release.cta only", "sem")
        if scope is not Scope.CTA:
            q.refuse(f"{q.name} is .release.cta only", "scope")
    return ArriveForm(words[1] == "arrive_drop", part == "expect_tx", part == "noComplete", sem, scope, q.space())


def _wait(words: Words) -> Form:
    parity = len(words) > 2 and words[2] == "parity"
    q = Qualifiers(words, 3 if parity else 2, WAIT, PAGE)
    ctas_only(q)
    typed(q, "b64")
    if q.has("phase"):
        raise LaterError(f"{q.name}.{q.get('phase')}", q.found["phase"][0])
    sem, scope = order(q, Sem.ACQUIRE, Scope.CTA, SCOPES)
    return WaitForm(words[1] == "try_wait", parity, sem, scope, q.space())


def _pending(words: Words) -> Form:
    q = Qualifiers(words, 2, slots(type="b64"), PAGE)
    typed(q, "b64")
    return PendingForm()


def _layout(words: Words) -> Form:
    raise LaterError(".".join(words[:2]), 1)


_OPERATIONS: dict[str, Callable[[Words], Form]] = {
    **dict.fromkeys(("init", "inval"), _init),
    **dict.fromkeys(("expect_tx", "complete_tx"), _transaction),
    **dict.fromkeys(("arrive", "arrive_drop"), _arrive),
    **dict.fromkeys(("test_wait", "try_wait"), _wait),
    "pending_count": _pending,
    "check_layout": _layout,
}


def _no_multicast(q: Qualifiers) -> None:
    if q.has("multicast"):
        raise LaterError(f"{q.name}.{q.get('multicast')}", q.found["multicast"][0])


def _count(at: Reader, operand: RawOperand) -> Operand:
    value = at.word(operand)
    within(value, 1, MAX_COUNT, operand, "The count of arrivals")
    return value


def _bytes(at: Reader, operand: RawOperand) -> Operand:
    value = at.word(operand)
    within(value, 0, MAX_COUNT, operand, "The bytes of a transaction")
    return value
