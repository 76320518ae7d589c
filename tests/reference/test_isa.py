"""The litmus tests printed in PTX ISA chapter 8, with what the text says of their outcomes."""

from __future__ import annotations

import pytest

TWO = ("P0 @ cta 0, gpu 0", "P1 @ cta 1, gpu 0")
XY = ".global .u32 x = 0; .global .u32 y = 0;"

ATOMICITY = ("atom.sys.inc.u32 %r0, [x];", "atom.sys.inc.u32 %r0, [x];")
EXCLUDING_SCOPES = ("atom.cta.inc.u32 %r0, [x];", "atom.gpu.inc.u32 %r0, [x];")
LB_DEPS = (
    "ld.global.u32 %r0, [x]; st.global.u32 [y], %r0;",
    "ld.global.u32 %r1, [y]; st.global.u32 [x], %r1;",
)
LB = ("ld.global.u32 %r0, [x]; st.global.u32 [y], 1;", "ld.global.u32 %r1, [y]; st.global.u32 [x], 1;")
CORR = (
    "st.global.relaxed.sys.u32 [x], 1;",
    "ld.global.relaxed.sys.u32 %r0, [x]; ld.global.relaxed.sys.u32 %r1, [x];",
)
MP = (
    "st.global.u32 [x], 1; fence.sys; st.global.relaxed.sys.u32 [y], 1;",
    "ld.global.relaxed.sys.u32 %r0, [y]; fence.sys; ld.global.u32 %r1, [x];",
)
COWR = ("st.global.u32 [x], 1; fence.proxy.alias; ld.global.u32 %r1, [a];", "")
SB = (
    "st.global.u32 [x], 1; fence.sc.sys; ld.global.u32 %r0, [y];",
    "st.global.u32 [y], 1; fence.sc.sys; ld.global.u32 %r1, [x];",
)
SB_ACQ_REL = tuple(thread.replace("fence.sc", "fence.acq_rel") for thread in SB)
MP_RED = (
    "st.u32 [x], 42; st.release.gpu.u32 [y], 1;",
    "red.sys.global.add.u32 [y], 1; fence.acquire.gpu; ld.weak.u32 %r1, [x];",
)
MP_ATOM = (MP_RED[0], MP_RED[1].replace("red.sys", "atom.sys").replace("[y]", "%r0, [y]"))


@pytest.mark.parametrize(
    ("threads", "condition", "possible"),
    [
        (ATOMICITY, "x = 2", True),
        (ATOMICITY, "x != 2", False),
        (EXCLUDING_SCOPES, "x = 1", True),
        (EXCLUDING_SCOPES, "x = 2", True),
        (EXCLUDING_SCOPES, r"x != 1 /\ x != 2", False),
        (LB_DEPS, r"x = 0 /\ y = 0", True),
        (LB_DEPS, r"x != 0 \/ y != 0", False),
        (LB, r"P0:r0 = 1 /\ P1:r1 = 1 /\ x = 1 /\ y = 1", True),
        (CORR, r"P1:r0 = 1 /\ P1:r1 != 1", False),
        (CORR, r"P1:r0 = 0 /\ P1:r1 = 1", True),
        (MP, r"P1:r0 = 1 /\ P1:r1 != 1", False),
        (MP, r"P1:r0 = 1 /\ P1:r1 = 1", True),
        (COWR, "P0:r1 != 1", False),
        (COWR, "P0:r1 = 1", True),
        (SB, r"P0:r0 = 0 /\ P1:r1 = 0", False),
        (SB_ACQ_REL, r"P0:r0 = 0 /\ P1:r1 = 0", True),
        (MP_RED, r"P1:r1 = 0 /\ y = 2", True),
        (MP_ATOM, r"P1:r1 = 0 /\ y = 2", False),
    ],
)
def test_printed(explore, threads, condition, possible):
    blocks = "\n".join(f"{place} {{ {body} }}" for place, body in zip(TWO, threads))
    # The filter leaves the states that the text speaks of.
    text = f"PTX printed\n{{ {XY} .global a aliases x; }}\n{blocks}\nfilter ({condition}) exists (true)"
    found = explore(text)
    assert bool(found.states) == possible
    assert not found.outcome.outside
