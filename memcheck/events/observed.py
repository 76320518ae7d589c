"""What of a final state anything looks at: observed terms, and those of the condition and the filter."""

from __future__ import annotations

from collections.abc import Iterator

from memcheck.events.structure import Structure
from memcheck.language.test import And, Compare, MemoryTerm, Not, NumberTerm, Observable, Or, Prop, Test


def _terms(prop: Prop | None) -> Iterator[Observable]:
    if isinstance(prop, Compare):
        for term in (prop.left, prop.right):
            if not isinstance(term, NumberTerm):
                yield term
    elif isinstance(prop, Not):
        yield from _terms(prop.body)
    elif isinstance(prop, And | Or):
        for part in prop.parts:
            yield from _terms(part)


def looked_at(test: Test) -> tuple[Observable, ...]:
    """The observed terms first, each term once."""
    condition = None if test.condition is None else test.condition.prop
    return tuple(dict.fromkeys([*test.observed, *_terms(condition), *_terms(test.filter)]))


def location(structure: Structure, term: MemoryTerm) -> tuple[int, int]:
    """First physical byte of an element and its size. A shared variable's instance may be left out where it is one."""
    size = structure.test.variables[term.variable].type.size
    for region in structure.memory.regions:
        if region.variable == term.variable and term.cta in (None, region.cta):
            return region.physical + term.index * size, size
    raise KeyError(term)
