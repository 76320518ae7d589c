"""The matrices of truth values agree with the concrete evaluator under every assignment tried."""

from __future__ import annotations

from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.cat import parse_model
from memcheck.plain.algebra import Algebra, Table
from memcheck.plain.truth import at_least, exactly, term
from memcheck.relations.expression import ExprKind, Model
from memcheck.relations.rows import Rows, from_pairs, pairs
from memcheck.relations.sets import Denotation, Evaluator, holds
from memcheck.source import SourceFile

SIZE = 3
EXPRESSIONS = (
    "po; rf | co+ & ~rf",
    "(po | rf)+",
    "(po \\ rf)* ; [W]",
    "[domain(po; rf)]; co? ; [range(co) \\ W]",
    "W * R \\ po^-1",
    "~(po | ~rf)",
    "(~W) * (~~R)",
    "(po; (rf | co)+)+ & po^-1",
    "0 | po",
)
RECURSIVE = (
    "let rec a = po | a; rf; a\nlet it = a",
    "let rec a = po | b; rf and b = co | a; po\nlet it = a \\ b",
    "let rec a = [W] | po; a; rf\nlet it = a",
    "let rec s = W | range([s]; po)\nlet it = s",
    "let rec a = po | (a; co) | rf; a; a\nlet it = a",
)


def model(text: str) -> Model:
    return parse_model(SourceFile("test.cat", text))


def no_from_read(_table: object) -> Table:
    raise AssertionError


class Symbols:
    """A variable for each pair and member, half of them fixed, and one for each event's happening."""

    def __init__(self, fixed: dict[object, bool]) -> None:
        self.fixed = fixed
        self.variables: dict[object, object] = {}

    def of(self, key: object) -> object:
        if key in self.fixed:
            return self.fixed[key]
        return self.variables.setdefault(key, z3.Bool(str(key)))


def tables(symbols: Symbols) -> tuple[dict[int, object], dict[str, Table]]:
    happens = {i: symbols.of(("_", i)) for i in range(SIZE)}

    def both(*parts: object) -> object:
        return z3.And([term(part) for part in parts])

    found: dict[str, Table] = {"_": {(i,): truth for i, truth in happens.items()}}
    for name in ("W", "R"):
        found[name] = {(i,): both(happens[i], symbols.of((name, i))) for i in range(SIZE)}
    for name in ("po", "rf", "co"):
        found[name] = {
            (i, j): both(happens[i], happens[j], symbols.of((name, i, j))) for i, j in product(range(SIZE), repeat=2)
        }
    return happens, found


def concrete(choice: dict[object, bool]) -> dict[str, Denotation]:
    def on(*key: object) -> bool:
        return choice[key]

    inside = [i for i in range(SIZE) if on("_", i)]
    base: dict[str, Denotation] = {"_": sum(1 << i for i in inside)}
    for name in ("W", "R"):
        base[name] = sum(1 << i for i in inside if on(name, i))
    for name in ("po", "rf", "co"):
        base[name] = from_pairs([(i, j) for i in inside for j in inside if on(name, i, j)], SIZE)
    return base


KEYS: list[object] = [
    *(("_", i) for i in range(SIZE)),
    *((name, i) for name in ("W", "R") for i in range(SIZE)),
    *((name, i, j) for name in ("po", "rf", "co") for i, j in product(range(SIZE), repeat=2)),
]


@pytest.mark.parametrize("text", [f"let it = {e}" for e in EXPRESSIONS] + list(RECURSIVE))
@settings(max_examples=8, deadline=None)
@given(st.integers(0, (1 << len(KEYS)) - 1), st.integers(0, (1 << len(KEYS)) - 1))
def test_algebra(text: str, chosen: int, known: int) -> None:
    choice = {key: bool(chosen >> i & 1) for i, key in enumerate(KEYS)}
    fixed = {key: choice[key] for i, key in enumerate(KEYS) if known >> i & 1}
    symbols = Symbols(fixed)
    happens, base = tables(symbols)
    found_model = model(text + "\nacyclic po | rf as a\nflag ~empty it as b\n~irreflexive po as c")
    expr = next(d.expr for d in found_model.definitions if d.name == "it")
    algebra = Algebra(happens, base.__getitem__, no_from_read)
    evaluator = Evaluator(concrete(choice), SIZE, _no_rows)
    bound = [(variable, z3.BoolVal(choice[key])) for key, variable in symbols.variables.items()]

    def decided(truth: object) -> bool:
        return z3.is_true(z3.simplify(z3.substitute(term(truth), *bound)))

    table = algebra.value(expr)
    have = {key for key, truth in table.items() if decided(truth)}
    value = evaluator.value(expr)
    if expr.kind is ExprKind.SET:
        assert isinstance(value, int)
        assert have == {(i,) for i in range(SIZE) if value >> i & 1}
    else:
        assert not isinstance(value, int)
        assert have == set(pairs(value))
    for axiom in (*found_model.axioms, *found_model.flags):
        assert decided(algebra.holds(axiom)) == holds(axiom, evaluator), axiom.name


def _no_rows(_rows: Rows) -> Rows:
    raise AssertionError


@given(st.lists(st.one_of(st.booleans(), st.none()), max_size=5), st.integers(-1, 6), st.integers(0, 31))
def test_counting(parts: list[bool | None], count: int, choice: int) -> None:
    truths = [z3.Bool(f"v{i}") if part is None else part for i, part in enumerate(parts)]
    bound = [(z3.Bool(f"v{i}"), z3.BoolVal(bool(choice >> i & 1))) for i in range(len(parts))]
    number = sum(bool(choice >> i & 1) if part is None else part for i, part in enumerate(parts))
    for function, expected in ((exactly, number == count), (at_least, number >= count)):
        found = z3.simplify(z3.substitute(term(function(count, truths)), *bound))
        assert z3.is_true(found) == expected
