"""The base sets and relations that are empty in every execution of a structure, as far as a glance can tell."""

from __future__ import annotations

from collections.abc import Iterator

from memcheck.events.generations import SYNCHRONIZES
from memcheck.events.relations import barrier_candidates
from memcheck.events.structure import RendezvousKind, Structure
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.relations.expression import ExprKind

_TAGS = frozenset(n for n, e in VOCABULARY.items() if e.kind is ExprKind.SET and e.source is Source.PROGRAM)
_MARKS = frozenset(n for n, e in VOCABULARY.items() if e.kind is ExprKind.SET and e.source is Source.VALUE)
_OF_SHARED = ("SHARED", "REMOTE", "home")
_OF_OTHER_CTAS = ("REMOTE", "home")
_OF_OPERATIONS = ("issue", "within", "complete")
_OF_CTA_BARRIERS = ("samegen", "bar-before", "rearrive", "mismatch")


def absent(structure: Structure) -> frozenset[str]:
    """Names of the vocabulary that no execution of the structure has anything in."""
    found = structure.memo.get("absent")
    if not isinstance(found, frozenset):
        found = structure.memo["absent"] = frozenset(_absent(structure))
    return found


def _absent(structure: Structure) -> Iterator[str]:
    tags = frozenset().union(*{event.tags for event in structure.events})
    yield from _TAGS - tags
    marks = {name for event in structure.events for name in event.marks or ()}
    yield from _MARKS - marks
    if all(region.cta is None for region in structure.memory.regions):
        yield from _OF_SHARED
    if not structure.blocking and not structure.bounds:
        yield "UNENDED"
    if len({thread.place.cta for thread in structure.test.threads}) == 1:
        yield from _OF_OTHER_CTAS
    if "F" not in tags:
        yield "covers"
    if sum("SC" in event.tags for event in structure.events) < 2:
        yield "sync_fence"
    if all(event.rmw is None for event in structure.events):
        yield "rmw"
    if not structure.operations:
        yield from _OF_OPERATIONS
    if not structure.grouped:
        yield "grouped"
    if not structure.grids:
        yield from ("grid", "launch", "dependents")
    kinds = {meeting.kind for meeting in structure.rendezvous}
    yield from (name for name, of in SYNCHRONIZES.items() if not kinds & set(of))
    if not kinds & {RendezvousKind.CTA, RendezvousKind.CLUSTER}:
        yield "exited"
    if RendezvousKind.CTA not in kinds:
        yield from _OF_CTA_BARRIERS
    else:
        yield from (name for name in ("rearrive", "mismatch") if not any(barrier_candidates(structure, name)))
