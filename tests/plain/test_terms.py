"""z3 terms of values mean what the concrete evaluator says."""

from __future__ import annotations

import z3
from hypothesis import given
from hypothesis import strategies as st

from memcheck.events.value import OPERATIONS, Value, Values, evaluate
from memcheck.plain.terms import Terms

OPS = sorted(op for op in OPERATIONS if not op.startswith("fadd"))
numbers = st.one_of(st.integers(0, 3), st.integers(250, 255), st.integers(0, 255))


def checked(value: Value, reads: dict[int, int]) -> None:
    terms = Terms()
    substitution = [(terms.read(i, 8), z3.BitVecVal(n, 8)) for i, n in reads.items()]
    expected = evaluate(value, reads, {})
    found = z3.simplify(z3.substitute(terms.bits(value), *substitution))
    assert found.as_long() == expected, value
    if value.width == 1:
        truth = terms.truth(value)
        if not isinstance(truth, bool):
            truth = z3.is_true(z3.simplify(z3.substitute(truth, *substitution)))
        assert truth == bool(expected)


@given(st.sampled_from(OPS), numbers, numbers)
def test_operations(op: str, a: int, b: int) -> None:
    values = Values()
    checked(values.binary(op, values.read(1, 8), values.read(2, 8)), {1: a, 2: b})


@st.composite
def expressions(draw: st.DrawFn, values: Values, depth: int) -> Value:
    """A value of 8 bits over reads 1 and 2."""
    kind = draw(st.sampled_from(("read", "const") if depth == 0 else ("binary", "ite", "extend", "split", "read")))
    if kind == "read":
        return values.read(draw(st.integers(1, 2)), 8)
    if kind == "const":
        return values.const(draw(numbers), 8)
    a = draw(expressions(values, depth - 1))
    b = draw(expressions(values, depth - 1))
    if kind == "binary":
        made = values.binary(draw(st.sampled_from(OPS)), a, b)
        return values.zext(made, 8)
    if kind == "ite":
        condition = values.binary(draw(st.sampled_from(("eq", "ult", "slt"))), a, b)
        if draw(st.booleans()):
            condition = values.either(values.negate(condition), values.binary("eq", b, values.const(1, 8)))
        return values.ite(condition, a, b)
    if kind == "extend":
        wide = values.sext(a, 16) if draw(st.booleans()) else values.zext(a, 16)
        return values.extract(values.binary("add", wide, values.zext(b, 16)), draw(st.integers(0, 8)), 8)
    return values.extract(values.concat(a, b), draw(st.integers(0, 8)), 8)


@given(st.data(), numbers, numbers)
def test_expressions(data: st.DataObject, a: int, b: int) -> None:
    values = Values()
    value = data.draw(expressions(values, 3))
    checked(value, {1: a, 2: b})
    checked(values.binary("ult", value, values.const(7, 8)), {1: a, 2: b})


@given(st.sampled_from((16, 32)), st.data())
def test_float_addition(width: int, data: st.DataObject) -> None:
    patterns = st.one_of(st.integers(0, (1 << width) - 1), st.sampled_from((0, 1 << (width - 1))))
    a, b = data.draw(patterns), data.draw(patterns)
    values, terms = Values(), Terms()
    value = values.binary(f"fadd{width}", values.read(1, width), values.read(2, width))
    expected = evaluate(value, {1: a, 2: b}, {})
    exponent = {16: 0x1F << 10, 32: 0xFF << 23}[width]
    if any(n & exponent == exponent for n in (a, b)):
        return  # what a NaN's payload becomes nobody promises
    bound = [(terms.read(1, width), z3.BitVecVal(a, width)), (terms.read(2, width), z3.BitVecVal(b, width))]
    assert z3.simplify(z3.substitute(terms.bits(value), *bound)).as_long() == expected


def test_a_deep_value_does_not_overflow() -> None:
    values = Values()
    value = values.read(1, 8)
    for i in range(5000):
        value = values.binary("add", values.binary("xor", value, values.read(2, 8)), values.const(i % 7 + 1, 8))
    assert Terms().bits(value).size() == 8
