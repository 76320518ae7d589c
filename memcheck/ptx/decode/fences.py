"""`fence`, `membar` and the proxy fences (ISA 9.7.15.4)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Fence, Instruction, ProxyFence, Restriction
from memcheck.ptx.qualifiers import FenceProxy, Scope, Sem, Space
from memcheck.ptx.raw import RawNumber

PAGE = "9.7.15.4"

RESTRICTIONS = {
    "sync_restrict::shared::cta": Restriction.SHARED_CTA,
    "sync_restrict::shared::cluster": Restriction.SHARED_CLUSTER,
}
PAIRS = {Restriction.SHARED_CTA: Sem.RELEASE, Restriction.SHARED_CLUSTER: Sem.ACQUIRE}
"""A release is restricted to the own CTA's objects, an acquire to the cluster's, and both act at .cluster."""

FENCE = slots(
    sem="sc acq_rel acquire release",
    scope="cta cluster gpu sys",
    restrict=RESTRICTIONS,
    init="mbarrier_init",
)
MEMBAR = {"cta": Scope.CTA, "gl": Scope.GPU, "sys": Scope.SYS}
"""The levels of membar, a synonym of fence.sc."""

TWO_SIDED = {
    "alias": FenceProxy.ALIAS,
    "async": FenceProxy.ASYNC,
    "texture": FenceProxy.TEXTURE,
    "surface": FenceProxy.SURFACE,
    "constant": FenceProxy.CONSTANT,
}
"""alias and async are PTX; texture, surface and constant are the mixed-proxy extension (ISA 8.1)."""
ONE_SIDED = {"tensormap::generic": FenceProxy.TENSORMAP_GENERIC, "async::generic": FenceProxy.ASYNC_GENERIC}
FABRIC = ("generic::fabric", "fabric::generic", "fabric::fabric")
ASYNC_SPACES = {"global": Space.GLOBAL, "shared::cta": Space.SHARED_CTA, "shared::cluster": Space.SHARED_CLUSTER}
DIRECTED = slots(sem="acquire release", scope="cta cluster gpu sys", restrict=RESTRICTIONS)
DESCRIPTOR_BYTES = 128


@dataclass(frozen=True, slots=True)
class FenceForm:
    """A thread fence; no operands."""

    sem: Sem
    scope: Scope
    restriction: Restriction | None = None

    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return Fence(
            text=at.text,
            span=at.span,
            guard=at.guard,
            sem=self.sem,
            scope=self.scope,
            restriction=self.restriction,
        )


@dataclass(frozen=True, slots=True)
class ProxyFenceForm:
    """A proxy fence; the tensormap acquire has a range of 128 bytes."""

    proxy: FenceProxy
    space: Space | None = None
    sem: Sem | None = None
    scope: Scope | None = None
    restriction: Restriction | None = None

    def build(self, at: Reader) -> Instruction:
        address, size = None, None
        if self.proxy is FenceProxy.TENSORMAP_GENERIC and self.sem is Sem.ACQUIRE:
            at.count("[a], 128", 2)
            address = at.address(at.operands[0], Space.GENERIC)
            extent = at.operands[1]
            if not isinstance(extent, RawNumber) or extent.value != DESCRIPTOR_BYTES:
                raise SourceError(f"{at.opcode} covers exactly 128 bytes (ISA {PAGE}).", extent.span, "write 128")
            size = DESCRIPTOR_BYTES
        else:
            at.count("alone", 0)
        return ProxyFence(
            text=at.text,
            span=at.span,
            guard=at.guard,
            proxy=self.proxy,
            space=self.space,
            sem=self.sem,
            scope=self.scope,
            address=address,
            size=size,
            restriction=self.restriction,
        )


def analyse(words: Words) -> FenceForm | ProxyFenceForm:
    """fence.*, membar.*; raises FormError."""
    if len(words) > 1 and words[1] == "proxy":
        return _proxy(words)
    if words[0] == "membar":
        return _membar(words)
    q = Qualifiers(words, 1, FENCE, PAGE)
    scope, word = q.scope(), q.get("sem")
    if q.has("init"):
        if word != "release" or scope is not Scope.CLUSTER or q.has("restrict"):
            q.refuse("fence.mbarrier_init exists as fence.mbarrier_init.release.cluster only", "init")
        return FenceForm(Sem.RELEASE, Scope.CLUSTER, Restriction.MBARRIER_INIT)
    if scope is None:
        q.refuse("fence needs a scope: .cta, .cluster, .gpu or .sys")
    restrict = q.get("restrict")
    if restrict is None:
        return FenceForm(Sem(word or "acq_rel"), scope)
    restriction = RESTRICTIONS[restrict]
    if word is None or Sem(word) is not PAIRS[restriction] or scope is not Scope.CLUSTER:
        q.refuse(f".{restrict} goes with .{PAIRS[restriction].value} and .cluster only", "restrict")
    return FenceForm(Sem(word), scope, restriction)


def _membar(words: Words) -> FenceForm:
    levels = [w for w in words[1:] if w in MEMBAR]
    for at, word in enumerate(words[1:], 1):
        if word not in MEMBAR:
            raise FormError(f"membar has the levels .cta, .gl and .sys, not .{word} (ISA {PAGE})", at)
    if len(levels) != 1:
        raise FormError(f"membar needs one level: .cta, .gl or .sys (ISA {PAGE})", 2 if levels else None)
    return FenceForm(Sem.SC, MEMBAR[levels[0]])


def _proxy(words: Words) -> ProxyFenceForm:
    kind = words[2] if len(words) > 2 else ""
    name = ".".join(words[:3])
    if kind in TWO_SIDED:
        allowed = slots(space=ASYNC_SPACES) if kind == "async" and words[0] == "fence" else {}
        q = Qualifiers(words, 3, allowed, PAGE)
        space = q.get("space")
        return ProxyFenceForm(TWO_SIDED[kind], None if space is None else ASYNC_SPACES[space])
    if words[0] == "membar" or kind not in (*ONE_SIDED, *FABRIC):
        known = [*TWO_SIDED, *ONE_SIDED] if words[0] == "fence" else [*TWO_SIDED]
        raise FormError(
            f"{words[0]}.proxy is followed by {', '.join('.' + k for k in known)} (ISA {PAGE})", 2 if kind else None
        )
    if kind in FABRIC:
        raise LaterError(name, 2)
    q = Qualifiers(words, 3, DIRECTED, PAGE)
    word, scope, restrict = q.get("sem"), q.scope(), q.get("restrict")
    if word is None:
        q.refuse(f"{name} needs .acquire or .release")
    if scope is None:
        q.refuse(f"{name}.{word} needs a scope", "sem")
    sem = Sem(word)
    if kind == "tensormap::generic":
        if restrict is not None:
            q.refuse(f"{name} takes no .{restrict}", "restrict")
        return ProxyFenceForm(ONE_SIDED[kind], sem=sem, scope=scope)
    if restrict is None or PAIRS[RESTRICTIONS[restrict]] is not sem or scope is not Scope.CLUSTER:
        wanted = next(w for w, r in RESTRICTIONS.items() if PAIRS[r] is sem)
        q.refuse(f"{name}.{word} exists with .{wanted} and .cluster only", "restrict" if restrict else "scope")
    return ProxyFenceForm(ONE_SIDED[kind], sem=sem, scope=scope, restriction=RESTRICTIONS[restrict])
