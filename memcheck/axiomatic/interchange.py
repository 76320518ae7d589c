"""Operations on one mbarrier that could change places: only one of their orders is looked at.

Two neighbours in the chain of operations on an mbarrier give nothing back, and make the same word of the one that the
first finds whichever of them comes first. Where causality does not keep the second behind the first, and nobody else
has read the word between them, they can change places: whoever observes one observes both (ISA 8.9.2), and neither
thread sees anything else than before, since what is like a reduction is in no acquire pattern (8.8, 8.11.1). So of
executions that differ in such places only the one counts in which the events come by their numbers; else as many
arrivals as a CTA has warps would come in all their orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from memcheck.axiomatic.clauses import FALSE
from memcheck.axiomatic.reads import Reads
from memcheck.axiomatic.relations import Node, Relations
from memcheck.events import phase
from memcheck.events.structure import INITIAL, Event, Kind
from memcheck.events.value import evaluate

_LIFE = {"INIT", "INVAL"}


class Interchange:
    """`causality`: the order that keeps an operation behind another; `size`: of its rows."""

    def __init__(self, reads: Reads, relations: Relations, causality: Node, size: int) -> None:
        self.reads = reads
        self.events = reads.events
        self.relations = relations
        self.causality = causality
        self.size = size

    def require(self) -> None:
        """No operation comes right behind one of a later event with which it could change places."""
        words: dict[int, list[Event]] = {}
        for event in self.events:
            if self._returns_nothing(event):
                (cell,) = self.reads.accesses.cells_of(event.index)
                words.setdefault(cell, []).append(event)
        for cell, operations in words.items():
            if len(operations) > 1 and self._is_for_mbarriers(cell):
                waits = [
                    table
                    for (read, place), table in self.reads.sources.items()
                    if place == cell and "RMW" not in self.events[read].tags
                ]
                for first, second in combinations(operations, 2):
                    self._forbid(cell, second, first, waits)

    def _returns_nothing(self, event: Event) -> bool:
        """Whether it is the write of an operation on one mbarrier that surely happens, and gives back no state."""
        return (
            event.kind is Kind.WRITE
            and {"MBAR", "RED"} <= event.tags
            and not event.tags & _LIFE
            and event.guard.is_const
            and bool(event.guard.payload)
            and event.address is not None
            and event.address.is_const
            and len(self.reads.accesses.cells_of(event.index)) == 1
            and event.value is not None
            and event.value.support == {event.rmw}
        )

    def _is_for_mbarriers(self, cell: int) -> bool:
        """Whether nothing but operations on mbarriers touches the cell."""
        reads = (read for read, place in self.reads.sources if place == cell)
        return all(
            event == INITIAL or "MBAR" in self.events[event].tags
            for event in (*reads, *self.reads.accesses.writers(cell))
        )

    def _forbid(self, cell: int, earlier: Event, later: Event, waits: Sequence[Mapping[int, int]]) -> None:
        """That the later one reads the earlier one, unless that is so for a reason.

        `waits`: from where those read who only look.
        """
        sources, clauses = self.reads.sources, self.reads.clauses
        assert earlier.rmw is not None
        assert later.rmw is not None
        next_to = sources[later.rmw, cell].get(earlier.index, FALSE)
        if next_to == FALSE:
            return
        found = self.events[earlier.rmw].value
        assert found is not None
        words = self.reads.values.of(found)
        fixed = [literal for word, literal in words.items() if not _commute(word, earlier, later)]
        if len(fixed) == len(words):
            return
        ordered = self.relations.lower(self.causality, earlier.index * self.size + later.rmw)
        readers = (table.get(earlier.index, FALSE) for table in waits)
        clauses.require(-next_to, ordered, *readers, *fixed)


def _commute(word: int, first: Event, second: Event) -> bool:
    """Whether two operations make the same of a word in either order, and the mbarrier stays a live one."""
    one, other = _after(first, word), _after(second, word)
    both = _after(second, one)
    return both == _after(first, other) and all(phase.counts(made) is not None for made in (one, other, both))


def _after(operation: Event, word: int) -> int:
    """The word that an operation makes of one."""
    assert operation.value is not None
    assert operation.rmw is not None
    return evaluate(operation.value, {operation.rmw: word}, {}, {})
