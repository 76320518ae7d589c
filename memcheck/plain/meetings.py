"""Which barrier operations meet: one generation, or none, for each arrival (ISA 9.7.15.1 to .3).

The definition, for every rendezvous: an operation that takes part is in one generation or left over; generations
increase along a thread and what is left over comes after all of them; each is exactly full; there are no gaps; and what
is left over could not fill another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import z3

from memcheck.events.structure import Arrival, Rendezvous, RendezvousKind, Structure
from memcheck.plain.algebra import Table
from memcheck.plain.terms import Terms
from memcheck.plain.truth import Truth, at_least, conj, conj_all, disj, disj_all, exactly, implies, neg


@dataclass(slots=True)
class Seat:
    """One arrival: when it takes part, when it is in generation k, when it is left over."""

    arrival: Arrival
    thread: int
    taking_part: Truth
    generation: list[Truth]
    left_over: Truth

    @property
    def event(self) -> int:
        return self.arrival.event


class Meeting:
    """One rendezvous. The variables exist at once; `constraints` need `executed` and `ended`."""

    def __init__(self, structure: Structure, index: int, terms: Terms) -> None:
        self.rendezvous: Rendezvous = structure.rendezvous[index]
        self.peer = self.rendezvous.kind is RendezvousKind.PEER
        self._terms = terms
        arrivals = self.rendezvous.arrivals
        counting = [a for a in arrivals if a.counts]
        self.count = 2 if self.peer else len(counting)
        self.seats: list[Seat] = []
        for position, arrival in enumerate(arrivals):
            name = f"b{index}.{position}"
            generation = [z3.Bool(f"{name}.{k}") for k in range(self.count)]
            thread = structure.events[arrival.event].thread
            self.seats.append(Seat(arrival, thread, False, generation, z3.Bool(f"{name}.left")))
        self.counting = [seat for seat in self.seats if seat.arrival.counts]
        self._ended: Callable[[int], Truth] = bool

    def constraints(self, executed: dict[int, Truth], ended: Callable[[int], Truth]) -> list[Truth]:
        self._ended = ended
        result: list[Truth] = []
        for seat in self.seats:
            seat.taking_part = conj(executed[seat.event], self._terms.truth(seat.arrival.member))
            result.append(implies(seat.taking_part, exactly(1, [*seat.generation, seat.left_over])))
            result += [implies(option, seat.taking_part) for option in (*seat.generation, seat.left_over)]
        if self.peer:
            return result + self._peers()
        result += self._waits_of_arrives()
        result += self._increasing()
        for k in range(self.count):
            result += self._full(k)
        for k in range(1, self.count):
            result.append(implies(self._occupied(k), self._occupied(k - 1)))
        return result + self._maximal()

    def _occupied(self, k: int) -> Truth:
        return disj_all(seat.generation[k] for seat in self.counting)

    def _increasing(self) -> list[Truth]:
        result = []
        for first in self.counting:
            for second in self.counting:
                if first.thread == second.thread and first.event < second.event:
                    for k in range(self.count):
                        result.append(implies(second.generation[k], neg(first.left_over)))
                        result += [neg(conj(second.generation[k], first.generation[m])) for m in range(k, self.count)]
        return result

    def _waits_of_arrives(self) -> list[Truth]:
        """A wait that does not count is in the generation of its thread's latest arrive, left over without one."""
        result = []
        for wait in self.seats:
            if wait.arrival.counts:
                continue
            before = [seat for seat in self.counting if seat.thread == wait.thread and seat.event < wait.event]
            none_since: Truth = wait.taking_part
            for arrive in reversed(before):
                latest = conj(none_since, arrive.taking_part)
                for k in range(self.count):
                    result.append(implies(conj(latest, arrive.generation[k]), wait.generation[k]))
                result.append(implies(conj(latest, arrive.left_over), wait.left_over))
                none_since = conj(none_since, neg(arrive.taking_part))
            result.append(implies(none_since, wait.left_over))
        return result

    def _present(self, thread: int, k: int) -> Truth:
        return disj_all(seat.generation[k] for seat in self.counting if seat.thread == thread)

    def gone(self, thread: int, k: int) -> Truth:
        """The thread has ended, and nothing of it is in generation k or later or left over."""
        later = [
            option
            for seat in self.counting
            if seat.thread == thread
            for option in (*seat.generation[k:], seat.left_over)
        ]
        return conj(self._ended(thread), neg(disj_all(later)))

    def _full(self, k: int) -> list[Truth]:
        units = self.rendezvous.units
        some = [disj_all(self._present(thread, k) for thread in unit) for unit in units]
        result = []
        for unit, one in zip(units, some, strict=True):
            for thread in unit:
                result.append(implies(one, disj(self._present(thread, k), self.gone(thread, k))))
        for seat in self.counting:
            if seat.arrival.needed is None:
                for unit, one in zip(units, some, strict=True):
                    everybody = conj_all(self.gone(thread, k) for thread in unit)
                    result.append(implies(seat.generation[k], disj(one, everybody)))
            else:
                result.append(implies(seat.generation[k], exactly(seat.arrival.needed, some)))
        return result

    def _maximal(self) -> list[Truth]:
        """No further generation could be filled from what is left over.

        It would be one of units that all ask for the same count, or one of all units that are still there, whatever
        count they give, as long as it is theirs. Of each thread only what is left over first could be in it.
        """
        heads = [(seat, self._is_head(seat)) for seat in self.counting]
        counts = {seat.arrival.needed for seat, _ in heads if seat.arrival.needed is not None}
        result = []
        for count in counts:
            alike = [(seat, head) for seat, head in heads if seat.arrival.needed == count]
            result.append(neg(at_least(max(count, 1), [self._ready(unit, alike) for unit in self.rendezvous.units])))
        ready = [self._ready(unit, heads) for unit in self.rendezvous.units]
        absent = [conj_all(self.gone(t, self.count) for t in unit) for unit in self.rendezvous.units]
        everybody = conj_all(disj(r, a) for r, a in zip(ready, absent, strict=True))
        agreed = conj_all(
            implies(head, exactly(seat.arrival.needed, ready))
            for seat, head in heads
            if seat.arrival.needed is not None
        )
        result.append(neg(conj(disj_all(ready), everybody, agreed)))
        return result

    def _is_head(self, seat: Seat) -> Truth:
        """It is left over, and nothing before it in its thread is."""
        earlier = [s.left_over for s in self.counting if s.thread == seat.thread and s.event < seat.event]
        return conj(seat.left_over, neg(disj_all(earlier)))

    def _ready(self, unit: tuple[int, ...], heads: list[tuple[Seat, Truth]]) -> Truth:
        """A thread of the unit has one of the heads, and so has every other or it is gone."""
        here = {t: disj_all(head for seat, head in heads if seat.thread == t) for t in unit}
        complete = conj_all(disj(here[t], self.gone(t, self.count)) for t in unit)
        return conj(disj_all(here.values()), complete)

    def _peers(self) -> list[Truth]:
        """The columns' dialect: one full generation (0), surplus after it (1), by the number of threads asked for."""
        result: list[Truth] = []
        for needed in {seat.arrival.needed for seat in self.seats}:
            group = [seat for seat in self.seats if seat.arrival.needed == needed]
            threads = list(dict.fromkeys(seat.thread for seat in group))
            number = len(threads) if needed is None else needed
            here = [disj_all(s.taking_part for s in group if s.thread == t) for t in threads]
            enough = at_least(number, here)
            for seat in group:
                result.append(
                    implies(
                        seat.taking_part, disj(conj(enough, neg(seat.left_over)), conj(neg(enough), seat.left_over))
                    )
                )
            met = [disj_all(s.generation[0] for s in group if s.thread == t) for t in threads]
            result.append(implies(enough, exactly(number, met)))
            for first in group:
                for second in group:
                    if first.thread == second.thread and first.event < second.event:
                        result.append(neg(conj(first.generation[0], second.generation[0])))
                        result.append(neg(conj(first.generation[1], second.generation[0])))
        return result


class Meetings:
    """All rendezvous of a structure, and the base relations that they make."""

    def __init__(self, structure: Structure, terms: Terms) -> None:
        self.structure = structure
        self.meetings = [Meeting(structure, i, terms) for i in range(len(structure.rendezvous))]

    def left_over(self, event: int) -> Truth:
        return disj_all(seat.left_over for m in self.meetings for seat in m.seats if seat.event == event)

    def met(self, *kinds: RendezvousKind) -> Table:
        """A counting arrival to each other operation that waits for its generation."""
        found: Table = {}
        for meeting in self.meetings:
            if meeting.rendezvous.kind not in kinds:
                continue
            for first in meeting.counting:
                for second in meeting.seats:
                    if second.event != first.event and second.arrival.waits:
                        together = [conj(a, b) for a, b in zip(first.generation, second.generation, strict=True)]
                        if meeting.peer:
                            together = [conj(first.generation[0], disj(*second.generation))]
                        pair = (first.event, second.event)
                        found[pair] = disj(found.get(pair, False), *together)
        return found

    def same_generation(self) -> Table:
        found: Table = {}
        for meeting in self._of_ctas():
            for first in meeting.seats:
                for second in meeting.seats:
                    together = [conj(a, b) for a, b in zip(first.generation, second.generation, strict=True)]
                    pair = (first.event, second.event)
                    found[pair] = disj(found.get(pair, False), *together)
        return found

    def before(self) -> Table:
        """The first is in a generation, the second in a later one or left over: in one that was never full."""
        found: Table = {}
        for meeting in self._of_ctas():
            for first in meeting.seats:
                for second in meeting.seats:
                    if first.event != second.event:
                        ways = [
                            conj(option, disj(*second.generation[k + 1 :], second.left_over))
                            for k, option in enumerate(first.generation)
                        ]
                        pair = (first.event, second.event)
                        found[pair] = disj(found.get(pair, False), *ways)
        return found

    def together(self, rows: Sequence[int]) -> Table:
        """Of the pairs (by row), those of which both take part in one CTA barrier."""
        found: Table = {}
        for meeting in self._of_ctas():
            for first in meeting.seats:
                for second in meeting.seats:
                    if rows[first.event] >> second.event & 1:
                        pair = (first.event, second.event)
                        found[pair] = disj(found.get(pair, False), conj(first.taking_part, second.taking_part))
        return found

    def _of_ctas(self) -> list[Meeting]:
        return [m for m in self.meetings if m.rendezvous.kind is RendezvousKind.CTA]

    def exited(self, executed: dict[int, Truth]) -> Table:
        """Program order of a thread that a generation did not wait for, as it had ended, to the generation's waits."""
        found: Table = {}
        for meeting in self.meetings:
            if meeting.peer:
                continue
            for wait in meeting.seats:
                if not wait.arrival.waits:
                    continue
                for thread, uncounted in self._uncounted(meeting, wait).items():
                    for event in self.structure.events:
                        if event.thread == thread and event.operation is None:
                            pair = (event.index, wait.event)
                            found[pair] = disj(found.get(pair, False), conj(executed[event.index], uncounted))
        return found

    def _uncounted(self, meeting: Meeting, wait: Seat) -> dict[int, Truth]:
        """When each thread was not waited for by the wait's generation."""
        result: dict[int, Truth] = {}
        for unit in meeting.rendezvous.units:
            for thread in unit:
                if thread == wait.thread:
                    continue
                ways = []
                for k, option in enumerate(wait.generation):
                    whole = self._wants_everybody(meeting, k)
                    mates = disj_all(s.generation[k] for s in meeting.counting if s.thread in unit)
                    ways.append(conj(option, disj(whole, mates), meeting.gone(thread, k)))
                result[thread] = disj_all(ways)
        return result

    def _wants_everybody(self, meeting: Meeting, k: int) -> Truth:
        return disj_all(s.generation[k] for s in meeting.counting if s.arrival.needed is None)
