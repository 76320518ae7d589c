"""Which barrier operations meet: the generations of every rendezvous as literals (ISA 9.7.15.1 to .3).

An operation that takes part is in one generation or left over. Generations are full, without gaps, and increase along
each thread; left-over units could not fill another. In ending executions no wait is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.events.structure import Arrival, Rendezvous, RendezvousKind
from memcheck.events.value import Value

EventLiteral = Callable[[int], int]


@dataclass(slots=True)
class Party:
    """One arrival's literals: `member` of the rendezvous and executed, in generation k, left over."""

    arrival: Arrival
    thread: int
    member: int
    generations: dict[int, int] = field(default_factory=dict)
    left: int = FALSE


@dataclass(slots=True)
class Meeting:
    """A rendezvous with its parties. `absent[t, k]`: thread t has exited, without an operation in k or later."""

    rendezvous: Rendezvous
    parties: list[Party]
    absent: dict[tuple[int, int], int] = field(default_factory=dict)


class Generations:
    """The generations of all rendezvous of a structure.

    `executed(event)` and `ended(thread)` are exact literals; `ending`: only executions in which every wait is over.
    """

    def __init__(
        self,
        rendezvous: Sequence[Rendezvous],
        thread_of: Callable[[int], int],
        clauses: Clauses,
        is_true: Callable[[Value], int],
        executed: EventLiteral,
        ended: Callable[[int], int],
        ending: bool,
    ) -> None:
        self.clauses = clauses
        self._ended = ended
        self._ending = ending
        self.meetings: list[Meeting] = []
        for one in rendezvous:
            parties = [
                Party(a, thread_of(a.event), clauses.both((executed(a.event), is_true(a.member)))) for a in one.arrivals
            ]
            meeting = Meeting(one, [p for p in parties if p.member != FALSE])
            self.meetings.append(meeting)
            if one.kind is RendezvousKind.PEER:
                self._meet_peers(meeting)
            else:
                self._meet(meeting)

    # ---- PTX barriers

    def _meet(self, meeting: Meeting) -> None:
        counting = [p for p in meeting.parties if p.arrival.counts]
        count = self._most_generations(meeting, counting)
        self._place(counting, count)
        self._place_waits(meeting, counting)
        self._increase(counting)
        present = [
            [self._present(meeting, counting, unit, k) for unit in meeting.rendezvous.units] for k in range(count)
        ]
        occupied = [self.clauses.either(row) for row in present]
        for k in range(count):
            self._fill(meeting, counting, k, present[k])
            if k:
                self.clauses.require(-occupied[k], occupied[k - 1])
        self._be_maximal(meeting, counting)

    def _most_generations(self, meeting: Meeting, counting: list[Party]) -> int:
        """An upper bound on the number of generations."""
        longest: dict[int, int] = {}
        for party in counting:
            longest[party.thread] = longest.get(party.thread, 0) + 1
        if not longest:
            return 0
        arrivals = sum(max(longest.get(t, 0) for t in unit) for unit in meeting.rendezvous.units)
        # who stays longest is in all those that wait for everybody; the others take so many arrivals each
        counts = [p.arrival.needed for p in counting if p.arrival.needed is not None]
        whole = max(longest.values()) if len(counts) < len(counting) else 0
        return whole + (arrivals // max(1, min(counts)) if counts else 0)

    def _place(self, counting: list[Party], count: int) -> None:
        """Literals of each counting party for the generations that its thread's other operations leave it."""
        clauses = self.clauses
        by_thread: dict[int, list[Party]] = {}
        for party in counting:
            by_thread.setdefault(party.thread, []).append(party)
        for parties in by_thread.values():
            for position, party in enumerate(parties):
                earlier = sum(p.member == TRUE for p in parties[:position])
                later = (
                    sum(p.member == TRUE and p.arrival.waits for p in parties[position + 1 :]) if self._ending else 0
                )
                possible = range(earlier, count - later)
                may_stay = not (self._ending and party.arrival.waits)
                if not possible:
                    party.left = party.member if may_stay else FALSE
                    if not may_stay:
                        clauses.require(-party.member)
                    continue
                if party.member == TRUE and not may_stay and len(possible) == 1:
                    party.generations = {possible[0]: TRUE}
                    continue
                party.generations = {k: clauses.variable() for k in possible}
                if may_stay:
                    party.left = clauses.variable()
                options = [*party.generations.values(), party.left]
                clauses.at_most_one(options)
                clauses.require(-party.member, *options)
                for option in options:
                    clauses.require(-option, party.member)

    def _place_waits(self, meeting: Meeting, counting: list[Party]) -> None:
        """barrier.cluster.wait: in the generation of its thread's latest arrive."""
        clauses = self.clauses
        for wait in meeting.parties:
            if wait.arrival.counts:
                continue
            before = [p for p in counting if p.thread == wait.thread and p.arrival.event < wait.arrival.event]
            terms: dict[int, list[int]] = {}
            left: list[int] = []
            for position, arrive in enumerate(before):
                latest = clauses.both([wait.member, arrive.member, *(-p.member for p in before[position + 1 :])])
                for k, literal in arrive.generations.items():
                    terms.setdefault(k, []).append(clauses.both((latest, literal)))
                left.append(clauses.both((latest, arrive.left)))
            wait.generations = {k: clauses.either(ways) for k, ways in terms.items()}
            left.append(clauses.both([wait.member, *(-p.member for p in before)]))
            wait.left = clauses.either(left)
            if self._ending:
                clauses.require(-wait.left)

    def _increase(self, counting: list[Party]) -> None:
        clauses = self.clauses
        for position, first in enumerate(counting):
            for second in counting[position + 1 :]:
                if second.thread != first.thread:
                    continue
                for k, literal in first.generations.items():
                    for later, other in second.generations.items():
                        if later <= k:
                            clauses.require(-literal, -other)
                for other in second.generations.values():
                    clauses.require(-first.left, -other)

    def _present(self, meeting: Meeting, counting: list[Party], unit: tuple[int, ...], k: int) -> int:
        """Some thread of the unit is in generation k; then all of them are, or have exited."""
        clauses = self.clauses
        there = {t: clauses.either([p.generations.get(k, FALSE) for p in counting if p.thread == t]) for t in unit}
        present = clauses.either(there.values())
        if len(unit) > 1:
            for thread, literal in there.items():
                clauses.require(-present, literal, self._gone(meeting, counting, thread, k))
        return present

    def _gone(self, meeting: Meeting, counting: list[Party], thread: int, k: int) -> int:
        """The thread has ended without an operation in generation k or later, and none left over."""
        found = meeting.absent.get((thread, k))
        if found is None:
            parts = [self._ended(thread)]
            for party in counting:
                if party.thread == thread:
                    parts += [-literal for later, literal in party.generations.items() if later >= k]
                    parts.append(-party.left)
            found = meeting.absent[thread, k] = self.clauses.both(parts)
        return found

    def _unit_gone(self, meeting: Meeting, counting: list[Party], unit: tuple[int, ...], k: int) -> int:
        return self.clauses.both([self._gone(meeting, counting, t, k) for t in unit])

    def _fill(self, meeting: Meeting, counting: list[Party], k: int, present: list[int]) -> None:
        """A generation that anybody is in is exactly full."""
        clauses = self.clauses
        needs = {p.arrival.needed for p in counting if k in p.generations}
        for need in needs:
            here = clauses.either(
                [p.generations[k] for p in counting if k in p.generations and p.arrival.needed == need]
            )
            if need is None:
                for unit, literal in zip(meeting.rendezvous.units, present):
                    if literal != TRUE:
                        clauses.require(-here, literal, self._unit_gone(meeting, counting, unit, k))
            else:
                clauses.require(-here, clauses.exactly(need, present))

    def _be_maximal(self, meeting: Meeting, counting: list[Party]) -> None:
        """What is left over could not fill another generation: neither units that ask for one count, nor all units
        that are still there, if as many as those of them say that name a count.
        """
        clauses = self.clauses
        heads = self._heads(counting)
        if not heads:
            return
        beyond = 1 + max((k for p in counting for k in p.generations), default=0)

        def ready(unit: tuple[int, ...], group: list[tuple[Party, int]]) -> int:
            waiting = [clauses.either([x for p, x in group if p.thread == t]) for t in unit]
            gone = [self._gone(meeting, counting, t, beyond) for t in unit]
            return clauses.both([clauses.either(waiting), *(clauses.either(pair) for pair in zip(waiting, gone))])

        units = meeting.rendezvous.units
        needs = {p.arrival.needed for p, _ in heads}
        for need in needs - {None}:
            alike = [(p, x) for p, x in heads if p.arrival.needed == need]
            clauses.require(-clauses.at_least(max(need or 0, 1), [ready(unit, alike) for unit in units]))
        if None in needs:
            here = [ready(unit, heads) for unit in units]
            gone = [self._unit_gone(meeting, counting, unit, beyond) for unit in units]
            settled = clauses.both([clauses.either(pair) for pair in zip(here, gone)])
            fits = [
                clauses.either((-x, clauses.exactly(p.arrival.needed, here)))
                for p, x in heads
                if p.arrival.needed is not None
            ]
            clauses.require(-clauses.either(here), -settled, *(-x for x in fits))

    def _heads(self, counting: list[Party]) -> list[tuple[Party, int]]:
        """Of each thread its first operation that is left over, as literals; no later one can be met before it."""
        found = []
        for position, party in enumerate(counting):
            before = [-p.left for p in counting[:position] if p.thread == party.thread]
            head = self.clauses.both([party.left, *before])
            if head != FALSE:
                found.append((party, head))
        return found

    # ---- the peers' dialect

    def _meet_peers(self, meeting: Meeting) -> None:
        """One generation of exactly `needed` threads; surplus waits come after it. Not full: waits are left over."""
        clauses, parties = self.clauses, meeting.parties
        for need in {p.arrival.needed for p in parties}:
            group = [p for p in parties if p.arrival.needed == need]
            threads = {p.thread for p in group}
            wanted = len(threads) if need is None else need
            there = [clauses.either([p.member for p in group if p.thread == t]) for t in threads]
            full = clauses.at_least(wanted, there)
            for party in group:
                chosen = clauses.variable()
                clauses.require(-chosen, party.member)
                clauses.require(-chosen, full)
                surplus = clauses.both((party.member, full, -chosen))
                party.generations = {0: chosen, 1: surplus}
                party.left = clauses.both((party.member, -full))
                if self._ending and party.arrival.waits:
                    clauses.require(-party.left)
            for thread in threads:
                clauses.at_most_one([p.generations[0] for p in group if p.thread == thread])
            met = [clauses.either([p.generations[0] for p in group if p.thread == t]) for t in threads]
            clauses.require(-full, clauses.exactly(wanted, met))

    # ---- relations

    def left_over(self, event: int) -> int:
        """The event is left over in some rendezvous."""
        return self.clauses.either([p.left for m in self.meetings for p in m.parties if p.arrival.event == event])

    def synchronizes(self, kinds: tuple[RendezvousKind, ...]) -> dict[tuple[int, int], int]:
        """(arrival, wait) -> literal: they meet; of peers also a full generation's arrivals and surplus waits."""
        ways: dict[tuple[int, int], list[int]] = {}
        for meeting in self.meetings:
            if meeting.rendezvous.kind not in kinds:
                continue
            peer = meeting.rendezvous.kind is RendezvousKind.PEER
            for first in meeting.parties:
                for second in meeting.parties:
                    if first is second or not first.arrival.counts or not second.arrival.waits:
                        continue
                    pair = (first.arrival.event, second.arrival.event)
                    for k, literal in first.generations.items():
                        targets = [second.generations.get(k, FALSE)]
                        if peer:
                            targets = [*second.generations.values()] if k == 0 else []
                        ways.setdefault(pair, []).extend(self.clauses.both((literal, x)) for x in targets)
        return self._either(ways)

    def ordered(self, same: bool) -> dict[tuple[int, int], int]:
        """CTA barriers. `same`: two operations of one generation, and each with itself; else: the first in an earlier.

        What is left over would have been in a later generation than all that came about.
        """
        ways: dict[tuple[int, int], list[int]] = {}
        for meeting in self.meetings:
            if meeting.rendezvous.kind is not RendezvousKind.CTA:
                continue
            for first in meeting.parties:
                for second in meeting.parties:
                    if first is second and not same:
                        continue
                    pair = (first.arrival.event, second.arrival.event)
                    for k, literal in first.generations.items():
                        for other, target in second.generations.items():
                            if (k == other) if same else (k < other):
                                ways.setdefault(pair, []).append(self.clauses.both((literal, target)))
                        if not same and second.left != FALSE:
                            ways.setdefault(pair, []).append(self.clauses.both((literal, second.left)))
        return self._either(ways)

    def together(self, rows: Sequence[int]) -> dict[tuple[int, int], int]:
        """Of the pairs, those of which both take part in one CTA barrier."""
        ways: dict[tuple[int, int], list[int]] = {}
        for meeting in self.meetings:
            for first in meeting.parties if meeting.rendezvous.kind is RendezvousKind.CTA else ():
                for second in meeting.parties:
                    if rows[first.arrival.event] >> second.arrival.event & 1:
                        both = self.clauses.both((first.member, second.member))
                        ways.setdefault((first.arrival.event, second.arrival.event), []).append(both)
        return self._either(ways)

    def exited(self, events_of: Callable[[int], Sequence[int]], executed: EventLiteral) -> dict[tuple[int, int], int]:
        """(event, wait) -> literal: the wait's generation did not count the event's thread, because it had exited."""
        ways: dict[tuple[int, int], list[int]] = {}
        for meeting in self.meetings:
            if meeting.rendezvous.kind not in (RendezvousKind.CTA, RendezvousKind.CLUSTER):
                continue
            counting = [p for p in meeting.parties if p.arrival.counts]
            for wait in meeting.parties:
                if not wait.arrival.waits:
                    continue
                for k, literal in wait.generations.items():
                    for unit in meeting.rendezvous.units:
                        counted = self.clauses.both((literal, self._concerns(counting, wait, unit, k)))
                        for thread in (t for t in unit if t != wait.thread and counted != FALSE):
                            gone = self.clauses.both((counted, self._gone(meeting, counting, thread, k)))
                            if gone != FALSE:
                                for event in events_of(thread):
                                    both = self.clauses.both((gone, executed(event)))
                                    ways.setdefault((event, wait.arrival.event), []).append(both)
        return self._either(ways)

    def _concerns(self, counting: list[Party], wait: Party, unit: tuple[int, ...], k: int) -> int:
        """Generation k looked at the unit: some operation of it is for everybody, or a thread of the unit is in it."""
        if wait.arrival.needed is None:
            return TRUE
        here = [p for p in counting if p.arrival.needed is None or p.thread in unit]
        return self.clauses.either([p.generations.get(k, FALSE) for p in here])

    def _either(self, ways: dict[tuple[int, int], list[int]]) -> dict[tuple[int, int], int]:
        found = {pair: self.clauses.either(literals) for pair, literals in ways.items()}
        return {pair: literal for pair, literal in found.items() if literal != FALSE}
