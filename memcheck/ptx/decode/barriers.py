"""`bar`, `barrier{.cta}` (ISA 9.7.15.1), the peers' `bar.cta.*`, `bar.warp.sync` (.2), `barrier.cluster` (.3)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Barrier, BarrierKind, ClusterBarrier, Instruction, WarpBarrier
from memcheck.ptx.operands import Immediate, Operand, Register
from memcheck.ptx.qualifiers import Sem
from memcheck.ptx.raw import RawOperand

PAGE, WARP_PAGE, CLUSTER_PAGE = "9.7.15.1", "9.7.15.2", "9.7.15.3"

BARRIERS_OF_A_CTA = 16
WARP_THREADS = 32

BAR = slots(kind="sync arrive red", op="popc and or", type="u32 pred")
BARRIER = BAR | slots(aligned="aligned")
CLUSTER = {
    "arrive": slots(sem="release relaxed", aligned="aligned"),
    "wait": slots(sem="acquire", aligned="aligned"),
}


@dataclass(frozen=True, slots=True)
class BarrierForm:
    """PTX's own: sync and arrive `a{, b}`, red `d, a{, b}, {!}c`."""

    kind: BarrierKind
    reduction: str | None = None

    def build(self, at: Reader) -> Instruction:
        if self.kind is BarrierKind.RED:
            return self._reduce(at)
        arrive = self.kind is BarrierKind.ARRIVE
        given = at.count("a, b" if arrive else "a{, b}", *((2,) if arrive else (1, 2)))
        return Barrier(
            text=at.text,
            span=at.span,
            guard=at.guard,
            kind=self.kind,
            id=_number(at, at.operands[0]),
            count=_count(at, at.operands[1]) if given == 2 else None,
        )

    def _reduce(self, at: Reader) -> Instruction:
        given = at.count("d, a{, b}, c", 3, 4)
        source, negated = at.predicate(at.operands[-1])
        destination: Register = at.destination(at.operands[0], 32 if self.reduction == "popc" else 1)
        return Barrier(
            text=at.text,
            span=at.span,
            guard=at.guard,
            kind=self.kind,
            id=_number(at, at.operands[1]),
            count=_count(at, at.operands[2]) if given == 4 else None,
            reduction=self.reduction,
            destination=destination,
            source=source,
            negated=negated,
        )


@dataclass(frozen=True, slots=True)
class PeerBarrierForm:
    """The columns layout's `bar.cta.sync|arrive instance{, id{, threads}}`."""

    kind: BarrierKind

    def build(self, at: Reader) -> Instruction:
        given = at.count("instance{, id{, threads}}", 1, 2, 3)
        operands = [at.word(o) for o in at.operands]
        threads = operands[2] if given > 2 else None
        if isinstance(threads, Immediate) and threads.value < 1:
            raise SourceError(f"{at.opcode} waits for at least one thread.", at.operands[2].span)
        return Barrier(
            text=at.text,
            span=at.span,
            guard=at.guard,
            kind=self.kind,
            instance=operands[0],
            id=operands[1] if given > 1 else None,
            count=threads,
            peer=True,
        )


@dataclass(frozen=True, slots=True)
class WarpForm:
    """`bar.warp.sync membermask`."""

    def build(self, at: Reader) -> Instruction:
        at.count("membermask", 1)
        return WarpBarrier(text=at.text, span=at.span, guard=at.guard, mask=at.word(at.operands[0]))


@dataclass(frozen=True, slots=True)
class ClusterForm:
    """`barrier.cluster.arrive|wait`; no operands."""

    arrive: bool
    sem: Sem

    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return ClusterBarrier(text=at.text, span=at.span, guard=at.guard, arrive=self.arrive, sem=self.sem)


def analyse(words: Words) -> Form:
    """bar.*, barrier.*; raises FormError."""
    second = words[1] if len(words) > 1 else ""
    if words[0] == "bar" and second == "warp":
        if words[2:] != ("sync",):
            raise FormError(f"bar.warp is followed by .sync and nothing else (ISA {WARP_PAGE})", min(2, len(words) - 1))
        return WarpForm()
    if words[0] == "barrier" and second == "cluster":
        return _cluster(words)
    start = 2 if second == "cta" else 1
    q = Qualifiers(words, start, BARRIER if words[0] == "barrier" else BAR, PAGE)
    word = q.get("kind")
    if word is None:
        q.refuse(f"{q.name} needs .sync, .arrive or .red")
    kind = BarrierKind(word)
    if kind is not BarrierKind.RED:
        for slot in ("op", "type"):
            if q.has(slot):
                q.refuse(f"{q.name}.{word} takes no .{q.get(slot)}", slot)
        return BarrierForm(kind)
    reduction = q.get("op")
    if reduction is None:
        q.refuse(f"{q.name}.red needs .popc, .and or .or", "kind")
    wanted = "u32" if reduction == "popc" else "pred"
    if q.get("type") not in (None, wanted):
        q.refuse(f"{q.name}.red.{reduction} has the type .{wanted}", "type")
    return BarrierForm(kind, reduction)


def analyse_peer(words: Words) -> Form:
    """bar.* in the columns layout, where bar.cta.sync and .arrive are the peers'; raises FormError."""
    form = analyse(words)
    if words[1] == "cta" and isinstance(form, BarrierForm) and form.kind is not BarrierKind.RED:
        return PeerBarrierForm(form.kind)
    return form


def _cluster(words: Words) -> ClusterForm:
    step = words[2] if len(words) > 2 else ""
    if step not in CLUSTER:
        raise FormError(f"barrier.cluster is followed by .arrive or .wait (ISA {CLUSTER_PAGE})", 2 if step else None)
    q = Qualifiers(words, 3, CLUSTER[step], CLUSTER_PAGE)
    return ClusterForm(step == "arrive", Sem(q.get("sem") or ("release" if step == "arrive" else "acquire")))


def _number(at: Reader, operand: RawOperand) -> Operand:
    value = at.word(operand)
    if isinstance(value, Immediate) and not 0 <= value.value < BARRIERS_OF_A_CTA:
        raise SourceError(f"A CTA has the barriers 0 to 15, not {value.value} (ISA {PAGE}).", operand.span)
    return value


def _count(at: Reader, operand: RawOperand) -> Operand:
    value = at.word(operand)
    if isinstance(value, Immediate) and (value.value <= 0 or value.value % WARP_THREADS):
        raise SourceError(
            f"A barrier counts whole warps: a positive multiple of 32 threads, not {value.value} (ISA {PAGE}).",
            operand.span,
            f"write {max(1, -(-value.value // WARP_THREADS)) * WARP_THREADS}",
        )
    return value
