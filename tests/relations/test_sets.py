"""Laws of the concrete evaluator, against plain sets of pairs."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from memcheck.cat import parse_model
from memcheck.relations.expression import Model
from memcheck.relations.rows import Rows, closure, compose, cycle, from_pairs, inverse, pairs
from memcheck.relations.sets import Denotation, Evaluator, consistent, flags
from memcheck.source import SourceFile

SIZE = 5
ALL = (1 << SIZE) - 1

relations = st.tuples(*[st.integers(0, ALL)] * SIZE)
sets = st.integers(0, ALL)


def model(text: str) -> Model:
    return parse_model(SourceFile("test.cat", text))


def no_from_read(_rows: Rows) -> Rows:
    raise AssertionError


def value(text: str, **base: Denotation) -> Denotation:
    """The value of an expression over relations po, rf, co and sets W, R, F, with `all` as universe."""
    given_all = base.pop("all", ALL)
    last = model(f"let it = {text}").definitions[-1].expr
    return Evaluator({"_": given_all, **base}, SIZE, no_from_read).value(last)


@given(relations, relations)
def test_operators_are_those_of_sets_of_pairs(r: Rows, s: Rows) -> None:
    a, b = set(pairs(r)), set(pairs(s))
    everything = set(product(range(SIZE), repeat=2))
    cases = {
        "po | rf": a | b,
        "po & rf": a & b,
        "po \\ rf": a - b,
        "~po": everything - a,
        "po; rf": {(x, z) for x, y in a for w, z in b if y == w},
        "po^-1": {(y, x) for x, y in a},
        "po?": a | {(x, x) for x in range(SIZE)},
        "[domain(po)]": {(x, x) for x, _ in a},
        "[range(po)]": {(y, y) for _, y in a},
    }
    for text, expected in cases.items():
        found = value(text, po=r, rf=s)
        assert not isinstance(found, int)
        assert set(pairs(found)) == expected, text


@given(relations)
def test_closure_is_the_least_transitive_relation(r: Rows) -> None:
    least = set(pairs(r))
    while True:
        more = least | {(x, z) for x, y in least for w, z in least if y == w}
        if more == least:
            break
        least = more
    assert set(pairs(closure(r))) == least
    assert value("po+", po=r) == closure(r)
    assert value("po*", po=r) == value("po+ | id", po=r, id=from_pairs([(i, i) for i in range(SIZE)], SIZE))


@given(relations, relations, relations)
def test_composition(r: Rows, s: Rows, t: Rows) -> None:
    assert compose(compose(r, s), t) == compose(r, compose(s, t))
    assert inverse(compose(r, s)) == compose(inverse(s), inverse(r))
    assert inverse(inverse(r)) == r


@given(sets, sets)
def test_sets(a: int, b: int) -> None:
    assert value("W | R", W=a, R=b) == a | b
    assert value("W & R", W=a, R=b) == a & b
    assert value("W \\ R", W=a, R=b) == a & ~b
    assert value("~W", W=a) == ALL & ~a
    assert value("W * R", W=a, R=b) == from_pairs(list(product(members(a), members(b))), SIZE)
    assert value("[W]", W=a) == from_pairs([(x, x) for x in members(a)], SIZE)


def members(mask: int) -> list[int]:
    return [i for i in range(SIZE) if mask >> i & 1]


@given(relations, sets)
def test_only_executed_events_exist(r: Rows, executed: int) -> None:
    inside = tuple(row & executed if executed >> i & 1 else 0 for i, row in enumerate(r))
    for text in ("~po", "po?", "po*", "_ * _", "~(~po)"):
        found = value(text, po=inside, all=executed)
        assert not isinstance(found, int)
        assert all(executed >> i & 1 and executed >> j & 1 for i, j in pairs(found)), text
    assert value("~(~po)", po=inside, all=executed) == inside


@given(relations, relations)
def test_recursion_is_the_least_fixed_point(r: Rows, s: Rows) -> None:
    base: dict[str, Denotation] = {"_": ALL, "po": r, "rf": s}
    found = model(
        "let rec a = po | a; a\nlet rec even = rf | odd; po and odd = even; po\nlet rec b = po | (b; rf; b)\n"
        "let rec s = domain(po) | range([s]; rf)\nlet rec c = a | c; b"
    )
    a, even, odd, b, s_set, c = (d.expr for d in found.definitions)
    evaluator = Evaluator(base, SIZE, no_from_read)
    assert evaluator.relation(a) == closure(r)
    assert evaluator.relation(odd) == compose(evaluator.relation(even), r)
    assert evaluator.relation(even) == tuple(x | y for x, y in zip(s, compose(evaluator.relation(odd), r), strict=True))
    expected = set(pairs(r))
    while True:
        more = expected | {
            (w, z) for w, x in expected for x2, y in pairs(s) for y2, z in expected if x == x2 and y == y2
        }
        if more == expected:
            break
        expected = more
    assert set(pairs(evaluator.relation(b))) == expected
    reached = evaluator.set(s_set)
    assert all(reached >> j & 1 for i, j in pairs(s) if reached >> i & 1)
    closed = evaluator.relation(c)
    assert all(x & ~y == 0 for x, y in zip(compose(closed, evaluator.relation(b)), closed, strict=True))


@given(relations)
def test_a_cycle_is_found_exactly_when_there_is_one(r: Rows) -> None:
    found = cycle(r)
    has = any(row >> i & 1 for i, row in enumerate(closure(r)))
    assert (found is not None) == has
    if found is not None:
        assert len(set(found)) == len(found)
        for x, y in zip(found, (*found[1:], found[0]), strict=True):
            assert r[x] >> y & 1


@given(relations)
def test_axioms_and_flags(r: Rows) -> None:
    base: dict[str, Denotation] = {"_": ALL, "po": r, "W": 0b11}
    cyclic = cycle(r) is not None
    loops = any(row >> i & 1 for i, row in enumerate(r))
    for text, holds in (
        ("acyclic po", not cyclic),
        ("~acyclic po", cyclic),
        ("irreflexive po", not loops),
        ("~irreflexive po", loops),
        ("empty po", not any(r)),
        ("~empty po", any(r)),
        ("empty W & domain(po)", not (r[0] or r[1])),
    ):
        failing = consistent(model(f"{text} as x"), base, SIZE, no_from_read)
        assert (failing is None) == holds, text
        raised = flags(model(f"flag {text} as x"), base, SIZE, no_from_read)
        assert bool(raised) == holds, text
    raised = flags(model("flag ~empty po as x"), base, SIZE, no_from_read)
    assert [p for _, found in raised for p in found] == pairs(r)


def test_from_read_is_asked_of_the_execution() -> None:
    def answer(rows: Rows) -> Rows:
        assert rows == from_pairs([(0, 1)], SIZE)
        return from_pairs([(2, 1)], SIZE)

    expr = model("let it = from-read(co)").definitions[0].expr
    found = Evaluator({"_": ALL, "co": from_pairs([(0, 1)], SIZE)}, SIZE, answer).value(expr)
    assert found == from_pairs([(2, 1)], SIZE)
