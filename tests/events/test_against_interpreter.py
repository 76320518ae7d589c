"""Generated threads: for any values read, the structure's events are what a thread on numbers does."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from memcheck.events.structure import Kind, Structure
from memcheck.events.unfold import unfold
from memcheck.events.value import evaluate
from memcheck.language.test import RegisterTerm
from tests.events.building import atom, bra, build, ld, op, ret
from tests.events.building import st as store
from tests.events.interpreter import Access, OutOfValuesError, run

REGISTERS = st.sampled_from(("r0", "r1", "r2"))
PREDICATES = st.sampled_from(("p0", "p1"))
SOURCES = REGISTERS | st.integers(0, 2)
GUARDS = st.none() | st.none() | PREDICATES | PREDICATES.map(lambda p: f"!{p}")
VARIABLES = st.sampled_from("xyz")

INSTRUCTIONS = st.one_of(
    st.builds(lambda d, v, on: ld(d, v, on=on), REGISTERS, VARIABLES, GUARDS),
    st.builds(lambda d, v, on: ld(d, v, on=on), REGISTERS, VARIABLES, st.none()),
    st.builds(lambda v, s, on: store(v, s, on=on), VARIABLES, SOURCES, GUARDS),
    st.builds(lambda d, v, s, on: atom("add", d, v, s, on=on), REGISTERS, VARIABLES, SOURCES, GUARDS),
    st.builds(lambda d, v, a, b: atom("cas", d, v, a, b), REGISTERS, VARIABLES, SOURCES, SOURCES),
    st.builds(lambda n, d, a, b, on: op(n, d, a, b, on=on), st.sampled_from(("add", "sub", "and")), REGISTERS,
              REGISTERS, SOURCES, GUARDS),
    st.builds(lambda n, d, a, b: op(n, d, a, b), st.sampled_from(("setp.eq", "setp.ne", "setp.lt")), PREDICATES,
              REGISTERS, SOURCES),
    st.builds(lambda d, a, b, p: op("selp", d, a, b, p), REGISTERS, SOURCES, SOURCES, PREDICATES),
    st.builds(lambda t, on: bra(t, on=on), st.sampled_from("ABC"), GUARDS),
    st.builds(lambda t, a, b: bra(t, compare=("eq", a, b)), st.sampled_from("ABC"), REGISTERS, SOURCES),
    st.builds(lambda on: ret(on=on), PREDICATES),
)  # fmt: skip


@st.composite
def bodies(draw: st.DrawFn) -> list[object]:
    body: list[object] = draw(st.lists(INSTRUCTIONS, min_size=3, max_size=10))
    for label in "ABC":
        body.insert(draw(st.integers(0, len(body))), f"{label}:")
    return body


def happened(structure: Structure, reads: dict[int, int]) -> list[Access]:
    """The executed accesses, the last rounds of spins only."""
    names = {region.base: region.variable for region in structure.memory.regions}
    found = []
    for e in structure.events[1:]:
        if evaluate(e.guard, reads, {}):
            number = reads[e.index] if e.kind is Kind.READ else evaluate(e.value, reads, {})
            found.append(Access(e.kind.value, names[evaluate(e.address, reads, {})], number))
    return found


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(bodies(), st.lists(st.lists(st.integers(0, 2), min_size=60, max_size=60), min_size=6, max_size=6))
def test_any_thread_does_what_its_structure_says(body, tables):
    test = build(body, observed=["0:r0", "0:r1", "0:r2", "0:p0", "0:p1"])
    structure = unfold(test, bound=2)
    assume(len(structure.events) < 60)
    seen = Counter[str]()
    for numbers in tables:
        reads = {e.index: numbers[e.index] for e in structure.events if e.kind is Kind.READ}
        stuck = any(
            evaluate(p.guard, reads, {}) and p.passed is not None and not evaluate(p.passed, reads, {})
            for p in structure.blocking
        )
        ended = bool(evaluate(structure.ends[0], reads, {}))
        cut = any(evaluate(b.reached, reads, {}) for b in structure.bounds)
        if stuck:
            seen["stuck"] += 1
            continue
        assert ended != cut
        if cut:
            seen["cut"] += 1
            continue
        seen["ended"] += 1
        expected = happened(structure, reads)
        try:
            accesses, registers = run(test.threads[0], iter([a.value for a in expected if a.kind == "R"]))
        except OutOfValuesError:
            raise AssertionError("the thread reads more than its structure says") from None
        assert accesses == expected
        for term, value in structure.final_registers.items():
            assert isinstance(term, RegisterTerm)
            assert evaluate(value, reads, {}) == registers.get(term.name, 0), term
    for outcome in seen:
        event(outcome)
    if structure.blocking:
        event("spin")
