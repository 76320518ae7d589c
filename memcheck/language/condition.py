"""Conditions: syntax to propositions over resolved terms, and their truth in a final state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from memcheck.errors import SourceError
from memcheck.language import syntax as s
from memcheck.language.nearest import nearest
from memcheck.language.numbers import small, value
from memcheck.language.position import Positions
from memcheck.language.registers import ThreadNames
from memcheck.language.test import (
    And,
    Compare,
    MemoryTerm,
    Not,
    NumberTerm,
    Observable,
    Or,
    Place,
    Prop,
    RegisterTerm,
    Term,
    Truth,
    Variable,
    VariableKind,
)
from memcheck.ptx.qualifiers import Space
from memcheck.source import Span


def satisfies(prop: Prop, valuation: Callable[[Observable], tuple[int, int]]) -> bool:
    """Truth of `prop` where `valuation` gives the value of a term, unsigned, and its width in bits.

    Equality is modulo the narrower width, so -1 is all ones; order is of unsigned values.
    """
    if isinstance(prop, And):
        return all(satisfies(part, valuation) for part in prop.parts)
    if isinstance(prop, Or):
        return any(satisfies(part, valuation) for part in prop.parts)
    if isinstance(prop, Not):
        return not satisfies(prop.body, valuation)
    if isinstance(prop, Truth):
        return prop.value
    return _compare(prop.op, _value(prop.left, valuation), _value(prop.right, valuation))


def _value(term: Term, valuation: Callable[[Observable], tuple[int, int]]) -> tuple[int, int | None]:
    return (term.value, None) if isinstance(term, NumberTerm) else valuation(term)


def _compare(op: str, left: tuple[int, int | None], right: tuple[int, int | None]) -> bool:
    (a, a_bits), (b, b_bits) = left, right
    widths = [bits for bits in (a_bits, b_bits) if bits is not None]
    if op in ("==", "!="):
        difference = (a - b) % (1 << min(widths)) if widths else a - b
        return (difference == 0) is (op == "==")
    if widths:
        a, b = (n if n >= 0 else n % (1 << min(widths)) for n in (a, b))
    if op == "<":
        return a < b
    if op == "<=":
        return a <= b
    return a > b if op == ">" else a >= b


class Resolver:
    """Terms of one test: names of threads, registers and variables to what they are."""

    __slots__ = ("ctas", "names", "notes", "positions", "threads", "variables")

    def __init__(
        self,
        threads: Mapping[str, int],
        names: Sequence[ThreadNames],
        variables: Mapping[str, Variable],
        places: Sequence[Place],
        positions: Positions,
    ) -> None:
        self.threads = threads
        self.names = names
        self.variables = variables
        self.ctas = sorted({place.cta for place in places})
        self.positions = positions
        self.notes: list[str] = []

    def prop(self, node: s.PropSyntax, at: int) -> Prop:
        if isinstance(node, s.Connective):
            parts = tuple(self.prop(part, at) for part in node.parts)
            return And(parts) if node.conjunction else Or(parts)
        if isinstance(node, s.Negation):
            return Not(self.prop(node.body, at))
        if isinstance(node, s.TruthSyntax):
            return Truth(node.value)
        op = "==" if node.op.text == "=" else node.op.text
        return Compare(op, self.term(node.left, at), self.term(node.right, at))

    def term(self, node: s.TermSyntax, at: int) -> Term:
        return NumberTerm(value(node, self.positions, at)) if isinstance(node, s.Number) else self.observable(node, at)

    def observable(self, node: s.RegisterName | s.MemoryName, at: int) -> Observable:
        return self.register(node, at) if isinstance(node, s.RegisterName) else self.memory(node, at)

    def _span(self, word: s.Word | s.Number, at: int) -> Span:
        return self.positions.span(at + word.at, len(word.text))

    def register(self, node: s.RegisterName, at: int) -> RegisterTerm:
        index = self.threads.get(node.thread.text if node.thread.text[0] == "P" else f"P{node.thread.text}")
        if index is None:
            name = node.thread.text
            raise SourceError(f"there is no thread `{name}`", self._span(node.thread, at), nearest(name, self.threads))
        name = node.name.text.removeprefix("%")
        names = self.names[index]
        if name in self.variables and name not in names.used:
            raise SourceError(
                f"`{name}` is a location, not a register", self._span(node.name, at), f"write `{name}` alone"
            )
        width = names.width(name, percent=True)
        if width is None:
            raise SourceError(f"unknown register `{name}`", self._span(node.name, at), nearest(name, names.used))
        if name not in names.used:
            names.used[name] = width
            self.notes.append(f"nothing sets {node.thread.text}:{name}, which the condition names: it is 0")
        return RegisterTerm(index, name)

    def memory(self, node: s.MemoryName, at: int) -> MemoryTerm:
        name, span = node.name.text, self._span(node.name, at)
        variable = self.variables.get(name)
        if variable is None:
            hint = nearest(name, self.variables)
            if self.names and (hint is None or not hint.startswith("did")) and self.names[0].width(name):
                hint = f"a register is written with its thread, `P0:{name.removeprefix('%')}`"
            raise SourceError(f"unknown name `{name}`", span, hint)
        if variable.kind is not VariableKind.DATA:
            raise SourceError(f"`{name}` is a {variable.kind.value} object, which has no value of its own", span)
        index = 0
        if node.element is not None:
            index = value(node.element, self.positions, at)
            if not variable.array:
                raise SourceError(f"`{name}` is no array", span)
            if not 0 <= index < variable.count:
                raise SourceError(f"`{name}` has the elements 0 to {variable.count - 1}", self._span(node.element, at))
        return MemoryTerm(name, index, self._instance(variable, node, at))

    def _instance(self, variable: Variable, node: s.MemoryName, at: int) -> int | None:
        span = self._span(node.name, at)
        shared = variable.space is Space.SHARED_CTA
        if node.instance is None:
            if shared and len(self.ctas) > 1:
                raise SourceError(
                    f"every CTA has its own `{node.name.text}`", span, f"write `{node.name.text} @ cta {self.ctas[0]}`"
                )
            return None
        level, number = node.instance
        cta = small(number, self.positions, at, "a CTA", 1_000_000)
        if level.text != "cta" or not shared:
            message = "an instance is named by its `cta`" if shared else f"`{node.name.text}` has one instance only"
            raise SourceError(message, self._span(level, at))
        if cta not in self.ctas:
            listed = ", ".join(map(str, self.ctas[:20]))
            raise SourceError(f"there is no CTA {cta}", self._span(number, at), f"the test has: {listed}")
        return cta if len(self.ctas) > 1 else None

    def everything(self) -> Iterator[Observable]:
        """All registers, by thread and name, and all locations, as a condition may name them."""
        for index, names in enumerate(self.names):
            for name in sorted(names.used, key=_natural):
                yield RegisterTerm(index, name)
        for variable in self.variables.values():
            if variable.kind is VariableKind.DATA and variable.aliases is None:
                yield from self.elements(variable)

    def elements(self, variable: Variable) -> Iterator[MemoryTerm]:
        """Every element of every instance."""
        several = variable.space is Space.SHARED_CTA and len(self.ctas) > 1
        for cta in self.ctas if several else (None,):
            for index in range(variable.count):
                yield MemoryTerm(variable.name, index, cta)


def _natural(name: str) -> tuple[str, int]:
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if 0 < len(digits) < 20 else -1


def terms(prop: Prop) -> Iterator[Observable]:
    """The registers and locations that a proposition names, in order, with repeats."""
    if isinstance(prop, (And, Or)):
        for part in prop.parts:
            yield from terms(part)
    elif isinstance(prop, Not):
        yield from terms(prop.body)
    elif isinstance(prop, Compare):
        for term in (prop.left, prop.right):
            if not isinstance(term, NumberTerm):
                yield term
