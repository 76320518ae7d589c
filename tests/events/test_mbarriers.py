"""The mbarrier instructions, groups and grids as events."""

from pathlib import Path

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.events import phase
from memcheck.events.operations import OUT_OF_RANGE
from memcheck.events.relations import program_relation, program_set
from memcheck.events.structure import Kind, Structure
from memcheck.events.unfold import unfold
from memcheck.events.value import evaluate
from memcheck.language.load import parse_test
from memcheck.relations.rows import pairs
from memcheck.source import SourceFile


def structure(body: str, *others: str, initial: str = ".shared .mbarrier m = 2;") -> Structure:
    threads = "".join(f"P{i} @ cta 0 {{ {text} }}\n" for i, text in enumerate((body, *others)))
    return unfold(parse_test(SourceFile(str(Path("made.litmus")), f"PTX made\n{{ {initial} }}\n{threads}")))


def tagged(found: Structure, name: str) -> list[int]:
    return [e.index for e in found.events if program_set(found, name) >> e.index & 1]


def test_an_arrive_is_a_read_and_a_write_of_the_word():
    found = structure("mbarrier.arrive.shared::cta.b64 _, [m];")
    read, write = found.events[1:]
    assert (read.kind, write.kind, write.rmw, write.size) == (Kind.READ, Kind.WRITE, 1, 8)
    assert {"MBAR", "RMW", "RED", "REL", "CTA", "GEN", "ARRIVE"} <= write.tags
    assert {"MBAR", "RMW", "RED", "RLX"} <= read.tags
    assert write.value is not None
    assert write.marks is not None
    for pending, after, over in ((2, phase.fresh(2) - (1 << 21), 0), (1, phase.fresh(2) + (1 << 61), 1)):
        before = {1: phase.fresh(2) - (2 - pending << 21)}
        assert evaluate(write.value, before, {}) == after
        assert evaluate(write.marks["FLIP"], before, {}) == over
    rules = {m.rule: m.condition for m in found.misuses}
    assert [evaluate(c, {1: 0}, {}) for c in rules.values()] == [1, 0]


def test_a_state_is_the_phase_and_is_awaited():
    found = structure("mbarrier.arrive.shared::cta.b64 rd0, [m]; mbarrier.test_wait.shared::cta.b64 p0, [m], rd0;")
    wait = found.events[3]
    assert "RED" not in found.events[2].tags
    assert {"TEST", "MBAR", "ACQ", "CTA"} <= wait.tags
    assert wait.marks is not None
    first = phase.fresh(2)
    for now, true in ((first, 0), (first + (1 << 61), 1)):
        assert evaluate(wait.marks["TRUE"], {1: first, 3: now}, {}) == true


@pytest.mark.parametrize(("parity", "phases"), [(0, [0, 1, 0, 1]), (1, [1, 0, 1, 0])])
def test_a_parity_is_over_when_the_phase_is_of_the_other(parity, phases):
    found = structure(f"mbarrier.test_wait.parity.shared::cta.b64 p0, [m], {parity};")
    (wait,) = found.events[1:]
    assert wait.marks is not None
    words = [phase.fresh(2) + (number << 61) for number in range(4)]
    assert [evaluate(wait.marks["TRUE"], {1: word}, {}) for word in words] == phases


def test_a_try_wait_may_return_false_and_one_that_ends_a_spin_may_not():
    free = structure("mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0;")
    assert free.choice_domains == ((0, 1),)
    (wait,) = free.events[1:]
    assert wait.marks is not None
    over = {1: phase.fresh(2) + (1 << 61)}
    assert [evaluate(wait.marks["TRUE"], over, {0: n}) for n in (0, 1)] == [0, 1]
    spin = structure("L: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0; @!p0 bra L;")
    assert spin.choice_domains == ()
    (point,) = spin.blocking
    assert point.polled == (1,)
    assert point.passed is not None
    assert [evaluate(point.passed, {1: w}, {}) for w in (phase.fresh(2), over[1])] == [0, 1]


def test_a_wait_two_phases_behind_is_lapped():
    wait = "L{0}: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], {1}; @!p0 bra L{0};"
    found = structure(wait.format(0, 0) + wait.format(1, 1))
    first, second = found.events[1:]
    assert first.marks is not None
    assert second.marks is not None
    words = [phase.fresh(2) + (number << 61) for number in range(4)]
    assert [evaluate(first.marks["LAPPED"], {1: word}, {}) for word in words] == [0, 0, 1, 0]
    # the second is for phase 1
    seen = {1: words[1]}
    assert [evaluate(second.marks["LAPPED"], {**seen, 2: word}, {}) for word in words] == [0, 0, 0, 1]


@pytest.mark.parametrize(("arrivals", "supported"), [(3, True), (4, False)])
def test_a_state_is_awaited_while_phases_can_be_told_apart(arrivals, supported):
    body = "mbarrier.arrive.shared::cta.b64 rd0, [m];" + "mbarrier.arrive.shared::cta.b64 _, [m];" * (arrivals - 1)
    body += "mbarrier.test_wait.shared::cta.b64 p0, [m], rd0;"
    if supported:
        assert len(structure(body, initial=".shared .mbarrier m = 1;").events) == 2 * arrivals + 2
    else:
        with pytest.raises(UnsupportedError, match="more than 3 phases"):
            structure(body, initial=".shared .mbarrier m = 1;")


def test_init_and_inval_are_for_the_right_states():
    found = structure(
        "mbarrier.init.shared::cta.b64 [m], 3; mbarrier.inval.shared::cta.b64 [m];",
        initial=".shared .align 8 .b64 m;",
    )
    assert (tagged(found, "INIT"), tagged(found, "INVAL")) == ([2], [4])
    write = found.events[2].value
    assert write is not None
    assert write.payload == phase.fresh(3)
    live = phase.fresh(3)
    conditions = [m.condition for m in found.misuses]
    assert [evaluate(c, {1: live, 3: live}, {}) for c in conditions] == [1, 0]
    assert [evaluate(c, {1: 0, 3: 0}, {}) for c in conditions] == [0, 1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mbarrier.init.shared::cta.b64 [x], 1;", "bytes at this address"),
        ("mbarrier.arrive.shared::cta.b64 _, [g];", "lies in .global"),
        ("mbarrier.test_wait.parity.shared::cta.b64 p0, [m], 2;", "parity"),
        ("mbarrier.arrive.shared::cta.b64 _, [m+4];", "8 bytes"),
    ],
)
def test_what_is_statically_wrong(line, words):
    initial = ".shared .mbarrier m = 1; .shared .u32 x; .global .align 8 .b64 g"
    with pytest.raises(SourceError, match=words):
        structure(line, initial=initial)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("mov.u32 r0, 2; mbarrier.test_wait.parity.shared::cta.b64 p0, [m], r0;", "a parity other than 0 and 1"),
        ("mov.u32 r0, 0; mbarrier.arrive.shared::cta.b64 _, [m], r0;", OUT_OF_RANGE),
        ("mov.u32 r0, 1048576; mbarrier.init.shared::cta.b64 [m], r0;", OUT_OF_RANGE),
        ("mov.u32 r0, -1; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], r0;", OUT_OF_RANGE),
        ("mov.u32 r0, s; mbarrier.arrive.shared::cta.b64 _, [r0+4];", "misaligned access"),
    ],
)
def test_what_is_outside_at_sight(line, rule):
    found = structure(line, initial=".shared .mbarrier m = 2; .shared .align 8 .b32 s[4];")
    (misuse,) = [m for m in found.misuses if m.condition is found.values.true]
    assert misuse.rule == f"undefined-behaviour: {rule}"
    assert misuse.detail
    assert found.events[misuse.event].instruction is misuse.instruction


def test_the_bytes_of_a_declared_mbarrier_are_no_data():
    found = structure("st.shared.b32 [m], 1;")
    assert [(m.condition is found.values.true, m.rule) for m in found.misuses] == [
        (True, "undefined-behaviour: the bytes of a live mbarrier are accessed as data")
    ]


def test_pending_count_needs_a_state_without_completion():
    arrive = "mbarrier.arrive{}.shared::cta.b64 rd0, [m], 1; mbarrier.pending_count.b64 r0, rd0;"
    good, bad = (structure(arrive.format(form)) for form in (".noComplete.release.cta", ""))
    rules = [[m.condition for m in found.misuses if "pending_count" in m.rule] for found in (good, bad)]
    word = {1: phase.fresh(2)}
    assert [[evaluate(c, word, {}) for c in conditions] for conditions in rules] == [[], [1]]
    (term,) = [t for t in good.final_registers if good.test.key(t) == "P0:r0"]
    assert evaluate(good.final_registers[term], word, {}) == 2


def test_grids_in_order():
    text = """PTX made
{ x = 0; order grid 0 -> grid 1; order grid 1 -> grid 2 programmatic }
P0 @ grid 0 { st.global.u32 [x], 1; griddepcontrol.launch_dependents; }
P1 @ grid 1 { ld.global.u32 r0, [x]; griddepcontrol.launch_dependents; }
P2 @ grid 2 { ld.global.u32 r0, [x]; griddepcontrol.wait; ld.global.u32 r1, [x]; }
"""
    found = unfold(parse_test(SourceFile("made.litmus", text)))
    assert [(o.before, o.after, o.programmatic) for o in found.grids] == [
        ((0,), (1,), False), ((0,), (2,), True), ((1,), (2,), True),
    ]  # fmt: skip
    # P0: 1 store, 2 launch; P1: 3 load, 4 launch; P2: 5 load, 6 wait, 7 load
    assert set(pairs(program_relation(found, "grid"))) == {
        (1, 3), (1, 4), (2, 3), (2, 4), (1, 6), (2, 6), (3, 6), (4, 6),
    }  # fmt: skip
    assert set(pairs(program_relation(found, "launch"))) == {(4, 5), (4, 6), (4, 7), (2, 5), (2, 6), (2, 7)}
    assert set(pairs(program_relation(found, "dependents"))) == {
        (one, two) for one in (1, 2, 3, 4) for two in (5, 6, 7)
    }
    assert [(p.thread, p.before, p.threads) for p in found.blocking] == [(1, 3, (0,)), (2, 7, (1,))]


def test_grids_in_a_circle():
    text = "PTX made\n{ x = 0; order grid 0 -> grid 1; order grid 1 -> grid 0 }\n"
    text += "P0 @ grid 0 { st.global.u32 [x], 1; }\nP1 @ grid 1 { ld.global.u32 r0, [x]; }\n"
    with pytest.raises(SourceError, match="end before it starts"):
        unfold(parse_test(SourceFile("made.litmus", text)))
