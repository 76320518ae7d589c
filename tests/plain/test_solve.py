"""Whole answers of the plain encoder: states, flags, hangs, bounds, and what voids a verdict, worked out by hand."""

from __future__ import annotations

import pytest

from .asking import ask

MP = """PTX MP
{ x = 0; flag = 0; }
P0 @ cta 0 { st.weak.u32 [x], 1; st.RELEASE.u32 [flag], 1; }
P1 @ cta 1 { ld.ACQUIRE.u32 r0, [flag]; ld.weak.u32 r1, [x]; }
exists (P1:r0 = 1 /\\ P1:r1 = 0)
"""


@pytest.mark.parametrize(
    ("scope", "weak", "model", "states"),
    [
        ("gpu", False, "ptx", {(0, 0), (0, 1), (1, 1)}),
        ("cta", False, "ptx", {(0, 0), (0, 1), (1, 0), (1, 1)}),
        ("gpu", True, "ptx", {(0, 0), (0, 1), (1, 0), (1, 1)}),
        ("gpu", True, "sc", {(0, 0), (0, 1), (1, 1)}),
        ("gpu", False, "ptx-6.0", {(0, 0), (0, 1), (1, 1)}),
        ("gpu", False, "ptx-7.5", {(0, 0), (0, 1), (1, 1)}),
    ],
)
def test_message_passing(scope: str, weak: bool, model: str, states: set[tuple[int, int]]) -> None:
    text = MP.replace("RELEASE", "relaxed.gpu" if weak else f"release.{scope}")
    text = text.replace("ACQUIRE", "relaxed.gpu" if weak else f"acquire.{scope}")
    outcome = ask(text, model)
    assert set(outcome.states) == states
    flagged = {f.name for f in outcome.flags}
    assert flagged == (set() if model == "sc" else {"race"})


def test_a_spin_removes_the_states_before_the_flag_and_can_hang_on_a_value_never_written() -> None:
    text = """PTX spin
{ x = 0; flag = 0; }
P0 @ cta 0 { st.weak.u32 [x], 1; st.release.gpu.u32 [flag], VALUE; }
P1 @ cta 1 {
LC00:
  ld.acquire.gpu.u32 r0, [flag];
  setp.ne.u32 p0, r0, 1;
  @p0 bra LC00;
  ld.weak.u32 r1, [x];
}
forall (P1:r1 = 1)
"""
    good = ask(text.replace("VALUE", "1"))
    assert set(good.states) == {(1,)}
    assert good.hangs == ()
    bad = ask(text.replace("VALUE", "2"))
    assert set(bad.states) == set()
    assert [hang.blocked for hang in bad.hangs] == [(0,)]


def test_final_memory_of_a_race_is_any_last_write() -> None:
    outcome = ask(
        "PTX race\n{ x = 0; }\nP0 @ cta 0 { st.weak.u32 [x], 1; }\nP1 @ cta 1 { st.weak.u32 [x], 2; }\nexists (x = 1)"
    )
    assert set(outcome.states) == {(1,), (2,)}
    assert {f.name for f in outcome.flags} == {"race"}


def test_a_mixed_size_race_voids_the_verdict_even_where_the_filter_drops_it() -> None:
    outcome = ask(
        "PTX mixed\n{ x = 0; }\nP0 @ cta 0 { st.weak.u32 [x], 1; }\nP1 @ cta 1 { ld.weak.u8 r0, [x]; }\n"
        "filter (P1:r0 = 7)\nexists (P1:r0 = 1)"
    )
    assert {f.name for f in outcome.outside} == {"mixed-size-race"}


def test_bytes_of_one_thread() -> None:
    outcome = ask(
        "PTX bytes\n{ .global .u32 x = 0; }\n"
        "P0 @ cta 0 { st.u32 [x], 0x11223344; st.u8 [x+1], 0xff; ld.u32 r0, [x]; }\nexists (P0:r0 = 0)"
    )
    assert set(outcome.states) == {(0x1122FF44,)}


def test_values_do_not_come_out_of_thin_air() -> None:
    text = """PTX LB
{ x = 0; y = 0; }
P0 @ cta 0 { ld.weak.u32 r0, [x]; add.u32 r1, r0, 1; st.weak.u32 [y], r1; }
P1 @ cta 1 { ld.weak.u32 r0, [y]; st.weak.u32 [x], VALUE; }
exists (P0:r0 = 2)
"""
    assert set(ask(text.replace("VALUE", "r0")).states) == {(0,)}, "each store needs the other thread's load"
    assert set(ask(text.replace("VALUE", "1")).states) == {(0,), (1,)}, "the constant needs nothing"


def test_a_loop_beyond_its_bound_is_told() -> None:
    text = """PTX loop
{ x = 0; }
P0 @ cta 0 {
LC00:
  atom.relaxed.gpu.add.u32 r0, [x], 1;
  setp.lt.u32 p0, r0, 2;
  @p0 bra LC00;
}
exists (x = 3)
"""
    whole = ask(text, bound=3)
    assert whole.bound_reached is False
    assert set(whole.states) == {(3,)}
    cut = ask(text, bound=1)
    assert cut.bound_reached is True
    assert set(cut.states) == set()


def test_rmw_atomicity_only_within_scope() -> None:
    text = """PTX inc
{ x = 0; }
P0 @ cta 0 { atom.SCOPE.add.u32 r0, [x], 1; }
P1 @ cta 1 { atom.gpu.add.u32 r0, [x], 1; }
exists (x = 1)
"""
    assert set(ask(text.replace("SCOPE", "gpu")).states) == {(2,)}
    assert set(ask(text.replace("SCOPE", "cta")).states) == {(1,), (2,)}
