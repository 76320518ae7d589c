"""The cat language: precedence, kinds, names, functions, recursion, options, comments, and located errors."""

from __future__ import annotations

import pytest

from memcheck.cat import parse_model
from memcheck.errors import MemcheckError, SourceError
from memcheck.relations.expression import Expr, ExprKind, Model, Op
from memcheck.source import SourceFile


def model(text: str, *options: str) -> Model:
    return parse_model(SourceFile("test.cat", text), options)


def expr(text: str) -> Expr:
    return model(f"let it = {text}").definitions[-1].expr


def error(text: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        model(text)
    return caught.value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("po | rf; co", "po | (rf; co)"),
        ("po; rf \\ co", "po; (rf \\ co)"),
        ("po \\ rf & co", "po \\ (rf & co)"),
        ("po & W * R", "po & (W * R)"),
        ("po & rf | co", "(po & rf) | co"),
        ("po \\ rf \\ co", "po \\ (rf | co)"),
        ("po; rf; co", "(po; rf); co"),
        ("~po & rf", "(~po) & rf"),
        ("~po+", "~(po+)"),
        ("po^-1+", "(po^-1)+"),
        ("po? ; rf*", "(po?); (rf*)"),
        ("po^* | rf", "(po*) | rf"),
        ("[W]; po; [R]", "(([W]); po); ([R])"),
        ("W * R | po*", "(W * R) | (po*)"),
        ("_ * _ \\ M * M", "(_ * _) \\ (M * M)"),
    ],
)
def test_precedence(written: str, meant: str) -> None:
    both = model(f"let a = {written}\nlet b = {meant}").definitions
    assert both[0].expr is both[1].expr


def test_star_is_product_before_an_operand_and_closure_elsewhere() -> None:
    assert expr("W * R").op is Op.PRODUCT
    assert expr("po*").op is Op.STAR
    assert model("let a = po*\nacyclic a as x").axioms[0].expr.op is Op.STAR
    assert model("let a = po*\n~empty a as x").axioms[0].negated


def test_equal_expressions_are_one_node() -> None:
    a, b = model("let a = (po | rf)+\nlet b = (po | rf)+").definitions
    assert a.expr is b.expr


def test_a_name_can_be_defined_again_from_itself() -> None:
    found = model("let co = co+\nlet fr = rf^-1; co")
    assert found.definitions[0].expr.op is Op.PLUS
    assert found.definitions[1].expr.op is Op.FROM_READ
    assert found.definitions[1].expr.args[0] is found.definitions[0].expr


def test_reads_from_backwards_then_an_order_of_writes_is_from_read() -> None:
    chain = expr("[R]; rf^-1; co; [W]")
    assert chain.op is Op.SEQ
    assert chain.args[0].op is Op.SEQ
    assert chain.args[0].args[1].op is Op.FROM_READ
    assert expr("rf^-1; rf").op is Op.SEQ
    assert expr("rf^-1; (co & loc)").op is Op.FROM_READ


def test_lets_with_and_see_the_names_before_them() -> None:
    a, b = model("let po = rf and rf = po").definitions
    assert (a.expr.name, b.expr.name) == ("rf", "po")


def test_functions_are_expanded_at_use_with_the_scope_of_their_definition() -> None:
    found = model("let twice(r) = r; r\nlet one x = x | po\nlet po = rf\nlet a = twice(co)\nlet b = one co")
    named = {d.name: d.expr for d in found.definitions}
    assert set(named) == {"po", "a", "b"}
    assert named["a"].args == (expr_base(found, "co"), expr_base(found, "co"))
    assert [arg.name for arg in named["b"].args] == ["co", "po"]


def expr_base(found: Model, name: str) -> Expr:
    stack = [d.expr for d in found.definitions]
    while stack:
        node = stack.pop()
        if node.op is Op.BASE and node.name == name:
            return node
        stack.extend(node.args)
    raise AssertionError(name)


def test_functions_of_several_parameters_and_sets() -> None:
    found = expr_of("let between(s, t) = [s]; po; [t]\nlet it = between(W, R & M)")
    assert found.kind is ExprKind.RELATION
    assert expr_of("let writes s = s & W\nlet it = writes (M | R)").kind is ExprKind.SET


def expr_of(text: str) -> Expr:
    return model(text).definitions[-1].expr


def test_nested_calls_do_not_blow_up() -> None:
    doubling = "\n".join(f"let f{i}(r) = f{i - 1}(r | po); f{i - 1}(r | po)" for i in range(1, 41))
    assert expr_of(f"let f0(r) = r\n{doubling}\nlet it = f40(rf)").op is Op.SEQ


def test_zero_takes_the_kind_that_it_needs() -> None:
    assert expr("0").kind is ExprKind.RELATION
    assert expr("W | 0").kind is ExprKind.SET
    assert expr("[emptyset]").kind is ExprKind.RELATION
    assert expr("po \\ 0").kind is ExprKind.RELATION
    assert expr("domain(0)").kind is ExprKind.SET


def test_recursion() -> None:
    found = model("let rec a = po | b; a and b = [s]; rf and s = range(a)")
    a, b, s = found.definitions
    assert (a.expr.op, b.expr.op) == (Op.REC, Op.REC)
    assert s.expr.kind is ExprKind.SET
    assert a.expr.group is b.expr.group is s.expr.group
    assert a.expr.group is not None
    assert a.expr.group.names == ("a", "b", "s")


@pytest.mark.parametrize("body", ["po \\ a", "~a", "po | (rf \\ (a; po))", "po & ~(a | rf)"])
def test_recursion_must_be_monotone(body: str) -> None:
    assert "least fixed point" in error(f"let rec a = {body}").message


def test_double_negation_is_monotone() -> None:
    assert model("let rec a = po | ~(~a)").definitions[0].expr.op is Op.REC
    assert model("let rec a = po | rf \\ (co \\ a)").definitions[0].expr.op is Op.REC


def test_axioms_flags_and_names() -> None:
    found = model(
        "let race = po\nacyclic po | rf as one\nflag ~empty race as two\nirreflexive po\nempty W & R as three"
    )
    assert [(a.test.value, a.negated, a.name) for a in found.axioms] == [
        ("acyclic", False, "one"),
        ("irreflexive", False, "irreflexive-4"),
        ("empty", False, "three"),
    ]
    assert [(f.test.value, f.negated, f.name) for f in found.flags] == [("empty", True, "two")]


def test_only_what_axioms_and_flags_reach_counts_as_used() -> None:
    found = model("let dead = syncbar; addr\nacyclic po as a\nflag ~empty rf as b")
    assert found.names == {"po", "rf", "co"}
    assert found.coherence.name == "co"


def test_coherence_is_the_last_definition_of_that_name() -> None:
    assert model("let coherence = co\nlet coherence = co+").coherence.op is Op.PLUS


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("PTX\nlet a = po", "PTX"),
        ('"A title"\nlet a = po', "A title"),
        ('PTX "A title"', "A title"),
        ("PTX other", "other"),
        ("let a = po", ""),
        ("", ""),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert model(text).title == title


def test_options_choose() -> None:
    text = 'let it = if "tearing" then po else rf'
    assert model(text).definitions[0].expr.name == "rf"
    assert model(text, "tearing").definitions[0].expr.name == "po"
    with pytest.raises(MemcheckError, match="did you mean `tearing`"):
        model(text, "tering")
    assert "tearing" in (error('let it = if "tearin" then po else rf').hint or "")


def test_comments_go_to_what_follows_them() -> None:
    found = model(
        "(* 8.7\n   Morally strong *)\nlet a = po (* not this *)\nlet b = po\n// one\n// two\nacyclic a as x\n\n"
        "// apart\n\nflag ~empty a as y\n(* outer (* inner // *) still *)\nlet c = a"
    )
    a, b, c = found.definitions
    assert a.comment == "8.7 Morally strong"
    assert b.comment == a.comment, "one block of lines has one comment"
    assert c.comment == "outer (* inner // *) still"
    assert found.axioms[0].comment == "one two"
    assert found.flags[0].comment == ""


def test_a_closure_before_a_parenthesis_ends_no_comment() -> None:
    assert expr("(po*) | (rf*)").op is Op.UNION


def test_show() -> None:
    found = model("let a = po\nshow a, rf\nshow a; rf as b\nunshow a\nlet c = b")
    assert found.shows == ("a", "rf", "b")
    assert found.definitions[-1].expr.op is Op.SEQ


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("let a = po |", 1, 12, "middle of a statement"),
        ("let a = po\nlet b = pp", 2, 9, "no set or relation `pp`"),
        ("let a = W; po", 1, 9, "needs a relation"),
        ("let a = po * W", 1, 9, "needs a set"),
        ("let a = po | W", 1, 14, "differ"),
        ("let a = [po]", 1, 10, "needs a set"),
        ("acyclic W as x", 1, 9, "about a relation"),
        ("let a = $", 1, 9, "unexpected character"),
        ("let a = po )", 1, 12, "unexpected `)`"),
        ("let f(x) = x\nlet a = f(po, po)", 2, 9, "takes 1 argument, not 2"),
        ("let f(x) = x\nlet a = f", 2, 9, "is a function"),
        ("let a = po(rf)", 1, 9, "no function"),
        ("let a = nope(rf)", 1, 9, "no function `nope`"),
        ("let f(x, x) = x", 1, 10, "named twice"),
        ("let rec f(x) = x", 1, 9, "cannot be recursive"),
        ("procedure f() = end", 1, 1, "not supported"),
        ("let a = po\n (* open", 2, 2, "has no end"),
        ('include "nowhere.cat"', 1, 9, "no file"),
        ("let rec a = po | b and b = W", 1, 18, "differ"),
    ],
)
def test_errors_have_places(text: str, line: int, column: int, says: str) -> None:
    found = error(text)
    assert says in found.message
    assert (found.span.line, found.span.column) == (line, column)
    assert "test.cat" in str(found)


def test_near_names_are_offered() -> None:
    assert "`rf`" in (error("let a = rff").hint or "")
    assert "`twice`" in (error("let twice(x) = x\nlet a = twise(po)").hint or "")


def test_an_error_in_a_function_tells_the_call() -> None:
    found = error("let f(x) = x; po\nlet a = f(W)")
    assert found.span.line == 1
    assert "as called at test.cat:2:9" in found.message


def test_deep_input_is_refused_or_read_but_never_overflows() -> None:
    assert "nested" in error("let a = " + "(" * 5000 + "po" + ")?" * 5000).message
    assert "nested" in error("let a = " + "~" * 5000 + "po").message
    assert "nested" in error("let a = po" + "+" * 5000).message
    assert "deep" in error("let a0 = po\n" + "\n".join(f"let a{i} = a{i - 1}; rf" for i in range(1, 2000))).message
    for operator in ("|", ";", "&", "\\"):
        assert expr(f" {operator} ".join(["po", "rf"] * 2000)).kind is ExprKind.RELATION
    assert (
        "deep"
        in error(
            "let f0(x) = x\n" + "\n".join(f"let f{i}(x) = f{i - 1}(x)" for i in range(1, 99)) + "\nlet a = f98(po)"
        ).message
    )


def test_includes(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "base.cat").write_text("let mine = po\n")
    (folder / "loop.cat").write_text('include "loop.cat"\n')
    text = 'include "base.cat"\nacyclic mine as x'
    found = parse_model(SourceFile(str(folder / "main.cat"), text))
    assert found.axioms[0].expr.name == "po"
    with pytest.raises(SourceError, match="includes itself"):
        parse_model(SourceFile(str(folder / "main.cat"), 'include "loop.cat"'))
