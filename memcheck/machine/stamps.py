"""Memory that invalidates exactly: an acquire waits for what the release that it observes has known, and for no more.

Every write to a line gives it the next stamp, which the machine's `clock` counts. A write reaches the caches of other
SMs at any time: each may still serve, also to a strong load, every version from the one on that it has to know, its
`floor` for the line. Own writes raise an SM's floor, strong loads of strong writes do, and acquires raise the floors of
all lines to those that the release had in its SM and sent along with what it wrote. The fences of fence.sc hand their
floors on from one to the next, in `order`.

Floors and clock are kept as one number, a few bits for each line. For tests on one GPU whose strong loads all go to
global memory, by one address each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memcheck.machine.layout import Layout
from memcheck.machine.levels import GPU, Levels
from memcheck.machine.memory import Memory, Reading, overlaid
from memcheck.machine.state import Held, Location, State

BITS = 6
"""Of a stamp."""
MASK = (1 << BITS) - 1
LONGEST = 8
"""Of the versions that a cache may have of a line: older ones go."""
_STRONG = 2
_STAMP = 2


class StampedMemory(Memory):
    """`lines`: those with stamps. `last`: the stamp at which all caches of a line are emptied, to count from 0 anew."""

    def __init__(self, levels: Levels, layout: Layout, lines: Iterable[int], carries: bool, last: int) -> None:
        super().__init__(levels, layout)
        self.index = {line: number for number, line in enumerate(lines)}
        self.carries = carries
        self.orders = True
        self.last = last
        self.carried_at = _STAMP + BITS
        self.shift = self.carried_at + BITS * len(self.index)
        self.all_bits = (1 << BITS * len(self.index)) - 1

    # ---- numbers of several stamps

    def joined(self, a: int, b: int) -> int:
        """The later of each line's two stamps."""
        if a == b or not b:
            return a
        if not a:
            return b
        result = 0
        for at in range(0, BITS * len(self.index), BITS):
            result |= max(a >> at & MASK, b >> at & MASK) << at
        return result

    @staticmethod
    def _raised_to(stamps: int, number: int, stamp: int) -> int:
        at = BITS * number
        return stamps if stamps >> at & MASK >= stamp else stamps & ~(MASK << at) | stamp << at

    def _stamp(self, version: int) -> int:
        return version >> _STAMP & MASK

    def _carried(self, version: int) -> int:
        return version >> self.carried_at & self.all_bits

    # ---- reading

    def read(self, state: State, thread: int, location: Location, level: int) -> list[Reading]:
        number = self.index.get(location.line)
        if number is None:
            return super().read(state, thread, location, level)
        sm = self.levels.sm[thread]
        position = self.place[sm][location.view]
        here = state.sms[sm]
        found: list[Reading] = []
        seen: set[int] = set()
        for i, version in enumerate(here.views[position]):
            strong = level >= GPU and version & _STRONG
            if level >= GPU:
                value = location.extract(version >> self.shift)
            else:
                value = location.extract(overlaid(version >> self.shift, here.held, location))
            if not strong:
                if value not in seen:
                    found.append((value, state))
                seen.add(value)
                continue
            found.append((value, self._observed(state, thread, location, number, i)))
        return found

    def _observed(self, state: State, thread: int, location: Location, number: int, i: int) -> State:
        """A strong load or atomic has read a strong write: the SM knows it, the thread what comes along."""
        sm = self.levels.sm[thread]
        position = self.place[sm][location.view]
        here = state.sms[sm]
        versions = here.views[position]
        floors = self._raised_to(here.floors, number, self._stamp(versions[i]))
        if floors != here.floors:
            state = self._with_sm(state, sm, here._replace(floors=floors))
        if i:
            state = self._with_versions(state, sm, position, versions[i:])
        return self._noted(state, thread, location.view, self._carried(versions[i]))

    def _noted(self, state: State, thread: int, view: int, carried: int) -> State:
        if not carried:
            return state
        here = state.threads[thread]
        seen = dict(here.seen)
        seen[view] = self.joined(seen.get(view, 0), carried)
        return state.with_thread(thread, here._replace(seen=tuple(sorted(seen.items()))))

    # ---- writing

    def _raise(self, state: State, sm: int, held: Held) -> State:
        location = held.location
        assert location is not None
        if location.line not in self.index:
            return super()._raise(state, sm, held)
        carried = state.sms[sm].floors if held.releases and self.carries else 0
        return self._commit(state, sm, location, held.value, held.strong and held.level >= GPU, carried)

    def _commit(self, state: State, sm: int, location: Location, value: int, strong: bool, carried: int) -> State:
        """A write is the newest version of its line."""
        line = location.line
        number = self.index[line]
        at = BITS * number
        if state.clock >> at & MASK >= self.last:
            state = self._emptied(state, number)
            carried &= ~(MASK << at)
        stamp = (state.clock >> at & MASK) + 1
        whole = location.insert(state.memory[line], value)
        memory = (*state.memory[:line], whole, *state.memory[line + 1 :])
        state = state._replace(memory=memory, clock=self._raised_to(state.clock, number, stamp))
        here = state.sms[sm]
        state = self._with_sm(state, sm, here._replace(floors=self._raised_to(here.floors, number, stamp)))
        full = location.mask + 1 >> 8 * self.layout.lines[line].size
        if not full:
            carried, strong = self._rest(state, line, carried, strong)
        new = whole << self.shift | carried << self.carried_at | stamp << _STAMP | (_STRONG if strong else 0)
        for other in range(len(self.levels.ctas)):
            for _, position in self.over[other].get(line, ()):
                versions = state.sms[other].views[position]
                if other == sm:
                    mask = (1 << self.shift) - 1
                    older = () if full else versions
                    versions = (*(location.insert(v >> self.shift, value) << self.shift | v & mask for v in older), new)
                elif not self._same(versions[-1], new):
                    versions = (*versions[-LONGEST + 1 :], new)
                if len(versions) > 1 and not self.alive(state, other) >> line & 1:
                    versions = (versions[-1],)
                state = self._with_versions(state, other, position, versions)
        return state

    def _rest(self, state: State, line: int, carried: int, strong: bool) -> tuple[int, bool]:
        """What comes along with a write to a part of a line, as one version has that of all its bytes."""
        for sm in range(len(self.levels.ctas)):
            for _, position in self.over[sm].get(line, ()):
                version = state.sms[sm].views[position][-1]
                carried = self.joined(carried, self._carried(version))
                strong = strong or bool(version & _STRONG)
        return carried, strong

    def _same(self, a: int, b: int) -> bool:
        """Whether two versions that follow one another differ in their stamps alone."""
        return (a ^ b) & ~(MASK << _STAMP) == 0

    def _emptied(self, state: State, number: int) -> State:
        """All caches of a line are emptied; its stamps begin anew."""
        kept = ~(MASK << BITS * number)
        line = next(line for line, other in self.index.items() if other == number)
        for sm in range(len(self.levels.ctas)):
            positions = {position for _, position in self.over[sm].get(line, ())}
            views = tuple(
                tuple(self._without(version, number, p in positions) for version in (v[-1:] if p in positions else v))
                for p, v in enumerate(state.sms[sm].views)
            )
            here = state.sms[sm]
            state = self._with_sm(state, sm, here._replace(views=views, floors=here.floors & kept))
        threads = tuple(t._replace(seen=tuple((v, s & kept) for v, s in t.seen)) for t in state.threads)
        return state._replace(threads=threads, clock=state.clock & kept, order=state.order & kept)

    def _without(self, version: int, number: int, own: bool) -> int:
        version &= ~(MASK << self.carried_at + BITS * number)
        return version & ~(MASK << _STAMP) if own else version

    def update(
        self, state: State, thread: int, location: Location, level: int, function: Callable[[int], int | None],
        releases: bool = False, observes: bool = False,
    ) -> list[Reading]:  # fmt: skip
        number = self.index.get(location.line)
        if number is None or level < GPU:
            return super().update(state, thread, location, level, function)
        sm = self.levels.sm[thread]
        versions = state.sms[sm].views[self.place[sm][location.view]]
        # weak writes may come between the two halves of an atomic
        first = next((i for i in range(len(versions) - 1, 0, -1) if versions[i] & _STRONG), 0)
        found = []
        for i in range(first, len(versions)):
            old = location.extract(versions[i] >> self.shift)
            after, carried = state, 0
            if versions[i] & _STRONG:
                carried = self._carried(versions[i])
                if observes:
                    after = self._observed(state, thread, location, number, i)
            new = function(old)
            if new is not None:
                if releases and self.carries:
                    carried = self.joined(carried, after.sms[sm].floors)
                after = self._commit(after, sm, location, new, True, carried)
            found.append((old, after))
        return found

    # ---- synchronising

    def _know(self, state: State, sm: int, stamps: int) -> State:
        """Raises the floors of an SM, and drops what its caches may no longer serve."""
        here = state.sms[sm]
        floors = self.joined(here.floors, stamps)
        if floors == here.floors:
            return state
        views = tuple(
            self._from_floor(view, versions, floors)
            for view, versions in zip(self.tracked[sm], here.views, strict=True)
        )
        return self._with_sm(state, sm, here._replace(floors=floors, views=views))

    def _from_floor(self, view: int, versions: tuple[int, ...], floors: int) -> tuple[int, ...]:
        number = self.index.get(self.layout.views[view].line)
        if number is None:
            return versions
        floor = floors >> BITS * number & MASK
        first = 0
        while first + 1 < len(versions) and self._stamp(versions[first + 1]) <= floor:
            first += 1
        return versions[first:]

    def acquire_at(self, state: State, thread: int, level: int, location: Location) -> State:
        if level < GPU:
            return state
        sm = self.levels.sm[thread]
        state = self._know(state, sm, dict(state.threads[thread].seen).get(location.view, 0))
        return self._plainly(state, sm)

    def acquire_seen(self, state: State, thread: int, level: int) -> State:
        if level < GPU:
            return state
        return self._all_seen(state, thread)

    def _all_seen(self, state: State, thread: int) -> State:
        sm = self.levels.sm[thread]
        here = state.threads[thread]
        for _, stamps in here.seen:
            state = self._know(state, sm, stamps)
        return self._plainly(state.with_thread(thread, here._replace(seen=())), sm)

    def acquire_in_order(self, state: State, thread: int, level: int) -> State:
        if level < GPU:
            return state
        sm = self.levels.sm[thread]
        state = self._know(self._all_seen(state, thread), sm, state.order)
        return state._replace(order=self.joined(state.order, state.sms[sm].floors))

    def _plainly(self, state: State, sm: int) -> State:
        """Lines without stamps: their caches are emptied."""
        for view, position in self.place[sm].items():
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and self.layout.views[view].line not in self.index and self.is_generic(view):
                state = self._with_versions(state, sm, position, self._from_mark(versions))
        return state

    def acquire(self, state: State, thread: int, level: int) -> State:
        if level < GPU:
            return state
        sm = self.levels.sm[thread]
        return self._plainly(self._know(state, sm, state.clock), sm)

    def empty_caches(self, state: State, sm: int) -> State:
        return super().empty_caches(self._know(state, sm, state.clock), sm)

    def forget(self, state: State, sm: int) -> State:
        """What nobody uses again is no difference between states."""
        uses = 0
        for thread in self.levels.threads_of_sm[sm]:
            may = self.may(state, thread)
            here = state.threads[thread]
            if here.seen and not may & 1:
                state = state.with_thread(thread, here._replace(seen=()))
            uses |= may
        here_sm = state.sms[sm]
        if here_sm.floors:
            kept = self._in_use(state) if uses & 2 or any(held.releases for held in here_sm.held) else 0
            if here_sm.floors & ~kept:
                state = self._with_sm(state, sm, here_sm._replace(floors=here_sm.floors & kept))
        if state.order:
            threads = range(len(state.threads))
            kept = self._in_use(state) if any(self.may(state, thread) & 4 for thread in threads) else 0
            if state.order & ~kept:
                state = state._replace(order=state.order & kept)
        return super().forget(state, sm)

    def _in_use(self, state: State) -> int:
        """The bits of lines that some thread may still look at."""
        lines = 0
        for thread in range(len(state.threads)):
            lines |= self.future(state, thread)[0]
        return sum(MASK << BITS * number for line, number in self.index.items() if lines >> line & 1)
