"""What passes over a test find out for the next: where copies are cut, what tensor maps can say."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

NOWHERE = 0
"""A generic address at which there is no memory: the destination of bytes that are read and copied nowhere."""


@dataclass(frozen=True, slots=True)
class Run:
    """`size` contiguous bytes that a copy moves between generic addresses.

    `source` None: nothing is read, and `fill`, a little-endian number, is written.
    """

    source: int | None
    destination: int
    size: int
    fill: int | None = None


class Ranges:
    """Physical bytes, as a union of ranges from start to before end."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(ranges):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def meets(self, start: int, end: int) -> bool:
        """Whether some byte from `start` to before `end` is one of them."""
        first = bisect_right(self.ends, start)
        return first < len(self.starts) and self.starts[first] < end


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """`cuts`: ascending physical addresses at which a piece of a copy must begin; None in a pass that only collects.

    `touched`: bytes that something other than a run accesses or observes; `runs`: all of the pass before, each as
    often as it occurs. `descriptors`: by physical address of a tensor map that may be written, all that a copy can read
    there.
    """

    descriptors: Mapping[int, tuple[int, ...]]
    cuts: tuple[int, ...] | None = None
    touched: Ranges = Ranges(())
    runs: tuple[Run, ...] = ()
