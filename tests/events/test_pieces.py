"""Where weak copies are cut: through chains of copies, at what others touch; the numbers that a value can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck.events.alternatives import LIMIT, alternatives
from memcheck.events.memory import Memory, Region
from memcheck.events.pieces import _cut, _spread
from memcheck.events.plan import NOWHERE, Ranges, Run
from memcheck.events.structure import Structure
from memcheck.events.value import Value, Values, evaluate
from memcheck.ptx.qualifiers import Space
from tests.events.copying import place, structure, told

OUT = "cp.async.bulk.global.shared::cta.bulk_group"
IN = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"


def writes(found: Structure) -> list[list[str]]:
    """The places that each copy writes, mbarriers left out."""
    return [
        [place(found, found.events[e]) for e in operation.events if "PIECE" in found.events[e].tags][1::2]
        for operation in found.operations
    ]


def test_a_cut_of_one_copy_is_a_cut_of_the_next():
    found = structure(f"{IN} [s], [x], 32, [m]; {OUT} [y], [s+16], 16; ld.global.b16 rs0, [y+6];")
    assert writes(found) == [
        ["s+16:6 @0", "s+22:2 @0", "s+24:8 @0"],
        ["y+0:6", "y+6:2", "y+8:8"],
    ]
    _, second = found.operations
    assert told(found, second) == [
        "R s+16:6 @0", "W y+0:6 <- 0", "R s+22:2 @0", "W y+6:2 <- 2", "R s+24:8 @0", "W y+8:8 <- 4",
    ]  # fmt: skip


def test_cuts_go_back_to_the_source_of_the_first():
    found = structure(f"{IN} [s], [x], 16, [m]; {OUT} [y], [s], 16; st.global.b32 [x+4], 1;")
    assert writes(found) == [["s+0:4 @0", "s+4:4 @0", "s+8:8 @0"], ["y+0:4", "y+4:4", "y+8:8"]]


def test_copies_in_a_circle_are_cut_until_nothing_changes():
    found = structure(f"{IN} [s], [x], 32, [m]; {OUT} [x+16], [s], 16; ld.global.b8 r0, [x+1];")
    assert writes(found) == [
        ["s+0:1 @0", "s+1:1 @0", "s+2:14 @0", "s+16:1 @0", "s+17:1 @0", "s+18:14 @0"],
        ["x+16:1", "x+17:1", "x+18:14"],
    ]


def test_pieces_that_nothing_else_touches_are_left_out():
    assert writes(structure(f"{OUT} [y], [s], 64;")) == [["y+0:64"]]
    assert writes(structure(f"{OUT} [y], [s], 64; st.shared.b32 [s+8], 1;")) == [["y+8:4"]]
    assert writes(structure(f"{OUT} [y], [s], 64; ld.global.b32 r0, [y+8];")) == [["y+8:4"]]
    twice = f"{OUT} [y], [s], 32; " * 2
    assert writes(structure(twice)) == [["y+0:32"]] * 2
    assert writes(structure(twice + "ld.global.b32 r0, [y];")) == [["y+0:4", "y+4:28"]] * 2
    assert writes(structure(f"{OUT} [y], [s], 32; {OUT} [y+16], [s+16], 32;")) == [["y+16:16"]] * 2


def test_observed_elements_cut():
    body = f"{OUT} [y], [s], 64;"
    assert writes(structure(body, end="exists (y[2] = 0)")) == [["y+8:4"]]
    assert writes(structure(body, end="locations [y[3]; y[4]] exists (w = 0)")) == [["y+12:4", "y+16:4"]]
    assert writes(structure(body, end="exists (s[1] @ cta 0 = 0)")) == [["y+4:4"]]
    assert writes(structure(body, end="")) == [[f"y+{4 * k}:4" for k in range(16)]]


def test_aliases_and_other_threads_cut():
    more = ".global z aliases y;"
    assert writes(structure(f"{OUT} [y], [s], 64;", "st.global.b32 [z+8], 1;", more=more)) == [["y+8:4"]]
    found = structure(f"{OUT} [y], [s], 64;", "st.shared.b64 [s+8], 1;")
    assert writes(found) == [["y+0:64"]]  # that is the other CTA's
    found = structure(f"{OUT} [y], [s], 64;", "st.shared.b64 [s+8], 1;", places=["cta 0", "cta 0"])
    assert writes(found) == [["y+8:8"]]


def test_an_access_at_an_address_that_is_read_cuts_at_every_multiple_of_its_size():
    found = structure(f"ld.global.b64 rd0, [x]; ld.global.b64 rd1, [rd0]; {OUT} [y], [s], 32;")
    assert writes(found) == [["y+0:8", "y+8:8", "y+16:8", "y+24:8"]]
    shared = structure(f"ld.global.b32 r0, [x]; ld.shared.b64 rd1, [r0]; {OUT} [y], [s], 16;")
    assert writes(shared) == [["y+0:8", "y+8:8"]]
    choice = "ld.global.b32 r0, [x]; setp.eq.u32 p0, r0, 0; selp.b32 r1, 4, 12, p0; mov.u32 r2, s; add.u32 r1, r1, r2;"
    few = structure(f"{choice} ld.shared.b32 r3, [r1]; {OUT} [y], [s], 16;")
    assert writes(few) == [["y+4:4", "y+12:4"]]


def test_copies_of_a_branch_that_is_not_taken_count_too():
    found = structure(f"ld.global.b32 r0, [x]; setp.eq.u32 p0, r0, 0; @p0 {OUT} [y], [s], 32; {OUT} [y], [s+16], 16;")
    assert writes(found) == [["y+0:16", "y+16:16"], ["y+0:16"]]


def test_a_test_without_copies_is_walked_once(monkeypatch):
    from memcheck.events import unfold

    passes = []
    walk = unfold._pass
    monkeypatch.setattr(unfold, "_pass", lambda *rest: passes.append(rest[3:]) or walk(*rest))
    structure("st.global.b32 [x], 1; ld.global.b32 r0, [y];")
    assert passes == [()]
    passes.clear()
    structure(f"{OUT} [y], [s], 32;")
    assert len(passes) == 2
    passes.clear()
    structure("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m];")
    assert len(passes) == 1


# --- the least fixed point


SIZE = 24
MEMORY = Memory((Region("x", 0x100, SIZE, 0x100, Space.GLOBAL),), {}, {})


@st.composite
def runs(draw: st.DrawFn) -> Run:
    size = draw(st.integers(1, 8))
    where = st.integers(0x100, 0x100 + SIZE - size)
    return Run(draw(st.none() | where), draw(st.just(NOWHERE) | where), size)


@given(st.lists(runs(), max_size=5), st.sets(st.integers(0x100, 0x100 + SIZE), max_size=3))
def test_spread_is_the_least_set_that_agrees_at_both_ends(listed: list[Run], first: set[int]):
    found = set(first)
    _spread(MEMORY, listed, found)
    slow = set(first)
    for _ in range(SIZE + 1):
        for run in listed:
            for k in range(1, run.size):
                ends = {run.source + k, run.destination + k} if run.source and run.destination != NOWHERE else set()
                if ends & slow:
                    slow |= ends
    assert found == slow


@given(runs(), st.sets(st.integers(0x0F8, 0x108 + SIZE)), st.integers(0, 2**64 - 1))
def test_pieces_make_up_the_whole(run: Run, cuts: set[int], number: int):
    if run.source is None:
        run = Run(None, run.destination, run.size, number & (1 << 8 * run.size) - 1)
    pieces = _cut(MEMORY, sorted(cuts), run)
    assert sum(piece.size for piece in pieces) == run.size
    at = 0
    whole = 0
    for piece in pieces:
        assert piece.source == (None if run.source is None else run.source + at)
        assert piece.destination == (NOWHERE if run.destination == NOWHERE else run.destination + at)
        whole |= (piece.fill or 0) << 8 * at
        ends = [a + at for a in (run.source, run.destination) if a]
        assert not at or any(end in cuts for end in ends)
        assert not any(end + k in cuts for end in ends for k in range(1, piece.size))
        at += piece.size
    assert whole == (run.fill or 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5))), st.integers(0, 20), st.integers(1, 5))
def test_ranges_meet_where_a_byte_is_in_both(listed: list[tuple[int, int]], start: int, size: int):
    inside = {byte for low, length in listed for byte in range(low, low + length)}
    ranges = Ranges((low, low + length) for low, length in listed)
    assert ranges.meets(start, start + size) == any(byte in inside for byte in range(start, start + size))


# --- alternatives


def values_of(values: Values) -> st.SearchStrategy[Value]:
    """Values of 8 bits over two reads and a choice."""
    leaves = st.sampled_from(
        [values.read(1, 8), values.read(2, 8), values.choice(0, 8), *(values.const(n, 8) for n in (0, 1, 3, 16, 255))]
    )

    def grow(smaller: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
        pairs = st.tuples(smaller, smaller)
        return (
            st.tuples(st.sampled_from(["add", "sub", "and", "or", "xor", "shl", "urem"]), pairs).map(
                lambda x: values.binary(x[0], *x[1])
            )
            | st.tuples(st.sampled_from(["eq", "ult"]), pairs, pairs).map(
                lambda x: values.ite(values.binary(x[0], *x[1]), *x[2])
            )
            | smaller.map(lambda v: values.zext(values.extract(v, 2, 3), 8))
            | smaller.map(lambda v: values.sext(values.extract(v, 1, 2), 8))
            | pairs.map(lambda p: values.concat(values.extract(p[0], 0, 4), values.extract(p[1], 4, 4)))
        )

    return st.recursive(leaves, grow, max_leaves=6)


VALUES = Values()
CHOICES = ((2, 7),)


@given(
    values_of(VALUES),
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255), st.sampled_from(CHOICES[0])), min_size=1),
)
def test_alternatives_hold_every_number_that_a_value_can_be(value: Value, given_numbers: list[tuple[int, int, int]]):
    found = alternatives(value, CHOICES)
    for first, second, choice in given_numbers:
        assert found is None or evaluate(value, {1: first, 2: second}, {0: choice}) in found


@pytest.mark.parametrize(
    ("make", "numbers"),
    [
        (lambda v: v.const(5, 8), {5}),
        (lambda v: v.read(1, 8), None),
        (lambda v: v.choice(0, 8), {2, 7}),
        (lambda v: v.ite(v.extract(v.read(1, 8), 0, 1), v.const(4, 8), v.const(16, 8)), {4, 16}),
        (lambda v: v.ite(v.binary("ult", v.choice(0, 8), v.const(9, 8)), v.const(4, 8), v.read(1, 8)), {4}),
        (lambda v: v.binary("shl", v.binary("and", v.read(1, 8), v.const(1, 8)), v.const(4, 8)), {0, 16}),
        (lambda v: v.binary("and", v.read(1, 8), v.const(0x1F, 8)), None),
        (lambda v: v.extract(v.read(1, 8), 0, 2), {0, 1, 2, 3}),
        (lambda v: v.sext(v.extract(v.read(1, 8), 0, 1), 8), {0, 255}),
    ],
)
def test_alternatives(make, numbers):
    assert alternatives(make(VALUES), CHOICES) == numbers


def test_many_alternatives_are_anything():
    sum_of_bits = VALUES.const(0, 16)
    for bit in range(8):
        one = VALUES.zext(VALUES.extract(VALUES.read(1, 16), bit, 1), 16)
        sum_of_bits = VALUES.binary("add", sum_of_bits, VALUES.binary("shl", one, VALUES.const(bit, 16)))
        found = alternatives(sum_of_bits, ())
        assert found == (frozenset(range(2 << bit)) if 2 << bit <= LIMIT else None)
