"""Whether a model has rules for everything that a test does."""

from __future__ import annotations

from memcheck.events.structure import Event, Kind, Structure
from memcheck.relations.expression import Model
from memcheck.remarks import remark
from memcheck.result import Remark

NEEDS = {
    "ONE_WAY": ("F", "fences of one direction"),
    "RESTRICTED": ("F", "fences with .sync_restrict"),
    "MBARRIER_INIT": ("F", "fence.mbarrier_init"),
    "RO": ("GEN", "the readonly proxy and .nc"),
    "MBAR": ("sr", "operations on mbarriers"),
    "ASYNCHRONOUS": ("po", "asynchronous operations"),
}
"""Event classes by the vocabulary's set, which a model must mention to order them, with words for people.

Only models that name the first set of a row need to: one that tells no fence from another has no use for their kinds.
"""


def gaps(structure: Structure, model: Model) -> list[Remark]:
    """Remarks for event classes that the model orders nowhere."""
    found = []
    for name, (distinction, words) in NEEDS.items():
        events = [e for e in structure.events if name in e.tags]
        if events and distinction in model.names and name not in model.names:
            found.append(remark(structure, "not in this model", f"{model.name} has no rule for {words}", events[:1]))
    if "overlap" not in model.names:
        mixed = _partial_overlap(structure)
        if mixed:
            found.append(
                remark(
                    structure, "not in this model", f"{model.name} has no rule for accesses that overlap partly", mixed
                )
            )
    if structure.grids and "grid" not in model.names:
        found.append(Remark("not in this model", f"{model.name} has no rule for grids in an order"))
    relations = {r.kind.value for r in structure.rendezvous}
    for kind, name in (("warp", "warpbar"), ("cluster", "clusterbar")):
        if kind in relations and name not in model.names:
            events = [
                structure.events[a.event] for r in structure.rendezvous if r.kind.value == kind for a in r.arrivals
            ]
            words = f"barriers of a {kind}"
            found.append(remark(structure, "not in this model", f"{model.name} has no rule for {words}", events[:1]))
    return found


def _partial_overlap(structure: Structure) -> list[Event]:
    """Two accesses of known address that share some but not all bytes."""
    memory = structure.memory
    known: list[tuple[Event, int]] = []
    for event in structure.events:
        if event.kind in (Kind.READ, Kind.WRITE) and event.address is not None and event.address.is_const:
            physical = memory.physical(event.address.payload, event.size)
            if physical is not None:
                known.append((event, physical))
    for position, (first, low) in enumerate(known):
        for second, start in known[:position]:
            apart = low + first.size <= start or start + second.size <= low
            if not apart and (low, first.size) != (start, second.size):
                return [second, first]
    return []
