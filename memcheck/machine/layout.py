"""Where variables lie: generic addresses, and the lines of memory behind them.

A line is what caches hold and what moves at once: as many bytes as the widest scalar access to the variable, so that
none is ever torn. A view by another proxy shares the addresses of its variable; an alias has addresses of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memcheck.language.tensormaps import described
from memcheck.language.test import Test, Variable, VariableKind
from memcheck.machine.state import Location
from memcheck.machine.windows import (
    GLOBAL_BASE,
    MULTIMEM_BASE,
    MULTIMEM_STRIDE,
    SHARED_BASE,
    SHARED_BITS,
    SHARED_SPACES,
    ctas,
)
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.tensor.words import encode

GAP = 0x400
"""Bytes after each variable that are no memory: a wrong offset hits nothing."""


@dataclass(frozen=True, slots=True)
class Region:
    """One instance of a variable: `size` bytes from generic address `base`, the same memory as from `physical`."""

    variable: str
    base: int
    size: int
    physical: int
    space: Space
    cta: int | None = None
    kind: VariableKind = VariableKind.DATA
    target: bool = False
    """A location behind a multimem address, at the address that multimem accesses use."""


@dataclass(frozen=True, slots=True)
class Line:
    """`size` bytes from physical address `base`; `cta` of shared memory."""

    base: int
    size: int
    cta: int | None
    variable: str


@dataclass(frozen=True, slots=True)
class View:
    """A line as seen at one virtual address through one proxy."""

    line: int
    address: int
    proxy: Proxy


@dataclass(slots=True)
class Layout:
    """`lines` by number, with their `initial` values; `views` grows as accesses ask for new ones."""

    regions: tuple[Region, ...]
    lines: tuple[Line, ...]
    initial: tuple[int, ...]
    views: list[View] = field(default_factory=list)
    _view_numbers: dict[View, int] = field(default_factory=dict)
    _first: dict[int, int] = field(default_factory=dict)
    _by_name: dict[tuple[str, int | None], Region] = field(default_factory=dict)
    _located: dict[tuple[int, int, Proxy], Location | None] = field(default_factory=dict)

    def instance(self, variable: str, cta: int | None = None) -> Region:
        """The region of a variable, of its instance in `cta` for a shared one."""
        return self._by_name[variable, cta]

    def region(self, address: int, size: int) -> Region | None:
        """The region that holds all bytes from a generic address, or None."""
        for region in self.regions:
            if region.base <= address and address + size <= region.base + region.size:
                return region
        return None

    def locate(self, address: int, size: int, proxy: Proxy = Proxy.GENERIC) -> Location | None:
        """The location of `size` bytes at a generic address; None where they are not inside one line of a variable."""
        key = (address, size, proxy)
        if key not in self._located:
            self._located[key] = self._locate(*key)
        return self._located[key]

    def _locate(self, address: int, size: int, proxy: Proxy) -> Location | None:
        region = self.region(address, size)
        if region is None:
            return None
        first = self._first[region.physical]
        physical = region.physical + address - region.base
        number = first + physical // self.lines[first].size - self.lines[first].base // self.lines[first].size
        line = self.lines[number]
        offset = physical - line.base
        if offset + size > line.size:
            return None
        if proxy is Proxy.NONCOHERENT:
            proxy = Proxy.READONLY
        view = self.view(View(number, address - offset, proxy))
        return Location(number, view, (1 << 8 * size) - 1 << 8 * offset, 8 * offset)

    def view(self, view: View) -> int:
        """The number of a view."""
        number = self._view_numbers.get(view)
        if number is None:
            number = self._view_numbers[view] = len(self.views)
            self.views.append(view)
        return number

    def lines_of(self, region: Region) -> range:
        """The lines of a region's memory."""
        first = self._first[region.physical]
        size = self.lines[first].size
        count = (region.physical + region.size - 1) // size - region.physical // size + 1
        return range(first, first + count)

    def read(self, values: tuple[int, ...], physical: int, size: int) -> int:
        """Little-endian number of `size` bytes at a physical address, of lines that hold `values`."""
        result = 0
        for i in range(size):
            result |= self.byte(values, physical + i) << 8 * i
        return result

    def byte(self, values: tuple[int, ...], physical: int) -> int:
        """One byte of lines that hold `values`."""
        number = self.line_at(physical)
        return values[number] >> 8 * (physical - self.lines[number].base) & 255

    def line_at(self, physical: int) -> int:
        """The line that holds a physical byte."""
        for region in self.regions:
            if region.physical <= physical < region.physical + region.size and region.physical in self._first:
                first = self._first[region.physical]
                size = self.lines[first].size
                return first + physical // size - self.lines[first].base // size
        raise KeyError(physical)


def lay_out(test: Test, widths: Mapping[str, int], words: Callable[[Variable, int], int]) -> Layout:
    """Places every variable on its own alignment and on no larger one.

    `widths`: bytes of the widest scalar access to each variable. `words`: the initial value of an element, from its
    declared number.
    """
    return _Placing(test, widths, words).result()


class _Placing:
    def __init__(self, test: Test, widths: Mapping[str, int], words: Callable[[Variable, int], int]) -> None:
        self.test = test
        self.widths = widths
        self.words = words
        self.ctas = ctas(test)
        self.placed: dict[str, tuple[Region, ...]] = {}
        self.bytes: dict[int, int] = {}
        self.cursors = {"global": GLOBAL_BASE, "shared": 0x100, "multimem": MULTIMEM_BASE}

    def result(self) -> Layout:
        for name in self.test.variables:
            self.place(name)
        found = [region for regions in self.placed.values() for region in regions]
        regions = tuple(sorted(found, key=lambda region: region.base))
        lines: list[Line] = []
        initial: list[int] = []
        layout = Layout(regions, (), ())
        for region in regions:
            layout._by_name.setdefault((region.variable, region.cta), region)
            if region.physical in layout._first or region.physical != region.base:
                continue
            if region.kind is VariableKind.MULTIMEM:
                continue
            layout._first[region.physical] = len(lines)
            size = self._line_size(region, regions)
            for base in range(region.physical // size * size, region.physical + region.size, size):
                lines.append(Line(base, size, region.cta, region.variable))
                initial.append(sum(self.bytes.get(base + i, 0) << 8 * i for i in range(size)))
        layout.lines, layout.initial = tuple(lines), tuple(initial)
        return layout

    def _line_size(self, region: Region, regions: tuple[Region, ...]) -> int:
        """The widest access; the whole variable where an alias would cut its lines elsewhere."""
        over = [r for r in regions if r.physical == region.physical]
        names = {r.variable.partition("->")[0] for r in over}
        size = max(self.widths.get(name, 1) for name in names)
        size = max(size, self.test.variables[region.variable].type.size)
        if any((r.base - region.physical) % size for r in over if not r.target):
            size = 1 << (region.physical ^ region.physical + region.size - 1).bit_length()
        return size

    def _advance(self, area: str, align: int, size: int) -> int:
        base = (-(-self.cursors[area] // (2 * align)) * 2 + 1) * align
        self.cursors[area] = base + size + GAP
        return base

    def place(self, name: str) -> tuple[Region, ...]:
        if name not in self.placed:
            variable = self.test.variables[name]
            if variable.kind is VariableKind.MULTIMEM:
                self.placed[name] = self._multimem(variable)
            elif variable.aliases is not None:
                self.placed[name] = self._alias(variable, self.place(variable.aliases))
            else:
                self.placed[name] = self._fresh(variable)
        return self.placed[name]

    def _bases(self, variable: Variable, size: int, align: int = 1) -> list[tuple[int, int | None]]:
        align = max(align, variable.align or variable.type.size)
        if variable.space in SHARED_SPACES:
            offset = self._advance("shared", align, size)
            return [(SHARED_BASE + (i << SHARED_BITS) + offset, cta) for i, cta in enumerate(self.ctas)]
        return [(self._advance("global", align, size), None)]

    def _fresh(self, variable: Variable) -> tuple[Region, ...]:
        width = variable.type.size
        content = bytearray()
        if variable.map is not None:
            content += encode(described(variable.map, self.place(variable.map.base)[0].base))
        else:
            for number in variable.init:
                word = self.words(variable, number)
                content += (word & (1 << 8 * width) - 1).to_bytes(width, "little")
        regions = []
        for base, cta in self._bases(variable, variable.size):
            regions.append(Region(variable.name, base, variable.size, base, variable.space, cta, variable.kind))
            self.bytes.update(enumerate(content, base))
        return tuple(regions)

    def _alias(self, variable: Variable, targets: tuple[Region, ...]) -> tuple[Region, ...]:
        size, kind = targets[0].size, targets[0].kind
        if variable.proxy is not Proxy.GENERIC:
            return tuple(Region(variable.name, t.base, size, t.physical, t.space, t.cta, kind) for t in targets)
        align = targets[0].base & -targets[0].base
        bases = {cta: base for base, cta in self._bases(variable, size, align)}
        return tuple(Region(variable.name, bases[t.cta], size, t.physical, t.space, t.cta, kind) for t in targets)

    def _multimem(self, variable: Variable) -> tuple[Region, ...]:
        targets = [self.place(name)[0] for name in variable.targets]
        size = min(target.size for target in targets)
        align = min(target.base & -target.base for target in targets)
        base = self._advance("multimem", align, size)
        regions = [Region(variable.name, base, size, base, Space.GLOBAL, None, VariableKind.MULTIMEM)]
        for k, target in enumerate(targets, 1):
            name = f"{variable.name}->{target.variable}"
            at = base + k * MULTIMEM_STRIDE
            regions.append(Region(name, at, size, target.physical, Space.GLOBAL, None, VariableKind.DATA, True))
        return tuple(regions)
