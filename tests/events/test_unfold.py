"""Threads to events: straight lines, branches, loops, vectors, misuse."""

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events import paths
from memcheck.events.structure import Kind, Structure
from memcheck.events.unfold import unfold
from memcheck.events.value import Values, evaluate
from memcheck.language.test import RegisterTerm, VariableKind
from memcheck.ptx import instructions as ptx
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.types import TYPES
from tests.events.building import (
    SPAN,
    at,
    atom,
    bra,
    build,
    fence,
    ld,
    op,
    r,
    red,
    ret,
    st,
    var,
)


def kinds(structure: Structure) -> str:
    return "".join(event.kind.value for event in structure.events[1:])


def guards(structure: Structure, **reads: int) -> list[int]:
    """Guards of all events but W0 when the reads `e1=…` return these numbers."""
    numbers = {int(name[1:]): number for name, number in reads.items()}
    return [evaluate(event.guard, numbers, {}) for event in structure.events[1:]]


def final(structure: Structure, term: tuple[int, str], **reads: int) -> int:
    numbers = {int(name[1:]): number for name, number in reads.items()}
    return evaluate(structure.final_registers[RegisterTerm(*term)], numbers, {})


def test_message_passing():
    flag = (Sem.RELAXED, Scope.GPU)
    test = build(
        [st("x", 1), fence(), st("y", 1, *flag)], [ld("r0", "y", *flag), fence(), ld("r1", "x")], observed=["1:r1"]
    )
    structure = unfold(test)
    assert kinds(structure) == "WFWRFR"
    assert [e.thread for e in structure.events] == [-1, 0, 0, 0, 1, 1, 1]
    assert all(e.guard is structure.values.true for e in structure.events)
    x, y = (structure.memory.instance(v).base for v in "xy")
    assert [e.address.payload for e in structure.events if e.address] == [x, y, y, x]
    assert sorted(structure.events[3].tags) == ["GEN", "GPU", "M", "RLX", "W", "_"]
    assert sorted(structure.events[5].tags) == ["ACQ_REL", "F", "GEN", "GPU", "_"]
    assert structure.final_registers[RegisterTerm(1, "r1")] is structure.events[6].value
    assert (structure.blocking, structure.bounds, structure.misuses, structure.notes) == ((), (), (), ())


def test_atomics_are_a_read_and_a_write():
    structure = unfold(build([atom("add", "r0", "x", 5, sem=Sem.ACQ_REL), red("add", "x", 1, sem=Sem.RELEASE)]))
    read, write, red_read, red_write = structure.events[1:]
    assert (read.sem, write.sem, red_read.sem, red_write.sem) == (
        Sem.ACQUIRE, Sem.RELEASE, Sem.RELAXED, Sem.RELEASE,
    )  # fmt: skip
    assert (write.rmw, red_write.rmw) == (1, 3)
    assert evaluate(write.value, {1: 2**32 - 2}, {}) == 3
    assert "RED" in red_read.tags
    assert "RED" in red_write.tags
    assert "RED" not in write.tags


def test_a_failing_cas_writes_nothing_and_its_operands_are_read_first():
    structure = unfold(build([op("mov", "r0", 3), atom("cas", "r0", "x", "r0", 9)], observed=["0:r0"]))
    assert [guards(structure, e1=n) for n in (3, 4)] == [[1, 1], [1, 0]]
    assert structure.events[2].value.payload == 9
    assert final(structure, (0, "r0"), e1=4) == 4


def test_both_branches_join_without_leaving_a_trace():
    body = [
        ld("r0", "x"),
        op("setp.eq", "p0", "r0", 0),
        bra("E", on="p0"),
        op("mov", "r1", 5),
        st("y", 1),
        bra("F"),
        "E:",
        op("mov", "r1", 6),
        "F:",
        st("z", "r1"),
    ]
    structure = unfold(build(body, observed=["0:r1"]))
    assert kinds(structure) == "RWW"
    assert [guards(structure, e1=n) for n in (0, 7)] == [[1, 0, 1], [1, 1, 1]]
    assert structure.events[3].guard is structure.values.true
    assert [evaluate(structure.events[3].value, {1: n}, {}) for n in (0, 7)] == [6, 5]
    assert structure.ends == (structure.values.true,)
    assert structure.control == {2: {1}, 3: {1}}


def test_predicated_instructions():
    body = [
        ld("r0", "x"),
        op("setp.ne", "p0", "r0", 0),
        op("mov", "r1", 1),
        op("mov", "r1", 2, on="p0"),
        st("y", "r1", on="!p0"),
        ret(on="p0"),
        st("z", 1),
    ]
    structure = unfold(build(body, observed=["0:r1"]))
    assert [guards(structure, e1=n) for n in (0, 1)] == [[1, 1, 1], [1, 0, 0]]
    assert [final(structure, (0, "r1"), e1=n) for n in (0, 1)] == [1, 2]
    assert structure.ends == (structure.values.true,)


def test_branches_on_what_is_known_are_followed():
    structure = unfold(build([op("mov", "r0", 3), bra("E", compare=("eq", "r0", 3)), st("x", 1), "E:", st("y", 1)]))
    assert [e.address.payload for e in structure.events[1:]] == [structure.memory.instance("y").base]


def test_short_comparisons_are_signed():
    structure = unfold(build([op("mov", "r0", -1), bra("E", compare=("lt", "r0", 0)), st("x", 1), "E:"]))
    assert kinds(structure) == ""


def test_a_spin_is_its_last_round():
    body = ["L:", ld("r0", "x"), bra("L", compare=("eq", "r0", 0)), st("y", 1)]
    structure = unfold(build(body, observed=["0:r0"]))
    assert kinds(structure) == "RW"
    assert structure.events[2].guard is structure.values.true
    (point,) = structure.blocking
    assert (point.before, point.polled, point.barrier) == (2, (1,), None)
    assert point.guard is structure.values.true
    assert [evaluate(point.passed, {1: n}, {}) for n in (0, 1)] == [0, 1]
    assert structure.bounds == ()
    assert structure.ends == (structure.values.true,)
    assert structure.control == {2: {1}}


def test_a_spin_left_in_the_middle():
    body = ["L:", ld("r2", "x"), bra("M", compare=("eq", "r1", "r2")), bra("L"), "M:", st("y", 1)]
    structure = unfold(build([atom("add", "r1", "z", 1), *body]))
    assert kinds(structure) == "RWRW"
    (point,) = structure.blocking
    assert [evaluate(point.passed, {1: 4, 3: n}, {}) for n in (4, 5)] == [1, 0]
    assert structure.events[4].guard is structure.values.true


def test_a_spin_with_two_exits_tells_them_apart():
    body = [
        "L:",
        ld("r0", "x"),
        bra("A", compare=("eq", "r0", 1)),
        bra("B", compare=("eq", "r0", 2)),
        bra("L"),
        "A:",
        st("y", 1),
        ret(),
        "B:",
        st("z", 1),
    ]
    structure = unfold(build(body))
    assert [guards(structure, e1=n) for n in (1, 2)] == [[1, 1, 0], [1, 0, 1]]
    (point,) = structure.blocking
    assert [evaluate(point.passed, {1: n}, {}) for n in (0, 1, 2)] == [0, 1, 1]
    assert structure.ends == (structure.values.true,)


def test_a_lock_is_a_spin_on_a_failing_cas():
    body = ["L:", atom("cas", "r0", "x", 0, 1), op("setp.ne", "p0", "r0", 0), bra("L", on="p0"), st("x", 0)]
    structure = unfold(build(body))
    assert kinds(structure) == "RWW"
    (point,) = structure.blocking
    assert [evaluate(point.passed, {1: n}, {}) for n in (0, 1)] == [1, 0]
    assert structure.bounds == ()


def test_a_cas_that_may_succeed_and_go_round_is_no_spin():
    body = ["L:", atom("cas", "r0", "x", 0, 1), bra("L", compare=("ne", "r0", 5))]
    structure = unfold(build(body), bound=2)
    assert kinds(structure) == "RWRWRW"
    assert structure.blocking == ()
    assert [bound.thread for bound in structure.bounds] == [0]
    assert evaluate(structure.bounds[0].reached, {1: 0, 3: 1, 5: 1}, {}) == 1
    assert evaluate(structure.ends[0], {1: 0, 3: 1, 5: 1}, {}) == 0
    assert evaluate(structure.ends[0], {1: 0, 3: 5, 5: 1}, {}) == 1


def test_a_loop_that_counts_its_rounds_is_no_spin():
    body = ["L:", ld("r0", "x"), op("add", "r1", "r1", 1), bra("L", compare=("ne", "r0", 1))]
    structure = unfold(build(body, observed=["0:r1"]), bound=3)
    assert kinds(structure) == "RRRR"
    assert structure.blocking == ()
    assert [final(structure, (0, "r1"), e1=0, e2=0, e3=n, e4=1) for n in (1, 0)] == [3, 4]


def test_what_a_round_leaves_behind_is_carried_out_of_it():
    # r1 is set in the round before the last one
    body = ["L:", ld("r0", "x"), bra("E", compare=("eq", "r0", 1)), ld("r1", "y"), bra("L"), "E:"]
    assert unfold(build(body, observed=["0:r1"]), bound=1).blocking == ()
    assert len(unfold(build(body, observed=["0:r0"]), bound=1).blocking) == 1


def test_loops_that_end_after_a_known_number_of_rounds():
    body = ["L:", st("x", "r0"), op("add", "r0", "r0", 1), bra("L", compare=("ne", "r0", 3))]
    structure = unfold(build(body))
    assert [e.value.payload for e in structure.events[1:]] == [0, 1, 2]
    assert structure.bounds == ()


def test_nested_loops_count_apart():
    body = [
        "A:",
        "B:",
        red("add", "x", 1),
        ld("r0", "y"),
        bra("B", compare=("ne", "r0", 0)),
        ld("r1", "z"),
        bra("A", compare=("ne", "r1", 0)),
    ]
    structure = unfold(build(body), bound=1)
    # both labels are one place: one loop, two ways back
    assert kinds(structure) == "RWRRRWRR"
    body.insert(1, st("x", 7))
    assert kinds(unfold(build(body), bound=1)) == 2 * ("W" + 2 * "RWR" + "R")


def test_nothing_to_do_for_ever():
    structure = unfold(build(["L:", bra("L")]))
    (point,) = structure.blocking
    assert (point.passed, point.polled) == (structure.values.false, ())
    assert structure.ends == (structure.values.false,)


def test_vectors_are_elements_in_no_order():
    body = [ld(["r0", None], "x"), st("x", ("r0", 7)), st("y", (None, 1))]
    structure = unfold(build(body, variables=[var("x", init=(0, 0), align=8), var("y", init=(0, 0), align=8)]))
    assert kinds(structure) == "RRWWW"
    base = structure.memory.instance("x").base
    assert [e.address.payload - base for e in structure.events[1:5]] == [0, 4, 0, 4]
    groups = [e.unordered_group for e in structure.events[1:]]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert structure.events[5].address.payload == structure.memory.instance("y").base + 4


def test_packed_atomics_are_two():
    structure = unfold(build([atom("add", "r0", "x", 0x3C004000, type="f16x2")], observed=["0:r0"]))
    assert kinds(structure) == "RWRW"
    assert [e.size for e in structure.events[1:]] == [2] * 4
    # 2.0 + 2.0 and 1.0 + 1.0
    assert evaluate(structure.events[2].value, {1: 0x4000}, {}) == 0x4400
    assert evaluate(structure.events[4].value, {3: 0x3C00}, {}) == 0x4000
    assert final(structure, (0, "r0"), e1=0x1111, e3=0x2222) == 0x22221111


def test_widths_and_signs():
    body = [ld("r0", "x", type="s8"), ld("r1", "x", type="u8"), ld("rd0", "x", type="s32"), st("y", "rd0", type="b16")]
    structure = unfold(build(body, observed=["0:r0", "0:r1", "0:rd0"]))
    assert [final(structure, (0, n), e1=0x80, e2=0x80, e3=0x80000000) for n in ("r0", "r1", "rd0")] == [
        0xFFFFFF80, 0x80, 0xFFFFFFFF80000000,
    ]  # fmt: skip
    assert evaluate(structure.events[4].value, {3: 0x12345678}, {}) == 0x5678


def test_addresses_in_registers():
    structure = unfold(build([op("mov", "r1", "&y"), st(at("%r1"), 1), ld("r0", "%r2")], initial={0: {"r2": "&x"}}))
    assert [e.address.payload for e in structure.events[1:]] == [structure.memory.instance(v).base for v in "yx"]
    assert structure.misuses == ()


def multimem(kind: str, operation: str | None = None, **more: object) -> ptx.Multimem:
    return ptx.Multimem(
        text=f"multimem.{kind}", span=SPAN, kind=ptx.MultimemKind(kind), address=at("mm"), type=TYPES["u32"],
        op=None if operation is None else ptx.AtomOp(operation), **more,
    )  # fmt: skip


def test_multimem_accesses_every_location():
    store = multimem("st", destinations=(), sources=(r("r0"),), sem=Sem.WEAK, scope=None)
    load = multimem("ld_reduce", "add", destinations=(r("r1"),), sources=(), sem=Sem.RELAXED, scope=Scope.SYS)
    variables = [var("x"), var("y"), var("mm", kind=VariableKind.MULTIMEM, targets=("x", "y"))]
    test = build([store, load], variables=variables, observed=["0:r1"], initial={0: {"r0": 4}})
    structure = unfold(test)
    assert kinds(structure) == "WWRR"
    memory = structure.memory
    assert [memory.physical(e.address.payload, 4) for e in structure.events[1:]] == 2 * [
        memory.instance(v).physical for v in "xy"
    ]
    assert final(structure, (0, "r1"), e3=3, e4=5) == 8
    with pytest.raises(SourceError, match="multimem address"):
        unfold(build([st("mm", 1)], variables=variables))
    with pytest.raises(SourceError, match="not inside a multimem"):
        unfold(build([multimem("st", destinations=(), sources=(r("r0"),), sem=Sem.WEAK, scope=None)],
                     variables=[*variables[:2], var("mm")]))  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([ld("r0", at("x", 4))], "not inside x, which has 4"),
        ([ld("rd0", "x", type="b64")], "not inside x"),
        ([ld("r0", at("w", 2))], "not aligned to 4 bytes"),
        ([ld(["r0", "r1"], "w")], r"\.align 8"),
        ([ld("r0", "x", space=Space.SHARED_CTA)], "cannot access"),
        ([ld("r0", "s", space=Space.GLOBAL)], "not inside s"),
        ([st("c", 1)], "cannot access"),
        ([op("mov", "r0", "&x"), op("add", "r0", "r0", 64), ld("r1", "%r0")], "not inside any variable"),
    ],
)
def test_accesses_that_are_wrong_as_they_stand(body, message):
    variables = [
        var("x"), var("w", init=(0, 0)), var("s", space=Space.SHARED_CTA), var("c", space=Space.CONST),
    ]  # fmt: skip
    with pytest.raises(SourceError, match=message):
        unfold(build(body, variables=variables))


def test_an_access_that_may_go_wrong_is_a_misuse():
    body = [ld("r0", "x"), op("add", "r1", "r0", "&x"), st("%r1", 1)]
    structure = unfold(build(body))
    by_rule = {m.rule: m for m in structure.misuses}
    y = structure.memory.instance("y").base - structure.memory.instance("x").base
    for number, wrong in ((0, None), (y, None), (2**31, "access outside every variable"), (1, None)):
        held = [rule for rule, m in by_rule.items() if evaluate(m.condition, {1: number}, {})]
        if number == 1:
            assert held == ["undefined-behaviour: access outside every variable"]
        else:
            assert held == ([] if wrong is None else [f"undefined-behaviour: {wrong}"])
    assert {m.event for m in structure.misuses} == {2}


def test_a_static_fault_behind_a_branch_is_a_misuse():
    body = [ld("r0", "x"), bra("E", compare=("eq", "r0", 0)), st(at("x", 8), 1), "E:"]
    (misuse,) = unfold(build(body)).misuses
    assert [evaluate(misuse.condition, {1: n}, {}) for n in (0, 1)] == [0, 1]


def test_uninitialised_registers_are_noted():
    assert unfold(build([st("x", "r5")])).notes == ("P0:r5 is read before anything is written to it; it starts as 0",)


def test_uninitialised_variables_are_noted_when_nobody_stores_to_them():
    body = [ld("r0", "x"), ld("r1", "y"), ld("r2", "z"), st("y", 1)]
    variables = [var("x", initialised=False), var("y", initialised=False), var("z")]
    assert unfold(build(body, variables=variables)).notes == (
        "x is read, and nothing gives it a value: its bytes are taken to be 0 (8.2.6)",
    )


def test_what_is_not_decided_yet_is_named():
    with pytest.raises(UnsupportedError, match=r"mul\.lo of f32"):
        unfold(build([op("mul.lo", "r0", 1, 2, type="f32")]))


def test_proxies_have_their_sets():
    structure = unfold(build([ld("r0", "x", proxy=Proxy.TEXTURE), ld("r1", "x", proxy=Proxy.READONLY)]))
    assert ["TEX" in structure.events[1].tags, "GEN" in structure.events[1].tags] == [True, False]
    assert "RO" in structure.events[2].tags


def test_paths_join_to_their_prefix():
    values = Values()
    a, b, c = (values.read(i, 1) for i in range(3))
    negate = values.negate
    assert paths.join(values, (a, b), (a, negate(b))) == (a,)
    assert paths.join(values, (a, b), (negate(a),)) == (values.either(b, negate(a)),)
    assert paths.extend(values, (a,), negate(a)) is None
    assert paths.extend(values, (a,), a) == (a,)
    # one of three ways out of a loop, given that one is taken
    exits, backs = [(a,), (negate(a), b)], [(negate(a), negate(b))]
    assert paths.contract(values, exits, backs) == [(a,), (negate(a),)]
    assert paths.contract(values, [(a, c), (a, negate(c))], [(negate(a),)]) == [(c,), (negate(c),)]


def test_every_read_is_its_own_value():
    structure = unfold(build([ld("r0", "x"), ld("r1", "y")]))
    assert [e.value.payload for e in structure.events if e.kind is Kind.READ] == [1, 2]


def test_a_loop_with_a_way_back_into_its_middle_is_no_spin():
    body = ["B:", ld("r0", "x"), "A:", bra("B", compare=("eq", "r0", 0)), ld("r0", "y"), bra("A")]
    structure = unfold(build(body), bound=1)
    assert structure.blocking == ()
    assert len(structure.bounds) == 2
    # in the second round, control comes from the first one either way
    assert [guards(structure, e1=n, e2=0, e3=0, e4=0) for n in (0, 1)] == [[1, 0, 1, 0], [1, 1, 0, 0]]


def test_a_loop_found_to_be_no_spin_is_none_in_any_round():
    body = ["L:", atom("cas", "r0", "x", 0, 1), bra("E", compare=("eq", "r0", 5)), bra("L"), "E:", st("y", 1)]
    structure = unfold(build(body), bound=2)
    assert structure.blocking == ()
    assert kinds(structure) == "RWRWRWW"
