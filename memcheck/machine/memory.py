"""The memory of the machine: writes on their way from the threads' windows to the system, and what loads find.

A write moves up one level at a time, in any order but for overlapping bytes and the markers of releases. At each level
that it reaches it changes the copy that is there, and leaves those of other SMs and GPUs as they are.

A cache of an SM fills a line at any time. When, is decided by the load that hits it: until then the line is any of the
values that the level above has had since an acquire emptied the cache. Caches are tagged by virtual address, and each
proxy has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memcheck.machine.layout import Layout
from memcheck.machine.levels import ALONE, GPU, SM, SYSTEM, Levels
from memcheck.machine.operations import Move
from memcheck.machine.state import Held, Level, Location, State
from memcheck.ptx.qualifiers import Proxy

Reading = tuple[int, State]
"""A value that an access finds, and the state after it has."""


class Memory:
    """`settle`: what threads do by themselves once writes have moved (set by the machine)."""

    def __init__(self, levels: Levels, layout: Layout) -> None:
        self.several = 0
        """The lines with several views, as bits."""
        self.orders = False
        """Fences of fence.sc hand on what they know: which is first makes a difference."""
        self.shift = 1
        """In a version of a line, the bits below its value."""
        self.levels = levels
        self.layout = layout
        self.home = tuple(None if line.cta is None else levels.ctas.index(line.cta) for line in layout.lines)
        """The SM that has a line of shared memory."""
        self.tracked: list[list[int]] = [[] for _ in levels.ctas]
        self.place: list[dict[int, int]] = [{} for _ in levels.ctas]
        self.over: list[dict[int, list[tuple[int, int]]]] = [{} for _ in levels.ctas]
        """By SM and line: the tracked views over it, with their positions."""
        self.settle: Callable[[State, Iterable[int]], State] = lambda state, _threads: state
        self.alive: Callable[[State, int], int] = lambda _state, _sm: -1
        """By SM: the lines that a thread of it may still look at, as bits."""
        self.wanted: Callable[[State, int, int], bool] = lambda _state, _gpu, _line: True
        """Whether a thread below an L2 may still look at a line."""
        self.written: Callable[[State, int], bool] = lambda _state, _line: True
        """Whether somebody may still write to a line, or holds a write to it."""
        self.may: Callable[[State, int], int] = lambda _state, _thread: -1
        """What a thread may still do: 1 for acquire, 2 for hand on what it knows, 4 for a fence.sc."""
        self.future: Callable[[State, int], tuple[int, int]] = lambda _state, _thread: (-1, -1)
        """The lines that a thread may still read and write, as bits."""
        self.spins = [False] * len(levels.ctas)
        """The SMs with a thread that goes round in a loop."""

    def track(self, sm: int, view: int) -> None:
        """The SM has a thread that may find a stale value at the view."""
        if view not in self.place[sm]:
            position = self.place[sm][view] = len(self.tracked[sm])
            self.tracked[sm].append(view)
            self.over[sm].setdefault(self.layout.views[view].line, []).append((view, position))

    def initial(self) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
        """The SMs and L2s at the start: any line may be in any cache."""
        start = self.layout.initial
        sms = tuple(
            Level(views=tuple((start[self.layout.views[view].line] << self.shift,) for view in views))
            for views in self.tracked
        )
        return sms, tuple(Level(lines=start) for _ in self.levels.gpus)

    # ---- looking

    def above(self, state: State, sm: int) -> tuple[int, ...]:
        """The lines of the level above an SM."""
        gpu = self.levels.gpu[sm]
        return state.memory if gpu is None else state.gpus[gpu].lines

    def clear(self, state: State, sm: int, location: Location, level: int) -> bool:
        """Whether no write to the bytes, by the same address, is still held below a level."""
        if level < GPU or self.home[location.line] is not None:
            return True
        if _holds(state.sms[sm].held, location):
            return False
        gpu = self.levels.gpu[sm]
        return level < SYSTEM or gpu is None or not _holds(state.gpus[gpu].held, location)

    def released(self, state: State, thread: int, level: int) -> bool:
        """Whether no marker of the thread is held below a level."""
        sm = self.levels.sm[thread]
        if level >= GPU and any(h.location is None and h.thread == thread for h in state.sms[sm].held):
            return False
        gpu = self.levels.gpu[sm]
        return (
            level < SYSTEM
            or gpu is None
            or not any(h.location is None and h.thread == thread for h in state.gpus[gpu].held)
        )

    def flushed(self, state: State, sm: int, level: int) -> bool:
        """Whether nothing is held below a level on the way up from an SM."""
        if level >= GPU and state.sms[sm].held:
            return False
        gpu = self.levels.gpu[sm]
        return level < SYSTEM or gpu is None or not state.gpus[gpu].held

    def value(self, version: int) -> int:
        """The value of a version of a line."""
        return version >> self.shift

    def read(self, state: State, thread: int, location: Location, level: int) -> list[Reading]:
        """What a load served at a level finds: for ALONE whatever a cache may have, from SM up the copy there."""
        sm = self.levels.sm[thread]
        line, view = location.line, location.view
        position = self.place[sm].get(view)
        shared = self.home[line] is not None
        aliased = self.several >> line & 1 and self.levels.gpu[sm] is None
        if position is None or (level >= GPU and not shared and not aliased):
            return [self._newest(state, sm, location, position, level, shared)]
        if level > ALONE and aliased:
            return self._aliased(state, sm, location, position)
        here = state.sms[sm]
        versions = here.views[position]
        found: list[Reading] = []
        seen: set[int] = set()
        last = len(versions) - 1
        for i, version in enumerate(versions):
            value = location.extract(overlaid(version >> self.shift, here.held, location))
            if value in seen:
                continue
            seen.add(value)
            after = state
            if i and (i < last or level >= SM):
                after = self._with_versions(state, sm, position, _trimmed(versions[i:]))
            found.append((value, after))
        return found

    def _aliased(self, state: State, sm: int, location: Location, position: int) -> list[Reading]:
        """What a strong load finds that knows nothing of writes to other addresses, or by other proxies."""
        here = state.sms[sm]
        versions = here.views[position]
        found: list[Reading] = []
        for i, version in enumerate(versions):
            after = state
            if i and version & 1:
                after = self._with_versions(state, sm, position, _trimmed(versions[i:]))
            found.append((location.extract(overlaid(version >> self.shift, here.held, location)), after))
        return found

    def _newest(
        self, state: State, sm: int, location: Location, position: int | None, level: int, shared: bool
    ) -> Reading:
        line = location.line
        if shared:
            return location.extract(state.memory[line]), state
        if level < GPU:
            return location.extract(overlaid(self.above(state, sm)[line], state.sms[sm].held, location)), state
        gpu = self.levels.gpu[sm]
        if level >= SYSTEM and gpu is not None:
            state = self.fill(state, gpu, line)
        value = location.extract(self.above(state, sm)[line])
        if position is not None:
            versions = state.sms[sm].views[position]
            if len(versions) > 1:
                state = self._with_versions(state, sm, position, versions[-1:])
        return value, state

    # ---- writing

    def write(
        self, state: State, thread: int, location: Location, value: int, strong: bool,
        level: int = 0, releases: bool = False,
    ) -> State:  # fmt: skip
        """A write leaves its thread's window."""
        sm = self.levels.sm[thread]
        if self.home[location.line] is not None:
            return self._put(state, sm, location, value, range(len(self.levels.ctas)))
        if self.levels.staged[sm]:
            return self._hold(state, sm, Held(thread, location, value, strong, level, releases))
        return self._raise(state, sm, Held(thread, location, value, strong, level, releases))

    def _hold(self, state: State, sm: int, held: Held) -> State:
        here = state.sms[sm]
        return self._with_sm(state, sm, here._replace(held=(*here.held, held)))

    def _raise(self, state: State, sm: int, held: Held) -> State:
        """A write goes from an SM to the level above."""
        location = held.location
        assert location is not None
        gpu = self.levels.gpu[sm]
        if gpu is None:
            return self._put(state, sm, location, held.value, self.levels.below_memory)
        l2 = state.gpus[gpu]
        old = l2.lines[location.line]
        l2 = l2._replace(lines=_with(l2.lines, location.line, location.insert(old, held.value)), held=(*l2.held, held))
        state = self._with_gpu(state, gpu, l2)
        return self._spread(state, self.levels.sms_of_gpu[gpu], location, held.value, sm)

    def _put(self, state: State, sm: int | None, location: Location, value: int, sms: Iterable[int]) -> State:
        """A write reaches memory."""
        line = location.line
        memory = _with(state.memory, line, location.insert(state.memory[line], value))
        return self._spread(state._replace(memory=memory), sms, location, value, sm)

    def _spread(self, state: State, sms: Iterable[int], location: Location, value: int, writer: int | None) -> State:
        """The level above some SMs has changed: their caches may have the new value too, the writer's has."""
        for sm in sms:
            for view, position in self.over[sm].get(location.line, ()):
                versions = state.sms[sm].views[position]
                same = view == location.view
                if same and sm == writer:
                    versions = self._merged(
                        location.insert(v >> self.shift, value) << self.shift | v & 1 for v in versions
                    )
                    versions = (*versions[:-1], versions[-1] | 1)
                else:
                    lines = state.memory if self.home[location.line] is not None else self.above(state, sm)
                    new = lines[location.line] << self.shift | (same and self.is_generic(view))
                    versions = self._merged((*versions, new))
                state = self._with_versions(state, sm, position, self._trimmed_to(state, sm, position, versions))
        return state

    def _trimmed_to(self, state: State, sm: int, position: int, versions: tuple[int, ...]) -> tuple[int, ...]:
        if len(versions) > 1 and not self.alive(state, sm) >> self._line(sm, position) & 1:
            return (versions[-1] & ~1,)
        return _trimmed(versions)

    def _line(self, sm: int, position: int) -> int:
        return self.layout.views[self.tracked[sm][position]].line

    def _merged(self, versions: Iterable[int]) -> tuple[int, ...]:
        """Without repetitions in a row; that an acquire may not go behind a value is kept."""
        kept: list[int] = []
        for version in versions:
            if kept and kept[-1] >> 1 == version >> 1:
                kept[-1] |= version & 1
            else:
                kept.append(version)
        return tuple(kept)

    def is_generic(self, view: int) -> bool:
        """Whether acquires of memory empty the cache that has the view."""
        return self.layout.views[view].proxy is Proxy.GENERIC

    def update(
        self, state: State, thread: int, location: Location, level: int, function: Callable[[int], int | None],
        releases: bool = False, observes: bool = False,
    ) -> list[Reading]:  # fmt: skip
        """An atomic at a level from SM up: what it finds, and the state with what `function` makes of that."""
        del releases, observes
        sm = self.levels.sm[thread]
        if level < GPU or self.home[location.line] is not None:
            found = []
            shared = self.home[location.line] is not None
            if shared:
                newest = self._newest(state, sm, location, self.place[sm].get(location.view), level, True)
            for old, after in (newest,) if shared else self.read(state, thread, location, level):
                new = function(old)
                found.append((old, after if new is None else self.write(after, thread, location, new, True)))
            return found
        position = self.place[sm].get(location.view)
        old, state = self._newest(state, sm, location, position, level, False)
        new = function(old)
        if new is None:
            return [(old, state)]
        gpu = self.levels.gpu[sm]
        if gpu is not None and level < SYSTEM:
            return [(old, self._raise(state, sm, Held(thread, location, new, True)))]
        state = self._put(state, sm, location, new, self.levels.below_memory)
        if gpu is not None:
            l2 = state.gpus[gpu]
            value = location.insert(l2.lines[location.line], new)
            state = self._with_gpu(state, gpu, l2._replace(lines=_with(l2.lines, location.line, value)))
            state = self._spread(state, self.levels.sms_of_gpu[gpu], location, new, sm)
        return [(old, state)]

    def marker(self, state: State, thread: int, level: int) -> State:
        """A release whose thread has nothing before it any more: writes held below its level are before it too."""
        sm = self.levels.sm[thread]
        if level < GPU:
            return state
        if state.sms[sm].held:
            return self._hold(state, sm, Held(thread, None, level=level))
        return self._raised_marker(state, sm, Held(thread, None, level=level))

    def _raised_marker(self, state: State, sm: int, marker: Held) -> State:
        gpu = self.levels.gpu[sm]
        if marker.level < SYSTEM or gpu is None or not state.gpus[gpu].held:
            return state
        l2 = state.gpus[gpu]
        return self._with_gpu(state, gpu, l2._replace(held=(*l2.held, marker)))

    # ---- synchronising

    def acquire_shared(self, state: State, thread: int) -> State:
        """An acquire for shared memory alone."""
        sm = self.levels.sm[thread]
        for view, position in self.place[sm].items():
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and self.home[self.layout.views[view].line] is not None and self.is_generic(view):
                state = self._with_versions(state, sm, position, self._from_mark(versions))
        return state

    def acquire_at(self, state: State, thread: int, level: int, location: Location) -> State:
        """An acquire operation on a location has been performed."""
        del location
        return self.acquire(state, thread, level)

    def acquire_seen(self, state: State, thread: int, level: int) -> State:
        """An acquire fence, for what the thread's strong loads have observed."""
        return self.acquire(state, thread, level)

    def acquire_in_order(self, state: State, thread: int, level: int) -> State:
        """A fence.sc."""
        return self.acquire(state, thread, level)

    def acquire(self, state: State, thread: int, level: int) -> State:
        """Empties the caches below a level: later loads find nothing older than what is there now."""
        sm = self.levels.sm[thread]
        if level < GPU:
            return state
        gpu = self.levels.gpu[sm]
        if level >= SYSTEM and gpu is not None:
            for line in range(len(self.layout.lines)):
                state = self.fill(state, gpu, line)
        for view, position in self.place[sm].items():
            versions = state.sms[sm].views[position]
            if len(versions) > 1 and self.is_generic(view):
                state = self._with_versions(state, sm, position, self._from_mark(versions))
        return state

    def _from_mark(self, versions: tuple[int, ...]) -> tuple[int, ...]:
        """From the newest on behind which an acquire may not go."""
        kept = next((i for i in range(len(versions) - 1, 0, -1) if versions[i] & 1), 0)
        return _trimmed(versions[kept:])

    def proxy_fence(self, state: State, thread: int, proxy: Proxy) -> State:
        """Empties the caches of a proxy, and the generic ones, in the thread's SM; GENERIC stands for aliases.

        What other SMs then acquire, they acquire through every alias.
        """
        sm = self.levels.sm[thread]
        for number in range(len(self.levels.ctas)):
            for view, position in self.place[number].items():
                versions = state.sms[number].views[position]
                generic = self.is_generic(view)
                if len(versions) == 1 or not (generic or self.layout.views[view].proxy is proxy):
                    continue
                if number == sm:
                    versions = (versions[-1] & ~1,)
                elif generic:
                    versions = (*versions[:-1], versions[-1] | 1)
                state = self._with_versions(state, number, position, versions)
        return state

    def empty_caches(self, state: State, sm: int) -> State:
        """A grid starts on the SM: nothing is left in its caches, but for tensor maps until they are acquired."""
        views = tuple(
            (*versions[:-1], versions[-1] | 1) if len(versions) > 1 and self._is_map(view) else (versions[-1] & ~1,)
            for view, versions in zip(self.tracked[sm], state.sms[sm].views, strict=True)
        )
        return self._with_sm(state, sm, state.sms[sm]._replace(views=views))

    def _is_map(self, view: int) -> bool:
        return self.layout.views[view].proxy is Proxy.TENSORMAP

    def fill(self, state: State, gpu: int, line: int) -> State:
        """An L2 takes a line of memory anew, under the writes that it holds."""
        l2 = state.gpus[gpu]
        if self.home[line] is not None:
            return state
        value = state.memory[line]
        for held in l2.held:
            if held.location is not None and held.location.line == line:
                value = held.location.insert(value, held.value)
        if value == l2.lines[line]:
            return state
        state = self._with_gpu(state, gpu, l2._replace(lines=_with(l2.lines, line, value)))
        for sm in self.levels.sms_of_gpu[gpu]:
            for view, position in self.over[sm].get(line, ()):
                versions = (*state.sms[sm].views[position], value << self.shift | self.is_generic(view))
                kept = self._trimmed_to(state, sm, position, self._merged(versions))
                state = self._with_versions(state, sm, position, kept)
        return state

    def forget(self, state: State, sm: int) -> State:
        """Lines that no thread of an SM looks at again need no history."""
        views = state.sms[sm].views
        if all(len(versions) == 1 for versions in views):
            return state
        alive = self.alive(state, sm)
        kept = tuple(v if len(v) == 1 or alive >> self._line(sm, i) & 1 else (v[-1] & ~1,) for i, v in enumerate(views))
        return state if kept == views else self._with_sm(state, sm, state.sms[sm]._replace(views=kept))

    # ---- what memory does by itself

    def moves(self, state: State) -> list[Move]:
        """Writes that go up a level, and lines that an L2 takes anew."""
        found = self.pushes(state)
        for sm in range(len(state.sms)):
            found += self._evictions(state, sm)
        for gpu, l2 in enumerate(state.gpus):
            for position in _free(l2.held):
                thread = l2.held[position].thread
                found.append(Move(f"L2 {gpu}", thread, "a write goes on to memory", self._push_out, (gpu, position)))
            for line, value in enumerate(l2.lines):
                if (
                    self.home[line] is None
                    and state.memory[line] != value
                    and self.wanted(state, gpu, line)
                    and self.fill(state, gpu, line) is not state
                ):
                    found.append(Move(f"L2 {gpu}", None, "a line comes from memory", self._fill, (gpu, line)))
        return found

    def pushes(self, state: State) -> list[Move]:
        """Writes that leave an SM."""
        found: list[Move] = []
        for sm, here in enumerate(state.sms):
            for position in _free(here.held) if here.held else ():
                thread = here.held[position].thread
                found.append(Move(f"SM {sm}", thread, "a write goes on to the L2", self._push, (sm, position)))
        return found

    def _evictions(self, state: State, sm: int) -> list[Move]:
        """A thread that spins does not find what is stale for ever: once nobody writes, old lines go."""
        if not self.spins[sm]:
            return []
        found = []
        for position, versions in enumerate(state.sms[sm].views):
            if len(versions) > 1 and not self.written(state, self._line(sm, position)):
                found.append(Move(f"SM {sm}", None, "an old line is evicted", self._evict, (sm, position)))
        return found

    def _evict(self, state: State, sm: int, position: int) -> State:
        return self._with_versions(state, sm, position, (state.sms[sm].views[position][-1] & ~1,))

    def _fill(self, state: State, gpu: int, line: int) -> State:
        return self.fill(state, gpu, line)

    def _push(self, state: State, sm: int, position: int) -> State:
        here = state.sms[sm]
        held = here.held[position]
        state = self._with_sm(state, sm, here._replace(held=_but(here.held, position)))
        state = self._raise(state, sm, held)
        while state.sms[sm].held and state.sms[sm].held[0].location is None:
            here = state.sms[sm]
            state = self._with_sm(state, sm, here._replace(held=here.held[1:]))
            state = self._raised_marker(state, sm, here.held[0])
        return self.settle(state, self.levels.threads_of_sm[sm])

    def _push_out(self, state: State, gpu: int, position: int) -> State:
        l2 = state.gpus[gpu]
        held = l2.held[position]
        rest = _but(l2.held, position)
        while rest and rest[0].location is None:
            rest = rest[1:]
        state = self._with_gpu(state, gpu, l2._replace(held=rest))
        assert held.location is not None
        state = self._put(state, None, held.location, held.value, self.levels.below_memory)
        return self.settle(state, self.levels.threads_of_gpu(gpu))

    # ---- parts of the state

    def _with_sm(self, state: State, sm: int, level: Level) -> State:
        sms = (*state.sms[:sm], level, *state.sms[sm + 1 :])
        return State(state.threads, state.memory, sms, state.gpus, state.units, state.clock, state.order)

    def _with_gpu(self, state: State, gpu: int, level: Level) -> State:
        return state._replace(gpus=(*state.gpus[:gpu], level, *state.gpus[gpu + 1 :]))

    def _with_versions(self, state: State, sm: int, position: int, versions: tuple[int, ...]) -> State:
        here = state.sms[sm]
        if here.views[position] == versions:
            return state
        views = (*here.views[:position], versions, *here.views[position + 1 :])
        return self._with_sm(state, sm, Level(views, here.lines, here.held, here.floors))


def _with(values: tuple[int, ...], index: int, value: int) -> tuple[int, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _but(held: tuple[Held, ...], position: int) -> tuple[Held, ...]:
    return (*held[:position], *held[position + 1 :])


def _overlap(a: Location, b: Location) -> bool:
    return a.view == b.view and a.mask & b.mask != 0


def _holds(held: Sequence[Held], location: Location) -> bool:
    return any(h.location is not None and _overlap(h.location, location) for h in held)


def overlaid(value: int, held: Sequence[Held], location: Location) -> int:
    """A line's value under the writes to it, by the same address, that are held."""
    for one in held:
        if one.location is not None and one.location.view == location.view:
            value = one.location.insert(value, one.value)
    return value


def _trimmed(versions: tuple[int, ...]) -> tuple[int, ...]:
    """With nothing before the oldest, whether an acquire may go behind that makes no difference."""
    return (versions[0] & ~1, *versions[1:]) if versions[0] & 1 else versions


def _free(held: tuple[Held, ...]) -> list[int]:
    """The writes that nothing held before them keeps back."""
    free = []
    for i, one in enumerate(held):
        if one.location is None:
            continue
        for earlier in held[:i]:
            if earlier.location is None:
                if one.strong and earlier.thread == one.thread:
                    break
            elif _overlap(earlier.location, one.location):
                break
        else:
            free.append(i)
    return free
