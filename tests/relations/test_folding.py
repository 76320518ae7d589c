"""A folded model says what the whole one says wherever the names it was folded over are empty."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck.cat import parse_model
from memcheck.events.vocabulary import VOCABULARY
from memcheck.models import NAMES, load
from memcheck.relations.expression import Expr, ExprKind, Model, Op
from memcheck.relations.folding import without
from memcheck.relations.rows import Rows, compose, from_pairs
from memcheck.relations.sets import Denotation, Evaluator, consistent, flags
from memcheck.source import SourceFile

SIZE = 4
ALL = (1 << SIZE) - 1
SETS = ("W", "R", "F")
RELATIONS = ("po", "rf", "co", "id")

_masks = st.integers(0, ALL)
_rows = st.tuples(*[_masks] * SIZE)


def _sets() -> st.SearchStrategy[str]:
    leaves = st.sampled_from((*SETS, *SETS, "_"))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(("|", "&", "\\")), inner).map(lambda t: f"({' '.join(t)})"),
            inner.map(lambda s: f"(~{s})"),
        ),
        max_leaves=3,
    )


def _relations(names: tuple[str, ...] = RELATIONS) -> st.SearchStrategy[str]:
    leaves = st.one_of(
        st.sampled_from(names),
        _sets().map(lambda s: f"[{s}]"),
        st.tuples(_sets(), _sets()).map(lambda t: f"({t[0]} * {t[1]})"),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(("|", "&", "\\", ";", ";")), inner).map(lambda t: f"({' '.join(t)})"),
            st.tuples(inner, st.sampled_from(("+", "*", "?", "^-1"))).map(lambda t: f"({t[0]}){t[1]}"),
            inner.map(lambda r: f"(~{r})"),
            inner.map(lambda r: f"[domain({r})]"),
            inner.map(lambda r: f"[range({r})]"),
            inner.map(lambda r: f"from-read({r})"),
        ),
        max_leaves=6,
    )


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """A model with a recursive definition, axioms and flags over SETS and RELATIONS."""
    lines = []
    recursive = draw(st.booleans())
    if recursive:
        first, second = draw(_relations()), draw(_relations())
        lines += [f"let rec a = {first} & rf | b; {second}", f"and b = (a; rf) | (b & {second}; co)"]
    names = (*RELATIONS, "a", "b") if recursive else RELATIONS
    for number in range(draw(st.integers(1, 3))):
        flag, negated = draw(st.sampled_from(("", "flag "))), draw(st.sampled_from(("", "~")))
        test = draw(st.sampled_from(("acyclic", "irreflexive", "empty")))
        lines.append(f"{flag}{negated}{test} {draw(_relations(names))} as n{number}")
    if draw(st.booleans()):
        lines.append(f"let coherence = {draw(_relations(names))}")
    return "\n".join(lines)


def _from_read(rows: Rows) -> Rows:
    """Any monotone function that makes nothing of nothing will do."""
    return compose(from_pairs([(2, 0), (1, 1), (3, 1)], SIZE), rows)


def _model(text: str) -> Model:
    return parse_model(SourceFile("test.cat", text))


@pytest.mark.parametrize("examples", [30, pytest.param(1_000, marks=pytest.mark.slow)], ids=["quick", "long"])
def test_the_same_axioms_flags_and_coherence(examples: int) -> None:
    arguments = _texts(), st.tuples(_masks, _masks, _masks), st.tuples(_rows, _rows, _rows), st.data()
    settings(max_examples=examples)(given(*arguments)(_folds))()


def _folds(text: str, sets: tuple[int, ...], relations: tuple[Rows, ...], data: st.DataObject) -> None:
    whole = _model(text)
    empty = frozenset(data.draw(st.sets(st.sampled_from((*SETS, "po", "rf", "co")))))
    base: dict[str, Denotation] = {"_": ALL, "id": from_pairs([(i, i) for i in range(SIZE)], SIZE)}
    base.update({name: 0 if name in empty else mask for name, mask in zip(SETS, sets, strict=True)})
    nothing = from_pairs([], SIZE)
    base.update({name: nothing if name in empty else r for name, r in zip(RELATIONS, relations, strict=False)})
    part = without(whole, empty)
    assert not part.names & empty
    left = {name: base[name] for name in part.names | {"_"}}  # nothing else may be asked of it

    def broken(model: Model, values: dict[str, Denotation]) -> str | None:
        axiom = consistent(model, values, SIZE, _from_read)
        return None if axiom is None else axiom.name

    assert broken(part, left) == broken(whole, base)
    raised = [(flag.name, found) for flag, found in flags(whole, base, SIZE, _from_read)]
    assert [(flag.name, found) for flag, found in flags(part, left, SIZE, _from_read)] == raised
    order = Evaluator(base, SIZE, _from_read).relation(whole.coherence)
    assert Evaluator(left, SIZE, _from_read).relation(part.coherence) == order


def _nodes(model: Model) -> set[Expr]:
    found: set[Expr] = set()
    pending = [model.coherence, *(a.expr for a in (*model.axioms, *model.flags))]
    while pending:
        expr = pending.pop()
        if expr not in found:
            found.add(expr)
            pending += expr.args
    return found


def test_what_is_left() -> None:
    model = _model(
        "let a = (po | rf)+; [W]\nlet rec b = rf | b; po\nacyclic a | b as kept\nempty rf; po as gone\n"
        "~empty rf as never\nflag ~empty [F]; rf? as raised\nflag empty rf as always\nflag ~empty rf as gone-too"
    )
    part = without(model, frozenset({"rf"}))
    assert [a.name for a in part.axioms] == ["kept", "never"]
    assert [f.name for f in part.flags] == ["raised", "always"]
    assert part.names == {"po", "W", "F", "co", "id"}
    kept = part.axioms[0].expr
    assert repr(kept) == ";(+(po), [](W))"
    assert repr(part.flags[0].expr) == "[](F)"


def test_folded_once() -> None:
    model = load("ptx")
    part = without(model, frozenset({"ALIAS", "no such name"}))
    assert without(model, frozenset({"ALIAS"})) is part


def test_nodes_that_shrink() -> None:
    """Over what two threads with loads and stores have not, most of a model is gone, and the empty set with it."""
    plain = {"_", "W", "R", "M", "IW", "WEAK", "RLX", "REL", "ACQ", "GPU", "GEN"}
    sets = {name for name, entry in VOCABULARY.items() if entry.kind is ExprKind.SET}
    for name in NAMES:
        model = load(name)
        part = without(model, frozenset(sets - plain))
        assert part.names <= model.names - (sets - plain) | {"id"}
        nodes = _nodes(part)
        assert all(e.op is not Op.EMPTY for e in nodes)
        if name == "ptx":
            assert len(nodes) < len(_nodes(model)) / 2
