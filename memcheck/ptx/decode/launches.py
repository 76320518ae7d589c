"""`clusterlaunchcontrol.try_cancel` (ISA 9.7.15.18), `griddepcontrol` (ISA 9.7.15.14)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.ptx.asynchronous import GridDependency, TryCancel
from memcheck.ptx.decode.objects import COMPLETE_TX, mbarrier, shared, typed
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.qualifiers import Space

CANCEL_PAGE, GRID_PAGE = "9.7.15.18", "9.7.15.14"
EVERY_CTA = "multicast::cluster::all"
CANCEL = slots(space="shared::cta", completion=COMPLETE_TX, multicast=EVERY_CTA, type="b128")


@dataclass(frozen=True, slots=True)
class CancelForm:
    """`[a], [mbar]`."""

    multicast: bool

    def build(self, at: Reader) -> Instruction:
        at.count("[a], [mbar]", 2)
        return TryCancel(
            text=at.text,
            span=at.span,
            guard=at.guard,
            address=shared(at, at.operands[0], Space.SHARED_CTA),
            mbarrier=mbarrier(at, at.operands[1]),
            multicast=self.multicast,
        )


@dataclass(frozen=True, slots=True)
class GridForm:
    launch: bool

    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return GridDependency(text=at.text, span=at.span, guard=at.guard, launch=self.launch)


def analyse_cancel(words: Words) -> Form:
    """clusterlaunchcontrol.*; raises FormError."""
    if words[1:2] == ("query_cancel",):
        raise LaterError("clusterlaunchcontrol.query_cancel", 1)
    if words[1:3] != ("try_cancel", "async"):
        at = min(2 if words[1:2] == ("try_cancel",) else 1, len(words) - 1)
        raise FormError(f"clusterlaunchcontrol is followed by .try_cancel.async (ISA {CANCEL_PAGE})", at)
    q = Qualifiers(words, 3, CANCEL, CANCEL_PAGE)
    if not q.has("completion"):
        q.refuse(f"{q.name} needs .{COMPLETE_TX}")
    typed(q, "b128")
    return CancelForm(q.has("multicast"))


def analyse_grid(words: Words) -> Form:
    """griddepcontrol.*; raises FormError."""
    part = words[1] if len(words) > 1 else ""
    if part not in ("launch_dependents", "wait"):
        raise FormError(
            f"griddepcontrol is followed by .launch_dependents or .wait (ISA {GRID_PAGE})", 1 if part else None
        )
    Qualifiers(words, 2, {}, GRID_PAGE)
    return GridForm(part == "launch_dependents")
