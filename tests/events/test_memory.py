"""Where variables lie."""

from memcheck.events.memory import lay_out
from memcheck.events.structure import Kind
from memcheck.events.unfold import unfold
from memcheck.events.value import Values
from memcheck.events.windows import Windows
from memcheck.language.test import VariableKind
from memcheck.ptx.qualifiers import Proxy, Space
from tests.events.building import at, build, ld, op, st, var

TWO_CTAS = [{"cta": 0, "cluster": 0}, {"cta": 3, "cluster": 0}]


def test_variables_are_apart_and_aligned_no_better_than_declared():
    memory = lay_out(build([], variables=[var("x"), var("w", "b64", align=16), var("b", "b8", (1, 2, 3))]))
    x, w, b = (memory.instance(name) for name in "xwb")
    assert x.base % 8 == 4
    assert w.base % 32 == 16
    assert b.base % 2 == 1
    assert len({p for r in memory.regions for p in range(r.physical, r.physical + r.size)}) == 4 + 8 + 3


def test_initial_values_are_little_endian():
    memory = lay_out(build([], variables=[var("x", "u16", (0x1234, 0xABCD))]))
    base = memory.instance("x").physical
    assert memory.initial_value(base, 4) == 0xABCD1234
    assert memory.initial_value(base + 1, 2) == 0xCD12


def test_an_alias_has_its_own_virtual_address_and_a_view_does_not():
    variables = [
        var("y", aliases="x"),
        var("x", init=7),
        var("t", aliases="y", proxy=Proxy.TEXTURE),
    ]
    memory = lay_out(build([], variables=variables))
    x, y, t = (memory.instance(name) for name in "xyt")
    assert x.base != y.base
    assert (t.base, t.physical) == (y.base, x.physical)
    assert y.physical == x.physical
    assert [r.variable for r in memory.at(x.physical)] == ["x", "y", "t"]


def test_shared_variables_have_an_instance_a_cta():
    memory = lay_out(build([], [], variables=[var("s", space=Space.SHARED_CTA)], places=TWO_CTAS))
    first, second = memory.instance("s", 0), memory.instance("s", 3)
    assert first.base != second.base
    assert first.base & 0xFFFFF == second.base & 0xFFFFF
    assert first.physical != second.physical


def test_multimem_is_one_virtual_range_a_location():
    variables = [var("x"), var("y"), var("mm", kind=VariableKind.MULTIMEM, targets=("x", "y"))]
    memory = lay_out(build([], variables=variables))
    mm = memory.instance("mm")
    assert [memory.instance(f"mm->{v}").physical for v in "xy"] == [memory.instance(v).physical for v in "xy"]
    assert mm.base % 8 == 4
    assert mm.physical not in (memory.instance("x").physical, memory.instance("y").physical)


def addresses(test):
    structure = unfold(test)
    return [e.address.payload for e in structure.events if e.kind is not Kind.FENCE and e.index]


def test_own_shared_address_and_its_mapped_one_are_one_address():
    body = [
        op("mapa", "r1", "&s", 0, space=Space.SHARED_CLUSTER),
        op("cvta", "rd1", "&s", type="u64", space=Space.SHARED_CTA),
        op("mapa", "rd2", "rd1", 0, type="u64"),
        op("mapa", "rd3", "rd1", 1, type="u64"),
        op("mov", "r2", "&s"),
        st("s", 1, space=Space.SHARED_CTA),
        st("%r1", 1, space=Space.SHARED_CLUSTER),
        st("%rd1", 1),
        st("%rd2", 1),
        st("%r2", 1, space=Space.SHARED_CTA),
        st("%r2", 1, space=Space.SHARED_CLUSTER),
        st("s", 1),
        st("%rd3", 1),
    ]
    test = build(body, [st("s", 1)], variables=[var("s", space=Space.SHARED_CTA)], places=TWO_CTAS)
    first, second = (lay_out(test).instance("s", cta).base for cta in (0, 3))
    assert addresses(test) == [first] * 7 + [second, second]


def test_windows_come_back_from_generic():
    test = build([], [], variables=[var("s", space=Space.SHARED_CTA)], places=TWO_CTAS)
    memory, values = lay_out(test), Values()
    windows = Windows.of(test, test.threads[0].place)
    for cta, space in ((0, Space.SHARED_CTA), (3, Space.SHARED_CLUSTER)):
        generic = values.const(memory.instance("s", cta).base, 64)
        window = windows.from_generic(values, generic)
        assert windows.generic(values, window, space) is generic
    assert windows.is_shared(values, values.const(memory.instance("s", 3).base, 64), Space.SHARED_CTA) is values.false


def test_a_symbolic_shared_address_is_converted_case_by_case():
    body = [ld("r0", "x"), op("add", "r1", "r0", "&s"), ld("r2", "%r1", space=Space.SHARED_CTA)]
    test = build(body, variables=[var("x"), var("s", init=(0, 0), space=Space.SHARED_CTA)], observed=["0:r2"])
    structure = unfold(test)
    from memcheck.events.value import evaluate

    base = structure.memory.instance("s", 0).base
    assert evaluate(structure.events[2].address, {1: 4}, {}) == base + 4
    assert {m.rule for m in structure.misuses} == {
        "undefined-behaviour: access outside every variable",
        "undefined-behaviour: misaligned access",
    }
    assert [evaluate(m.condition, {1: n}, {}) for n in (0, 4, 8, 2) for m in structure.misuses] == [
        0, 0, 0, 0, 1, 0, 0, 1,
    ]  # fmt: skip


def test_memory_terms_with_offsets():
    test = build([st(at("x", 4), 1)], variables=[var("x", init=(0, 0))])
    assert addresses(test) == [lay_out(test).instance("x").base + 4]
