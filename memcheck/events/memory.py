"""Where variables lie: generic virtual addresses and the physical bytes behind them.

Virtual addresses are numbers in one 64-bit generic space. A view by another proxy shares its variable's virtual
address; an alias (`y aliases x`) has a virtual address of its own and the same bytes. A shared variable has one
instance a CTA. Inside a state space an address is written differently (`windows`); `unfold` turns those into generic
addresses before events see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from memcheck.events import phase
from memcheck.events.windows import GLOBAL_BASE, MULTIMEM_BASE, MULTIMEM_STRIDE, SHARED_BASE, SHARED_BITS, ctas
from memcheck.language.test import Test, Variable, VariableKind
from memcheck.ptx.qualifiers import Proxy, Space


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

    @cached_property
    def _physical(self) -> dict[tuple[int, int], int | None]:
        return {}

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
        key = (address, size)
        if key not in self._physical:
            region = self.region(address, size)
            self._physical[key] = None if region is None else region.physical + address - region.base
        return self._physical[key]

    def initial_value(self, physical: int, size: int) -> int:
        """Little-endian initial value of `size` bytes."""
        return sum(self.initial.get(physical + i, 0) << (8 * i) for i in range(size))

    def at(self, physical: int) -> Sequence[Region]:
        """All regions over a physical byte (a variable and its aliases)."""
        return [r for r in self.regions if r.physical <= physical < r.physical + r.size]


GAP = 0x400
"""Bytes that are no memory, after each variable."""


def lay_out(test: Test) -> Memory:
    """Places every variable, each instance on its alignment and on no larger one, far from the next.

    A multimem variable is a region of its own that no plain access may touch, and one region `mm->x` for each
    location behind it, which multimem accesses use.
    """
    layout = _Layout(test)
    for name in test.variables:
        layout.place(name)
    regions = sorted(layout.regions, key=lambda region: region.base)
    return Memory(tuple(regions), layout.initial, test.variables)


class _Layout:
    def __init__(self, test: Test) -> None:
        self.test = test
        self.ctas = ctas(test)
        self.regions: list[Region] = []
        self.initial: dict[int, int] = {}
        self.placed: dict[str, tuple[Region, ...]] = {}
        self.cursors = {"global": GLOBAL_BASE, "shared": 0x100, "multimem": MULTIMEM_BASE}

    def _advance(self, area: str, align: int, size: int) -> int:
        base = -(-self.cursors[area] // (2 * align)) * 2 * align + align
        # a wrong offset should hit nothing
        self.cursors[area] = base + size + GAP
        return base

    def place(self, name: str) -> tuple[Region, ...]:
        if name in self.placed:
            return self.placed[name]
        variable = self.test.variables[name]
        if variable.kind is VariableKind.MULTIMEM:
            regions = self._multimem(variable)
        elif variable.aliases is not None:
            regions = self._alias(variable, self.place(variable.aliases))
        else:
            regions = self._fresh(variable)
        self.placed[name] = regions
        self.regions.extend(regions)
        return regions

    def _bases(self, variable: Variable, size: int, align: int) -> list[tuple[int, int | None]]:
        if variable.space in (Space.SHARED_CTA, Space.SHARED_CLUSTER):
            offset = self._advance("shared", align, size)
            return [(SHARED_BASE + (i << SHARED_BITS) + offset, cta) for i, cta in enumerate(self.ctas)]
        return [(self._advance("global", align, size), None)]

    def _fresh(self, variable: Variable) -> tuple[Region, ...]:
        size, width = variable.size, variable.type.size
        described = self._described(variable)
        regions = []
        for base, cta in self._bases(variable, size, variable.align or max(1, variable.type.size)):
            regions.append(Region(variable.name, base, size, base, variable.space, cta))
            self.initial.update(enumerate(described, base))
            for element, number in enumerate(variable.init if variable.map is None else ()):
                if variable.kind is VariableKind.MBARRIER:
                    number = phase.fresh(number)
                for byte in range(width):
                    self.initial[base + element * width + byte] = number >> (8 * byte) & 255
        return tuple(regions)

    def _described(self, variable: Variable) -> bytes:
        """The bytes of a tensor map."""
        if variable.map is None:
            return b""
        from memcheck.language.tensormaps import described
        from memcheck.tensor.words import encode

        return encode(described(variable.map, self.place(variable.map.base)[0].base))

    def _alias(self, variable: Variable, targets: tuple[Region, ...]) -> tuple[Region, ...]:
        size = targets[0].size
        if variable.proxy is not Proxy.GENERIC:
            return tuple(Region(variable.name, t.base, size, t.physical, t.space, t.cta) for t in targets)
        # another page of the same memory: aligned as what it names
        align = targets[0].base & -targets[0].base
        bases = {cta: base for base, cta in self._bases(variable, size, align)}
        return tuple(Region(variable.name, bases[t.cta], size, t.physical, t.space, t.cta) for t in targets)

    def _multimem(self, variable: Variable) -> tuple[Region, ...]:
        targets = [self.place(name)[0] for name in variable.targets]
        size = min(target.size for target in targets)
        # the address promises the alignment that all its locations have
        align = min(target.base & -target.base for target in targets)
        base = self._advance("multimem", align, size)
        regions = [Region(variable.name, base, size, base, Space.GLOBAL)]
        for k, target in enumerate(targets):
            name = f"{variable.name}->{target.variable}"
            regions.append(Region(name, base + (k + 1) * MULTIMEM_STRIDE, size, target.physical, Space.GLOBAL))
        return tuple(regions)
