"""Who shares what: the SM of each CTA, the L2 of each GPU, and how far up an operation of a scope has to go.

Levels that nobody could tell apart are left out: an SM with one thread has nothing between that thread's window and
what lies above, a GPU alone in the test has its L2 for memory, and one CTA alone has its SM for memory.
"""

from __future__ import annotations

from memcheck.language.test import Place, Test
from memcheck.machine.windows import ctas
from memcheck.ptx.qualifiers import Scope

ALONE = 0
"""The scope holds no thread but the own one."""
SM = 1
GPU = 2
SYSTEM = 3


class Levels:
    """`sm` of each thread by number; `gpu` of each SM, None where memory lies right above; `staged` SMs hold writes."""

    def __init__(self, test: Test) -> None:
        places = [thread.place for thread in test.threads]
        self.ctas = ctas(test)
        self.sm = tuple(self.ctas.index(place.cta) for place in places)
        self.threads_of_sm = tuple(tuple(t for t, sm in enumerate(self.sm) if sm == s) for s in range(len(self.ctas)))
        self.single = len(self.ctas) == 1
        self.warps: dict[tuple[int, int], dict[int, int]] = {}
        """By CTA and warp: the threads by lane."""
        for thread in test.threads:
            place = thread.place
            self.warps.setdefault((place.cta, place.warp), {})[place.lane] = thread.index
        gpu_of = {place.cta: place.gpu for place in places}
        sizes = {gpu: sum(g == gpu for g in gpu_of.values()) for gpu in gpu_of.values()}
        self.gpus = tuple(sorted(gpu for gpu, size in sizes.items() if len(sizes) > 1 and size > 1))
        self.gpu = tuple(self.gpus.index(gpu_of[cta]) if gpu_of[cta] in self.gpus else None for cta in self.ctas)
        self.sms_of_gpu = tuple(tuple(s for s, g in enumerate(self.gpu) if g == i) for i in range(len(self.gpus)))
        self.below_memory = tuple(s for s, g in enumerate(self.gpu) if g is None)
        self.staged = tuple(len(threads) > 1 and not self.single for threads in self.threads_of_sm)
        self._of = tuple({scope: _level(place, scope, places) for scope in Scope} for place in places)

    def of(self, thread: int, scope: Scope | None) -> int:
        """The lowest level that all threads in a scope of a thread share."""
        return ALONE if scope is None else self._of[thread][scope]

    def threads_of_gpu(self, gpu: int) -> tuple[int, ...]:
        """The threads below an L2."""
        return tuple(t for s in self.sms_of_gpu[gpu] for t in self.threads_of_sm[s])


def _level(place: Place, scope: Scope, places: list[Place]) -> int:
    def within(other: Place) -> bool:
        match scope:
            case Scope.CTA:
                return other.cta == place.cta
            case Scope.CLUSTER:
                return other.cluster == place.cluster
            case Scope.GPU:
                return other.gpu == place.gpu
            case Scope.SYS:
                return True

    scoped = [other for other in places if within(other)]
    if any(other.gpu != place.gpu for other in scoped):
        return SYSTEM
    if any(other.cta != place.cta for other in scoped):
        return GPU
    return SM if len(scoped) > 1 else ALONE
