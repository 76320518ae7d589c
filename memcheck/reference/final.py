"""Final states: the registers and memory of an execution in which every thread ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from memcheck.events.structure import Structure
from memcheck.language.test import (
    And,
    Compare,
    MemoryTerm,
    Not,
    NumberTerm,
    Observable,
    Or,
    Prop,
    RegisterTerm,
    Term,
    Truth,
)
from memcheck.reference.coherence import maximal_writes
from memcheck.reference.locations import Cell, Locations
from memcheck.reference.pairs import Pairs


def terms_of(prop: Prop | None) -> frozenset[Observable]:
    """The registers and memory elements that a condition names."""
    if isinstance(prop, Compare):
        return frozenset(t for t in (prop.left, prop.right) if not isinstance(t, NumberTerm))
    if isinstance(prop, Not):
        return terms_of(prop.body)
    if isinstance(prop, And | Or):
        return frozenset(t for part in prop.parts for t in terms_of(part))
    return frozenset()


def holds(structure: Structure, prop: Prop, values: Mapping[Observable, int]) -> bool:
    """Equality is modulo the narrower width, order is unsigned."""
    if isinstance(prop, Truth):
        return prop.value
    if isinstance(prop, Not):
        return not holds(structure, prop.body, values)
    if isinstance(prop, And):
        return all(holds(structure, part, values) for part in prop.parts)
    if isinstance(prop, Or):
        return any(holds(structure, part, values) for part in prop.parts)
    widths = [_width(structure, t) for t in (prop.left, prop.right) if not isinstance(t, NumberTerm)]
    numbers = [t.value if isinstance(t, NumberTerm) else values[t] for t in (prop.left, prop.right)]
    # A number alone may be negative: it is taken modulo the width of what it is compared with.
    left, right = (n & ((1 << max(widths)) - 1) for n in numbers) if widths else numbers
    if prop.op in ("==", "!="):
        mask = (1 << min(widths)) - 1 if widths else -1
        return ((left & mask) == (right & mask)) == (prop.op == "==")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[prop.op]


def _width(structure: Structure, term: Term) -> int:
    if isinstance(term, RegisterTerm):
        return structure.test.threads[term.thread].widths[term.name]
    assert isinstance(term, MemoryTerm)
    return structure.test.variables[term.variable].type.size * 8


def _stretch(structure: Structure, term: MemoryTerm) -> Cell:
    size = structure.test.variables[term.variable].type.size
    regions = [r for r in structure.memory.regions if r.variable == term.variable and term.cta in (None, r.cta)]
    first = regions[0].physical + term.index * size
    return first, first + size


def final_values(
    locations: Locations, coherence: Pairs, terms: Sequence[Observable]
) -> Iterator[dict[Observable, int]]:
    """Every value of `terms` together. Each cell ends with some coherence-maximal write; two writes of exactly the
    same bytes are never mixed."""
    trace = locations.trace
    structure = trace.structure
    registers = {t: trace.value(structure.final_registers[t]) for t in terms if isinstance(t, RegisterTerm)}
    stretches = {t: _stretch(structure, t) for t in terms if isinstance(t, MemoryTerm)}
    cells = sorted({c for low, high in stretches.values() for c in locations.cells if low <= c[0] and c[1] <= high})
    maximal = maximal_writes(locations, coherence)
    for chosen in product(*(maximal[c] for c in cells)):
        last = dict(zip(cells, chosen))
        if any(_mixes(locations, a, x, b, y) for a, x in last.items() for b, y in last.items()):
            continue
        values: dict[Observable, int] = dict(registers.items())
        for term, (low, high) in stretches.items():
            values[term] = sum(
                locations.value_of(w, c) << (8 * (c[0] - low)) for c, w in last.items() if low <= c[0] and c[1] <= high
            )
        yield values


def _mixes(locations: Locations, a: Cell, x: int, b: Cell, y: int) -> bool:
    return x != y and locations.same_bytes(x, y) and {a, b} <= locations.of(x)
