"""Whether a model has rules for everything that a test does."""

from __future__ import annotations

from memcheck.events.domains import analyse
from memcheck.events.structure import Event, Kind, Structure
from memcheck.ptx.instructions import Fence, Restriction
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
    stray = _beyond_restriction(structure)
    if stray:
        words = f"{model.name} cannot tell .sync_restrict::shared::cta from shared memory of another CTA"
        found.append(remark(structure, "not in this model", words, stray))
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


def _beyond_restriction(structure: Structure) -> list[Event]:
    """A fence limited to its own CTA's shared memory, and an access that may be to another CTA's."""
    for fence in structure.events:
        instruction = fence.instruction
        if isinstance(instruction, Fence) and instruction.restriction is Restriction.SHARED_CTA:
            mine = structure.test.threads[fence.thread].place.cta
            for event in structure.events:
                if _shared_ctas(structure, event) - {mine}:
                    return [fence, event]
    return []


def _shared_ctas(structure: Structure, event: Event) -> set[int]:
    """The CTAs whose shared memory the event may access."""
    if event.kind not in (Kind.READ, Kind.WRITE) or event.address is None:
        return set()
    fixed = event.address.is_const
    places = (event.address.payload,) if fixed else analyse(structure).addresses[event.index]
    regions = [structure.memory.region(address, event.size) for address in places]
    return {region.cta for region in regions if region is not None and region.cta is not None}
