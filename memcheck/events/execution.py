"""A candidate execution: an event structure and every choice made (rf, co, Fence-SC, generations, final bytes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memcheck.events.structure import Structure


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """`executed` has W0. `reads` and `choices` give values; addresses and written values follow from them.

    `rf[(read, i)]` is the write that byte i of the read comes from; `co` is a strict partial order (transitive).
    `fence_order`: all executed fence.sc, first to last. `generations[(r, e)]`: the generation of event e in
    `structure.rendezvous[r]`, missing where it was left over. `final[b]`: the write behind final physical byte b,
    for every byte that an event may access or that is observed.
    """

    structure: Structure
    executed: frozenset[int]
    reads: Mapping[int, int]
    choices: Mapping[int, int]
    rf: Mapping[tuple[int, int], int]
    co: frozenset[tuple[int, int]]
    fence_order: tuple[int, ...]
    generations: Mapping[tuple[int, int], int]
    final: Mapping[int, int]
