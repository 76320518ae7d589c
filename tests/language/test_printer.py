"""What the printer writes reads as the same test."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcheck import corpus
from memcheck.errors import MemcheckError
from memcheck.language.load import parse_test
from memcheck.language.printer import print_test
from tests.language.reading import content, read

SUITE = sorted((Path(__file__).parents[2] / "litmus").rglob("*.litmus"))[::3]

EVERYTHING = """PTX every+thing "one" "two
lines" {
  x = -1; .global .align 16 .u8 bytes[16] = {1, 2}; .shared .b32 s[2]; .const .u64 c = 5;
  .global .f64 f = 0d4000000000000000;
  .global .b128 wide; y aliases x; t @ texture aliases y; .shared z aliases s; .multimem mm = {g, h};
  .global .u32 g; .global .u32 h = 3; P0:r1 = -1; P1:rd1 = x; P0:p0 = 1; P1:tmp = 9; }
P0 @ gpu 0, cta 4, warp 2, lane 7 {
  TOP: NEXT: ld.acquire.cluster.v4.u8 {rs0, rs1, rs2, rs3}, [bytes+4];
  @!p0 st.volatile [x], -5; setp.eq.and.s32 p1|p2, r1, 0, p0; @p1 bra END; goto TOP;
  atom.cas.b64 rd0, [c2], 1, 2; red.add.f32 [g], 0f3F800000; bar.sync 1, 64;
  multimem.red.add.u32 [mm], 1; st.b128 [wide], rq1; END: }
P1 @ gpu 0, cta 5, cluster 9 {
  .reg .b64 tmp; .reg .pred done; ld.u64 tmp, [rd1]; tld r0, t; mov.u32 r1, %laneid; cvt.u32.u64 r2, tmp;
  setp.ne.u64 done, tmp, 0; @done exit; fence.proxy.alias; fence.acq_rel.sys; beq r0, 1, L; L: ret }
locations [bytes; s[1] @ cta 5; P1:tmp]
filter (~(x = 1 \\/ true))
~exists ((P1:done = 1 \\/ x != -1) /\\ ~ (s[0] @ cta 4 < 0x10 /\\ (c >= 1 \\/ false)) /\\ f == 3)
(* expect ptx, sc: fails; states: 2; why: it; seems *)
// expect ptx-6.0: holds; why: (* unbalanced
"""

DIALECT = """PTX bar { x = 0; P1:r2 = 1 }
 P0 @ cta 0            | P1 @ cta 0         | P2 @ cta 1 ;
 .reg .b32 foo         | LC00:              |            ;
 st.weak x, 1          | bar.cta.sync 1, r2 | ret        ;
 bar.cta.sync 1, foo, 2|                    |            ;
 red.acq_rel.gpu.add x, 1 | ld r0, x        |            ;
exists (P1:r0 = 1)
"""


@pytest.mark.parametrize("text", [EVERYTHING, DIALECT], ids=["everything", "dialect"])
def test_round_trip(text):
    test = read(text)
    printed = print_test(test)
    again = read(printed)
    assert content(again) == content(test)
    assert print_test(again) == printed


def test_the_dialect_stays_in_columns():
    assert read(print_test(read(DIALECT))).columns
    assert not read(print_test(read("PTX T { x = 0 } P0 ; ld r0, x ;"))).columns


def test_defaults_are_written_out():
    printed = print_test(read("PTX MP { x = 0; } P0 ; st x, 1 ; ld r0, x ; fence.gpu ; exists (P0:r0 = 1)"))
    assert (
        printed
        == """PTX MP
{
  .global .b32 x = 0;
}
P0 @ gpu 0, grid 0, cluster 0, cta 0, warp 0, lane 0 {
  st.weak.b32 [x], 1;
  ld.weak.b32 %r0, [x];
  fence.acq_rel.gpu;
}
exists (P0:r0 == 1)
"""
    )


def test_states_are_printed():
    text = (
        "PTX T { x = 0 } P0 @ cta 0 { ld r0, [x]; } forall (P0:r0 = x) (* expect ptx: holds; states: {P0:r0=0,x=0} *)"
    )
    assert print_test(read(text)).endswith("(* expect ptx: holds; states: {P0:r0=0, x=0} *)\n")


@pytest.mark.skipif(not SUITE, reason="no suite beside the tests")
def test_the_suite_reads_as_printed():
    count = 0
    for path in SUITE:
        try:
            test = parse_test(corpus.read(str(path)))
        except MemcheckError:
            continue  # the suite's own tests say so
        assert content(read(print_test(test))) == content(test), path
        count += 1
    assert count > len(SUITE) // 2


def _props(leaves):
    def join(parts, word):
        return "(" + f" {word} ".join(parts) + ")"

    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(join, st.lists(inner, min_size=1, max_size=3), st.sampled_from(["/\\", "\\/"]))
            | inner.map(lambda text: f"~{text}")
            | inner.map(lambda text: f"not ({text})")
        ),
        max_leaves=12,
    )


terms = st.sampled_from(["P0:r0", "1:rd1", "x", "[x]", "a[1]", "s @ cta 1", "0", "-1", "0x10", "7"])
comparisons = st.builds(
    lambda left, op, right: f"{left} {op} {right}",
    terms,
    st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">="]),
    terms,
) | st.sampled_from(["true", "false"])


@settings(max_examples=100, deadline=None)
@given(_props(comparisons), st.sampled_from(["exists", "~exists", "forall"]), st.booleans())
def test_conditions_round_trip(prop, quantifier, filtered):
    state = "x = 0; .global .b64 a[3]; .shared .b32 s"
    text = f"PTX T {{ {state} }} P0 @ cta 0 {{ ld r0, [x]; }} P1 @ cta 1 {{ ld.b64 rd1, [a]; }}\n"
    test = read(text + (f"filter {prop} " if filtered else "") + f"{quantifier} {prop}")
    assert content(read(print_test(test))) == content(test)
