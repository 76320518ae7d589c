"""The words that an mbarrier can have before and after each operation on it, whatever the order they come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product

from memcheck.errors import TooLargeError
from memcheck.events.structure import Event, Kind, Structure
from memcheck.events.value import evaluate
from memcheck.reference.assignments import choices_in
from memcheck.reference.mbarriers import SIZE, precedes

MAX_STATES = 20_000


def merged(word: int, low: int, size: int, number: int) -> int:
    """A word in which `size` bytes from byte `low` on (perhaps before its first) are overwritten by a number."""
    mask = (1 << 8 * size) - 1
    if low < 0:
        mask, number, low = mask >> -8 * low, number >> -8 * low, 0
    shifted = mask << 8 * low & (1 << 8 * SIZE) - 1
    return word & ~shifted | number << 8 * low & shifted


class Words:
    """Of one object: `before[r]` of the read of an operation, `after[w]` of its write."""

    def __init__(self, structure: Structure, place: int, events: Sequence[Event]) -> None:
        self.structure = structure
        self.place = place
        self.writes = [e for e in events if e.kind is Kind.WRITE]
        self.reads = [e for e in events if e.kind is Kind.READ]
        self.firm = [w for w in self.writes if w.guard.is_const]
        self.before: dict[int, set[int]] = {r.index: set() for r in self.reads}
        self.after: dict[int, set[int]] = {w.index: set() for w in self.writes}

    def grow(self, others: Mapping[int, Iterable[tuple[int, int, int]]], reads: Mapping[int, Iterable[int]]) -> None:
        """`others`: by ordinary write on these bytes first byte, size and number; `reads`: what other reads return."""
        first = self.structure.memory.initial_value(self.place, SIZE)
        seen = {(frozenset[int](), first)}
        pending = list(seen)
        while pending:
            done, word = pending.pop()
            for read in self.reads:
                if read.index + 1 not in done and self._can_come(read, done):
                    self.before[read.index].add(word)
            following: list[tuple[int, int]] = []
            for write in self.writes:
                if write.index not in done and self._can_come(write, done):
                    results = self._results(write, word, reads)
                    self.after[write.index] |= results
                    following += [(write.index, result) for result in results]
            for index, stores in others.items():
                if index not in done:
                    following += [(index, merged(word, *store)) for store in stores]
            for index, result in following:
                state = (done | {index}, result)
                if state not in seen:
                    seen.add(state)
                    pending.append(state)
            if len(seen) > MAX_STATES:
                raise TooLargeError(f"an mbarrier can be in more than {MAX_STATES} states.")

    def _can_come(self, event: Event, done: Set[int]) -> bool:
        return all(w.index in done for w in self.firm if precedes(w, event))

    def _results(self, write: Event, word: int, reads: Mapping[int, Iterable[int]]) -> set[int]:
        assert write.value is not None
        looked_at = sorted(write.value.support - {write.rmw})
        chosen = sorted(choices_in([write.value]))
        domains = self.structure.choice_domains
        return {
            evaluate(
                write.value,
                {**dict(zip(looked_at, numbers)), **({} if write.rmw is None else {write.rmw: word})},
                dict(zip(chosen, numbers[len(looked_at) :])),
            )
            for numbers in product(*(reads[r] for r in looked_at), *(domains[c] for c in chosen))
        }
