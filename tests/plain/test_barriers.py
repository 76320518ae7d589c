"""Corners of barrier generations, by hand, in the plain encoder and in the fast one."""

from __future__ import annotations

from .asking import ask


def test_an_arrival_that_is_left_over_comes_after_every_generation() -> None:
    """P1 arrives knowing that P0 has: the two meet or P0 meets P2, and one of P1 and P2 waits for ever."""
    outcome = ask("""PTX left-over
{ .global .u32 flag = 0; }
P0 @ cta 0 { bar.arrive 1, 64; st.release.cta.u32 [flag], 1; }
P1 @ cta 0 {
  ld.acquire.cta.u32 r0, [flag];
  setp.eq.u32 p0, r0, 1;
  @!p0 bra END;
  bar.sync 1, 64;
END:
}
P2 @ cta 0 { bar.sync 1, 64; }
exists (P1:r0 = 1)
""")
    assert set(outcome.states) == {(0,)}
    assert outcome.hangs


def test_no_count_agrees_with_the_count_of_the_whole_cta() -> None:
    outcome = ask("""PTX no-count
{ .shared .u32 x = 0; }
P0 @ cta 0 { st.shared.u32 [x], 1; bar.sync 0; }
P1 @ cta 0 { bar.sync 0, 64; ld.shared.u32 r0, [x]; }
forall (P1:r0 = 1)
""")
    assert set(outcome.states) == {(1,)}
    assert outcome.hangs == ()


EXITED = """PTX exited-mate
{ .shared .u32 x = 0; }
P0 @ cta 0, warp 0, lane 0 { st.shared.u32 [x], 1; }
P1 @ cta 0, warp 0, lane 1 { bar.sync 1, 64; }
P2 @ cta 0, warp 1 { bar.sync 1, 64; ld.shared.u32 r0, [x]; }
forall (P2:r0 = 1)
"""


def test_a_warp_counts_once_its_other_threads_have_exited() -> None:
    assert set(ask(EXITED, "sc").states) == {(1,)}, "in one order the exit comes first"
    assert set(ask(EXITED, "ptx").states) == {(0,), (1,)}, "an exit synchronises with nobody"


def test_different_counts_void_the_verdict() -> None:
    outcome = ask("""PTX counts
{ }
P0 @ cta 0 { bar.sync 1, 64; }
P1 @ cta 0 { bar.sync 1, 96; }
exists (true)
""")
    assert {f.name for f in outcome.outside} == {"barrier-mismatch"}


def test_two_barriers_in_opposite_order_never_pass() -> None:
    text = """PTX crossed
{ }
P0 @ cta 0 { bar.sync 1; bar.sync 2; }
P1 @ cta 0 { bar.sync 2; bar.sync 1; }
exists (true)
"""
    for model in ("ptx", "sc"):
        outcome = ask(text, model)
        assert set(outcome.states) == set()
        assert outcome.hangs


def test_generations_come_one_after_the_other() -> None:
    outcome = ask("""PTX twice
{ .shared .u32 x = 0; }
P0 @ cta 0 { bar.sync 0; st.shared.u32 [x], 1; bar.sync 0; }
P1 @ cta 0 { ld.shared.u32 r0, [x]; bar.sync 0; bar.sync 0; ld.shared.u32 r1, [x]; }
forall (P1:r0 = 0 /\\ P1:r1 = 1)
""")
    assert set(outcome.states) == {(0, 1)}
    assert outcome.flags == ()
