"""What must hold for an event to happen, as conjuncts over reads, and the assignments that satisfy them.

Conjuncts that share no read are independent: each group of them can be looked at alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memcheck.events.structure import BlockingPoint, Event, Structure
from memcheck.events.value import Value, Values, evaluate

Leaf = tuple[str, int]
"""("read", event) or ("choice", index)."""

Assignment = tuple[dict[int, int], dict[int, int]]
"""Values of reads and of choices."""


class TooManyError(Exception):
    """More assignments than the limit allows to look at."""


def leaves(structure: Structure, values: Iterable[Value]) -> frozenset[Leaf]:
    """The reads and choices that values are made from."""
    listed = list(values)
    found: set[Leaf] = {("read", r) for value in listed for r in value.support}
    if structure.choice_domains:
        seen: set[Value] = set()
        while listed:
            value = listed.pop()
            if value not in seen:
                seen.add(value)
                listed.extend(value.args)
                if value.op == "choice":
                    found.add(("choice", value.payload))
    return frozenset(found)


def conjuncts(values: Values, value: Value) -> list[Value]:
    """The parts of a conjunction, constant true left out."""
    found: list[Value] = []
    pending = [value]
    while pending:
        part = pending.pop()
        if part.op == "and":
            pending += part.args
        elif part.op == "xor" and part.args[1] is values.true and part.args[0].op == "or":
            pending += map(values.negate, part.args[0].args)
        elif part is not values.true and part not in found:
            found.append(part)
    return found


def spins_before(structure: Structure, event: Event) -> list[BlockingPoint]:
    """The spins that the thread of `event` may have to leave before it."""
    return [
        point
        for point in structure.blocking
        if point.passed is not None and point.thread == event.thread and point.before <= event.index
    ]


def requirements(structure: Structure, event: Event) -> tuple[Value, ...]:
    """Conjuncts of what makes the event happen if no barrier holds its thread up: its guard, and spins left before."""
    values = structure.values
    found = [] if event.guard is values.true else conjuncts(values, event.guard)
    if structure.blocking:
        for point in spins_before(structure, event):
            assert point.passed is not None
            for part in conjuncts(values, values.either(values.negate(point.guard), point.passed)):
                if part not in found:
                    found.append(part)
    return tuple(found)


class Assignments:
    """Looks through assignments of reads and choices; `domains` gives what each read may be."""

    def __init__(self, structure: Structure, domains: Mapping[int, Iterable[int]], limit: int) -> None:
        self._structure = structure
        self._domains = domains
        self._limit = limit

    def options(self, leaf: Leaf) -> Sequence[int]:
        """The values of a leaf."""
        kind, index = leaf
        return tuple(self._domains[index]) if kind == "read" else self._structure.choice_domains[index]

    def component(self, start: Iterable[Value], required: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """The requirements that share leaves with `start`, directly or through others; and the remaining ones."""
        if not required:
            return [], []
        reached = set(leaves(self._structure, start))
        left, inside, grown = list(required), [], True
        while grown and left:
            grown = False
            for part in list(left):
                mine = leaves(self._structure, (part,))
                if mine & reached:
                    reached |= mine
                    inside.append(part)
                    left.remove(part)
                    grown = True
        return inside, left

    def satisfying(
        self, parts: Sequence[Value], required: Sequence[Value], fastest: int | None = None, once: bool = False
    ) -> Iterator[Assignment]:
        """Assignments of the leaves of `parts` and `required` under which all of `required` hold. TooManyError.

        `fastest`: a read to be varied first. `once`: one for each assignment of the leaves of `parts`.
        The dictionaries are changed by the next step.
        """
        mentioned = leaves(self._structure, [*parts, *required])
        wanted = leaves(self._structure, parts) if once else mentioned
        tests = [(part, leaves(self._structure, (part,))) for part in required]
        options: list[tuple[Leaf, list[int]]] = []
        for leaf in mentioned:
            numbers = list(self.options(leaf))
            for part, mine in tests:
                if mine == {leaf}:
                    numbers = [n for n in numbers if evaluate(part, *_one(leaf, n))]
            options.append((leaf, numbers))
        # few values first: a test fails as early as it can
        options.sort(
            key=lambda option: (
                option[0] not in wanted, option[0] == ("read", fastest), len(option[1]), option[0],
            )
        )  # fmt: skip
        settled = sum(leaf in wanted for leaf, _ in options)
        order = {leaf: i for i, (leaf, _) in enumerate(options)}
        due: list[list[Value]] = [[] for _ in options]
        for part, mine in tests:
            if len(mine) > 1:
                due[max(order[leaf] for leaf in mine)].append(part)
            elif not mine and not evaluate(part, {}, {}):
                return
        visited = 0
        reads: dict[int, int] = {}
        choices: dict[int, int] = {}
        stack = [iter(options[0][1])] if options else []
        if not options:
            yield {}, {}
        while stack:
            depth = len(stack) - 1
            number = next(stack[-1], None)
            if number is None:
                stack.pop()
                continue
            visited += 1
            if visited > self._limit:
                raise TooManyError
            kind, index = options[depth][0]
            (reads if kind == "read" else choices)[index] = number
            memo: dict[Value, int] = {}
            if not all(evaluate(part, reads, choices, memo) for part in due[depth]):
                continue
            if depth + 1 == len(options):
                yield reads, choices
                del stack[settled:]
            else:
                stack.append(iter(options[depth + 1][1]))

    def possible(self, required: Sequence[Value]) -> bool:
        """Whether all of `required` can hold together; true where there are too many assignments to tell."""
        left = list(required)
        while left:
            inside, left = self.component(left[:1], left)
            if not inside:
                # a constant: nothing to choose
                inside, left = left[:1], left[1:]
            try:
                if next(self.satisfying((), inside), None) is None:
                    return False
            except TooManyError:
                continue
        return True


def _one(leaf: Leaf, number: int) -> Assignment:
    kind, index = leaf
    return ({index: number}, {}) if kind == "read" else ({}, {index: number})
