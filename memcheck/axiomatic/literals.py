"""Literals for values: one literal for each number that a value node can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memcheck.axiomatic.clauses import FALSE, TRUE, Clauses
from memcheck.errors import TooLargeError
from memcheck.events.value import OPERATIONS, Value, evaluate

Choices = dict[int, int]
"""Number -> literal: what a value can be. In an execution at most one of the literals is true."""

LIMIT = 4096
"""Numbers that one value may take, and pairs that one operation may combine."""


class ValueLiterals:
    """Literals of value nodes, made on demand. `read_literals` gives those of a read event."""

    def __init__(
        self, clauses: Clauses, read_literals: Callable[[int], Choices], choice_domains: Sequence[Sequence[int]]
    ) -> None:
        self.clauses = clauses
        self._memo: dict[Value, Choices] = {}
        self._read_literals = read_literals
        self._reads: dict[int, Choices] = {}
        self._choices = choice_domains
        self._picked: dict[int, Choices] = {}
        self._evaluated: dict[tuple[int, int], dict[Value, int]] = {}

    def of(self, value: Value) -> Choices:
        """All numbers that the node may be, each with its literal."""
        found = self._memo.get(value)
        if found is None:
            found = self._memo[value] = self._make(value)
        return found

    def is_true(self, value: Value) -> int:
        """The literal of a truth value."""
        if value.is_const:
            return TRUE if value.payload else FALSE
        return self.of(value).get(1, FALSE)

    def equals(self, value: Value, number: int) -> int:
        return self.of(value).get(number, FALSE)

    def choice(self, index: int) -> Choices:
        """Literals of a free choice of the execution."""
        found = self._picked.get(index)
        if found is None:
            found = self._picked[index] = self.one_of(sorted(self._choices[index]), exactly=True)
        return found

    def one_of(self, numbers: Sequence[int], exactly: bool) -> Choices:
        """Fresh literals for the numbers, at most one true; `exactly`: one is."""
        if len(numbers) > LIMIT:
            raise TooLargeError(f"a value can take {len(numbers)} different numbers; the limit is {LIMIT}")
        if len(numbers) == 1 and exactly:
            return {numbers[0]: TRUE}
        if len(numbers) == 2 and exactly:
            bit = self.clauses.variable()
            return {numbers[0]: bit, numbers[1]: -bit}
        table = {number: self.clauses.variable() for number in numbers}
        self.clauses.at_most_one(list(table.values()))
        if exactly:
            self.clauses.require(*table.values())
        return table

    def _make(self, value: Value) -> Choices:
        op = value.op
        if op == "const":
            return {value.payload: TRUE}
        if op == "read":
            return self._of_read(value.payload)
        if op == "choice":
            return self.choice(value.payload)
        if len(value.support) == 1:
            known = self._of_one_read(value)
            if known is not None:
                return known
        if op == "ite":
            return self._ite(value)
        if op in OPERATIONS:
            return self._binary(value)
        return self._unary_or_concat(value)

    def _of_read(self, read: int) -> Choices:
        found = self._reads.get(read)
        if found is None:
            found = self._reads[read] = self._read_literals(read)
        return found

    def _of_one_read(self, value: Value) -> Choices | None:
        """What a value is for each number that the one read below it returns; None where it has a choice below, too."""
        (read,) = value.support
        terms: dict[int, list[tuple[int, ...]]] = {}
        for number, literal in self._of_read(read).items():
            memo = self._evaluated.setdefault((read, number), {})
            try:
                result = evaluate(value, {read: number}, {}, memo)
            except KeyError:
                return None
            terms.setdefault(result, []).append((literal,))
        return self._functional(terms)

    def _functional(self, terms: dict[int, list[tuple[int, ...]]]) -> Choices:
        """Literals for a function's results; `terms`: result -> the argument combinations that give it."""
        if len(terms) == 1:
            return dict.fromkeys(terms, TRUE)
        clauses = self.clauses
        table: Choices = {}
        if len(terms) == 2 and set(terms) == {0, 1}:
            bit = clauses.either([clauses.both(t) for t in terms[1]])
            return {1: bit, 0: -bit}
        for result, combinations in terms.items():
            if len(combinations) == 1:
                table[result] = clauses.both(combinations[0])
            else:
                table[result] = clauses.either([clauses.both(t) for t in combinations])
        return table

    def _ite(self, value: Value) -> Choices:
        condition, then, other = value.args
        yes = self.is_true(condition)
        if yes == TRUE:
            return self.of(then)
        if yes == FALSE:
            return self.of(other)
        terms: dict[int, list[tuple[int, ...]]] = {}
        for number, literal in self.of(then).items():
            terms.setdefault(number, []).append((yes, literal))
        for number, literal in self.of(other).items():
            terms.setdefault(number, []).append((-yes, literal))
        return self._table(terms)

    def _table(self, terms: dict[int, list[tuple[int, ...]]]) -> Choices:
        clauses = self.clauses
        return {
            number: clauses.either([clauses.both(t) for t in combinations]) for number, combinations in terms.items()
        }

    def _binary(self, value: Value) -> Choices:
        first, second = (self.of(arg) for arg in value.args)
        if len(first) * len(second) > LIMIT * 4:
            raise TooLargeError(
                f"an operation combines {len(first)} and {len(second)} numbers; the limit is {LIMIT * 4}"
            )
        apply: Callable[[int, int, int], int] = OPERATIONS[value.op]
        width, mask = value.args[0].width, (1 << value.width) - 1
        terms: dict[int, list[tuple[int, ...]]] = {}
        for a, x in first.items():
            for b, y in second.items():
                terms.setdefault(apply(a, b, width) & mask, []).append((x, y))
        return self._functional(terms)

    def _unary_or_concat(self, value: Value) -> Choices:
        mask = (1 << value.width) - 1
        terms: dict[int, list[tuple[int, ...]]] = {}
        if value.op == "concat":
            high, low = (self.of(arg) for arg in value.args)
            shift = value.args[1].width
            if len(high) * len(low) > LIMIT:
                raise TooLargeError(f"a value combines {len(high)} and {len(low)} numbers; the limit is {LIMIT}")
            for a, x in high.items():
                for b, y in low.items():
                    terms.setdefault(a << shift | b, []).append((x, y))
            return self._functional(terms)
        (arg,) = value.args
        for a, x in self.of(arg).items():
            if value.op == "extract":
                result = a >> value.payload & mask
            elif value.op == "sext" and a >> (arg.width - 1):
                result = (a - (1 << arg.width)) & mask
            else:
                result = a
            terms.setdefault(result, []).append((x,))
        return self._functional(terms)
