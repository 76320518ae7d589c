"""The second evaluator accepts every witness, and refuses one with anything changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memcheck.axiomatic.solve import solve
from memcheck.axiomatic.verify import faults
from memcheck.events.execution import Execution
from memcheck.events.structure import INITIAL, Kind
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.language.test import Test
from memcheck.source import SourceFile
from tests.engines.suite import NAMES, model, share, structure

LARGE = frozenset({"classic/SB-ring-10+fence.sc.litmus"})
SHARE = [name for name in share(18) if name not in LARGE]

State = tuple[int, ...]


def _witnesses(name: str, under: str = "ptx") -> dict[State, Execution]:
    outcome = solve(structure(name), model(under))
    assert all(witness is not None for witness in outcome.states.values())
    return {state: witness for state, witness in outcome.states.items() if witness is not None}


@pytest.mark.parametrize("name", SHARE)
def test_witnesses_of_the_suite(name):
    for state, witness in _witnesses(name).items():
        assert faults(witness, state, model("ptx")) == []


@pytest.mark.slow
@pytest.mark.parametrize("under", ["ptx", "ptx-7.5", "ptx-6.0", "sc"])
@pytest.mark.parametrize("name", NAMES)
def test_witnesses_of_the_whole_suite(name, under):
    for state, witness in _witnesses(name, under).items():
        assert faults(witness, state, model(under)) == []


@pytest.mark.parametrize("name", SHARE)
def test_any_witness_with_something_missing(name):
    """Without one event, one source of a byte, one final byte, or with another value or state."""
    for state, witness in list(_witnesses(name).items())[:2]:
        bad = [
            replace(witness, executed=witness.executed - {event}) for event in list(witness.executed - {INITIAL})[:3]
        ]
        for read, number in list(witness.reads.items())[:2]:
            bad.append(replace(witness, reads={**witness.reads, read: number + 1}))
        for place in list(witness.rf)[:2]:
            bad.append(replace(witness, rf={p: write for p, write in witness.rf.items() if p != place}))
        for execution in bad:
            assert faults(execution, state, model("ptx")), f"accepted: {execution}"
        if state:
            assert faults(witness, (*state[:-1], state[-1] + 1), model("ptx"))


# ---- one fault each


def _test(text: str) -> tuple[Test, dict[State, Execution]]:
    made = unfold(parse_test(SourceFile("witness", text)), 2)
    return made.test, {s: w for s, w in solve(made, model("ptx")).states.items() if w is not None}


def _state(text: str, **values: int) -> tuple[State, Execution]:
    """The first state with these values (`P1_r0=1`) and its witness."""
    test, found = _test(text)
    keys = [test.key(term).replace(":", "_") for term in test.observed]
    for state, witness in found.items():
        if all(state[keys.index(key)] == value for key, value in values.items()):
            return state, witness
    raise AssertionError(f"no state {values} of {keys} among {list(found)}")


def _refused(execution: Execution, state: State, why: str) -> None:
    found = faults(execution, state, model("ptx"))
    assert any(why in fault for fault in found), found


def _find(execution: Execution, text: str, kind: Kind) -> int:
    """The only event of this kind whose instruction has the text."""
    found = [
        e.index
        for e in execution.structure.events
        if e.kind is kind and e.instruction is not None and text in e.instruction.text
    ]
    assert len(found) == 1
    return found[0]


MP = """PTX MP { .global .u32 x = 0; .global .u32 f = 0; }
P0 @ cta 0 { st.weak.global.u32 [x], 1; st.release.gpu.global.u32 [f], 1; }
P1 @ cta 1 { ld.acquire.gpu.global.u32 r0, [f]; ld.weak.global.u32 r1, [x]; }
"""
WRITES = """PTX WW { .global .u32 x = 0; }
P0 @ cta 0 { st.relaxed.gpu.global.u32 [x], 1; }
P1 @ cta 1 { st.relaxed.gpu.global.u32 [x], 2; }
"""
SB = """PTX SB { .global .u32 x = 0; .global .u32 y = 0; }
P0 @ cta 0 { st.weak.global.u32 [x], 1; fence.sc.gpu; ld.weak.global.u32 r0, [y]; }
P1 @ cta 1 { st.weak.global.u32 [y], 1; fence.sc.gpu; ld.weak.global.u32 r1, [x]; }
"""
BARRIER = """PTX BAR { .shared .u32 s = 0; }
P0 @ cta 0 { st.weak.shared.u32 [s], 1; bar.sync 0; bar.sync 0; }
P1 @ cta 0 { bar.sync 0; ld.weak.shared.u32 r0, [s]; bar.sync 0; }
"""
RMW = """PTX RMW { .global .u32 x = 0; }
P0 @ cta 0 { atom.relaxed.gpu.global.add.u32 r0, [x], 1; }
P1 @ cta 1 { atom.relaxed.gpu.global.add.u32 r0, [x], 1; }
"""


def test_a_stale_source():
    """The load of x after a synchronisation takes the initial 0."""
    state, witness = _state(MP, P1_r0=1, P1_r1=1)
    read = _find(witness, "r1", Kind.READ)
    terms = [witness.structure.test.key(term) for term in witness.structure.test.observed]
    stale = tuple(0 if key == "P1:r1" else value for key, value in zip(terms, state))
    sources = {place: INITIAL if place[0] == read else write for place, write in witness.rf.items()}
    _refused(replace(witness, rf=sources), state, "has not the value")
    _refused(replace(witness, rf=sources, reads={**witness.reads, read: 0}), state, "it ends in")
    _refused(replace(witness, rf=sources, reads={**witness.reads, read: 0}), stale, "Causality")


def test_a_source_that_does_not_cover_the_byte():
    state, witness = _state(MP, P1_r0=1)
    read, other = _find(witness, "r0", Kind.READ), _find(witness, "[x], 1", Kind.WRITE)
    sources = {place: other if place[0] == read else write for place, write in witness.rf.items()}
    _refused(replace(witness, rf=sources), state, "does not cover it")


def test_coherence_undecided_or_turned_round():
    state, witness = _state(WRITES, x=1)
    first, second = _find(witness, "[x], 1", Kind.WRITE), _find(witness, "[x], 2", Kind.WRITE)
    assert (second, first) in witness.co
    without = witness.co - {(second, first)}
    _refused(replace(witness, co=without), state, "Coherence-total")
    _refused(replace(witness, co=without | {(first, second)}), state, "overwrites")
    _refused(replace(witness, co=witness.co | {(first, second)}), state, "both ways")


def test_a_final_value_that_is_overwritten():
    state, witness = _state(WRITES, x=1)
    first, second = _find(witness, "[x], 1", Kind.WRITE), _find(witness, "[x], 2", Kind.WRITE)
    final = {byte: second if write == first else write for byte, write in witness.final.items()}
    _refused(replace(witness, final=final), state, "overwrites")
    _refused(replace(witness, final=dict.fromkeys(witness.final, INITIAL)), state, "overwrites")
    _refused(replace(witness, final={}), state, "")


def test_fences_in_another_order():
    state, witness = _state(SB, P0_r0=0, P1_r1=1)
    assert len(witness.fence_order) == 2
    _refused(replace(witness, fence_order=witness.fence_order[::-1]), state, "Causality")
    _refused(replace(witness, fence_order=witness.fence_order[:1]), state, "Fence-SC")


def test_other_generations():
    state, witness = _state(BARRIER, P1_r0=1)
    assert sorted(witness.generations.values()) == [0, 0, 1, 1]
    swapped = {place: 1 - number for place, number in witness.generations.items()}
    _refused(replace(witness, generations=swapped), state, "do not increase")
    last = max(witness.generations)
    fewer = {place: number for place, number in witness.generations.items() if place != last}
    _refused(replace(witness, generations=fewer), state, "lacks units")
    apart = {place: number + (place == last) for place, number in witness.generations.items()}
    _refused(replace(witness, generations=apart), state, "lacks units")


def test_an_atomic_that_is_none():
    """Both atomics take the initial 0, and the second write is after the first."""
    state, witness = _state(RMW, P0_r0=0, P1_r0=1)
    late = next(read for read, number in witness.reads.items() if number == 1)
    terms = [witness.structure.test.key(term) for term in witness.structure.test.observed]
    lost = tuple(0 if key == "P1:r0" else 1 if key == "x" else value for key, value in zip(terms, state))
    sources = {place: INITIAL if place[0] == late else write for place, write in witness.rf.items()}
    _refused(replace(witness, rf=sources, reads={**witness.reads, late: 0}), lost, "RMW-atomicity")
