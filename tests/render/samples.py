"""Reports written by hand, for the output formats."""

from __future__ import annotations

from memcheck.report import Report
from memcheck.result import Remark

MP = Report(
    file="litmus/mp.litmus",
    model="ptx",
    test="MP",
    text="PTX MP\n",
    description=("Message passing: data, then a flag.",),
    condition="exists (P1:r0 == 1 /\\ P1:r1 == 0)",
    quantifier="exists",
    keys=("P1:r0", "P1:r1"),
    states=((0, 0), (0, 1), (1, 1)),
    holds=False,
    complete=True,
    seconds=0.004,
)

RACY = Report(
    file="racy.litmus",
    model="ptx",
    test="MP+weak+weak",
    text="PTX MP+weak+weak\n",
    condition="~exists (P1:r0 = 1 /\\ x[1] @ cta 1 = 0)",
    quantifier="~exists",
    keys=("P1:r0", "x[1] @ cta 1", "y"),
    states=((0, 0, 0), (1, 0, 0xFFFFFFFF), (1, 1, 2)),
    satisfying=frozenset({(1, 0, 0xFFFFFFFF)}),
    holds=False,
    complete=True,
    flags=(
        Remark(
            "race", "`st.u32 [y], 1` of P0 and `ld.u32 r0, [y]` of P1 race.", ("racy.litmus:4:3", "racy.litmus:7:3")
        ),
    ),
    notes=("Register P0:r7 is never written and reads 0.",),
    seconds=1.25,
)

OUTSIDE = Report(
    file="mixed.litmus",
    model="ptx",
    test="mixed",
    text="PTX mixed\n",
    condition="exists (P0:r0 = 1)",
    quantifier="exists",
    keys=("P0:r0",),
    outside=(
        Remark("mixed-size-race", "`st.u16 [x], 1` of P0 and `ld.u32 r0, [x]` of P1 race.", ("mixed.litmus:3:1",)),
    ),
    complete=True,
)

UNDECIDED = Report(
    file="slow.litmus",
    model="ptx",
    test="slow",
    condition="exists (P0:r0 = 1)",
    quantifier="exists",
    keys=("P0:r0",),
    states=((0,),),
    undecided="the time limit of 1 s was reached",
)

DEADLOCK = Report(
    file="hang.litmus",
    model="ptx",
    test="hang",
    condition="~exists (P0:r0 = 1)",
    quantifier="~exists",
    keys=("P0:r0",),
    holds=True,
    complete=True,
    flags=(Remark("deadlock", "P0 waits for ever in `bar.sync 0`."), Remark("no-final-state", "No execution ends.")),
)

ERROR = Report(
    file="bad.litmus", model="ptx", test="bad", error="bad.litmus:3:5: no such instruction\n  st.foo\n  ^^^^^^"
)

LISTED = Report(file="list.litmus", model="sc", test="list", keys=("x",), states=((1,), (2,)), complete=True)

ALL = (MP, RACY, OUTSIDE, UNDECIDED, DEADLOCK, ERROR, LISTED)
