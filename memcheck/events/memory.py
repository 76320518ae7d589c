"""Where variables lie: generic virtual addresses and the physical bytes behind them.

Virtual addresses are numbers in one 64-bit generic space. A view by another proxy shares its variable's virtual
address; an alias (`y aliases x`) has a virtual address of its own and the same bytes. A shared variable has one
instance a CTA. Inside a state space an address is written differently (`.shared`: an offset, or what `mapa` gives);
`unfold` turns those into generic addresses before events see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from memcheck.language.test import Variable
from memcheck.ptx.qualifiers import Space


@dataclass(frozen=True, slots=True)
class Region:
    """`size` bytes at virtual address `base`, physical address `physical`; one instance of a variable.

    `cta` for shared memory, else None. `cluster` is that CTA's.
    """

    variable: str
    base: int
    size: int
    physical: int
    space: Space
    cta: int | None = None


@dataclass(frozen=True)
class Memory:
    """All regions, by ascending virtual base; bytes that no region holds are no memory."""

    regions: tuple[Region, ...]
    initial: Mapping[int, int]
    """Initial value of each physical byte."""
    variables: Mapping[str, Variable]

    @cached_property
    def _by_name(self) -> dict[tuple[str, int | None], Region]:
        return {(r.variable, r.cta): r for r in self.regions}

    def instance(self, variable: str, cta: int | None = None) -> Region:
        """The region of a variable (of its instance in `cta` for shared ones). KeyError where there is none."""
        return self._by_name[variable, cta]

    def region(self, address: int, size: int) -> Region | None:
        """The region that holds all of address … address+size-1, or None."""
        for region in self.regions:
            if region.base <= address and address + size <= region.base + region.size:
                return region
        return None

    def physical(self, address: int, size: int) -> int | None:
        """Physical address of the first byte, or None where the range is not inside one region."""
        region = self.region(address, size)
        return None if region is None else region.physical + address - region.base

    def initial_value(self, physical: int, size: int) -> int:
        """Little-endian initial value of `size` bytes."""
        return sum(self.initial.get(physical + i, 0) << (8 * i) for i in range(size))

    def at(self, physical: int) -> Sequence[Region]:
        """All regions over a physical byte (a variable and its aliases)."""
        return [r for r in self.regions if r.physical <= physical < r.physical + r.size]
