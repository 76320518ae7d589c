"""Looking at one order of operations that can change places loses nothing: states, flags, hangs and what is outside."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import pytest

from memcheck.axiomatic import interchange
from memcheck.axiomatic.solve import Limits, solve
from memcheck.errors import MemcheckError
from memcheck.events.unfold import unfold
from memcheck.language.load import parse_test
from memcheck.models import load
from memcheck.source import SourceFile
from tests.engines.agreement import assert_same, fast
from tests.engines.suite import model

OPERATIONS = (
    *("mbarrier.arrive.shared::cta.b64 _, [bar];",) * 4,
    *("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;",) * 2,
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];",
    "mbarrier.arrive.release.cluster.shared::cta.b64 _, [bar];",
    "mbarrier.arrive.shared::cta.b64 _, [bar], 2;",
    "mbarrier.arrive_drop.shared::cta.b64 _, [bar];",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;",
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;",
)
COPY = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [bar];"
ORDERS = (
    "fence.acq_rel.cta;",
    "fence.sc.cta;",
    "fence.proxy.async;",
    "st.relaxed.cta.shared.u32 [f], 1;",
    "cp.async.ca.shared.global [s], [g], 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];",
)
SECONDS = 20.0


def body(draw: random.Random) -> tuple[str, list[str]]:
    """A thread around one mbarrier, and the registers that it loads."""
    lines, loaded = [], []
    for number in range(draw.randint(1, 3)):
        kind, word = draw.randrange(12), f"[s+{4 * draw.randrange(2)}]"
        if kind < 5:
            lines.append(draw.choice(OPERATIONS))
        elif kind == 5:
            lines.append(f"st.shared.u32 {word}, {draw.randint(1, 2)};")
        elif kind == 6:
            lines.append(f"ld.shared.u32 r{number}, {word};")
            loaded.append(f"r{number}")
        elif kind == 7:
            lines.append(COPY)
        elif kind == 8:
            sem = draw.choice(("", "", ".relaxed.cta"))
            wait = f"mbarrier.try_wait.parity{sem}.shared::cta.b64 p{number}, [bar], {draw.randrange(2)};"
            lines.append(f"L{number}: {wait} @!p{number} bra L{number};")
        elif kind == 9:
            lines.append(f"mbarrier.test_wait.parity.shared::cta.b64 p{number}, [bar], {draw.randrange(2)};")
            lines.append(f"@p{number} {draw.choice(OPERATIONS)}")
        elif kind == 10:
            lines.append(draw.choice(ORDERS))
        else:
            lines.append(f"ld.{draw.choice(('relaxed', 'acquire'))}.cta.shared.u32 r{number}, [f];")
            loaded.append(f"r{number}")
    return " ".join(lines), loaded


def program(seed: int) -> str:
    """Two or three warps of a CTA with one mbarrier."""
    draw = random.Random(seed)
    variables = ".global .align 16 .b32 g[4] = {5, 5, 5, 5}; .shared .align 16 .b32 s[4]; .shared .b32 f;"
    bodies = [body(draw) for _ in range(draw.randint(2, 3))]
    threads = "".join(f"P{i} @ cta 0, warp {i} {{ {text} }}\n" for i, (text, _) in enumerate(bodies))
    loaded = " ".join(f"P{i}:{register};" for i, (_, registers) in enumerate(bodies) for register in registers)
    return (
        f"PTX f{seed}\n{{ {variables} .shared .mbarrier bar = {draw.randint(1, 4)}; }}\n{threads}"
        f"locations [{loaded} s[0];]\nexists (true)\n"
    )


def loses_nothing(seed: int) -> bool:
    """Whether the two could be compared."""
    try:
        structure = unfold(parse_test(SourceFile("generated", program(seed))), 2)
        with_it = fast(structure, model("ptx"))
        limits = Limits(time.monotonic() + SECONDS)
        if solve(structure, replace(model("ptx"), interchange=None), witnesses=False, limits=limits).undecided:
            return False
    except MemcheckError:
        return False
    assert_same(fast(structure, replace(model("ptx"), interchange=None)), with_it)
    return True


def test_generated_programs_around_one_mbarrier():
    assert sum(loses_nothing(seed) for seed in range(5)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_generated_programs_around_one_mbarrier(block):
    assert sum(loses_nothing(seed) for seed in range(1_000 + 20 * block, 1_020 + 20 * block)) > 10


def test_only_the_text_of_ptx_is_known_to_allow_it():
    assert load("ptx").interchange is not None
    assert load("ptx", ("owner-scope",)).interchange is not None
    assert load("ptx", ("strict-mbarrier-chain",)).interchange is None
    assert all(load(name).interchange is None for name in ("ptx-7.5", "ptx-6.0", "sc"))


def arrivals(count: int) -> str:
    """So many warps that store and arrive, and one that waits for all."""
    threads = "".join(
        f"P{i} @ cta 0, warp {i} {{ st.shared.u32 [s+{4 * i}], 1; mbarrier.arrive.shared::cta.b64 _, [bar]; }}\n"
        for i in range(count)
    )
    wait = "L0: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L0;"
    return (
        f"PTX arrivals\n{{ .shared .b32 s[{count}]; .shared .mbarrier bar = {count}; }}\n{threads}"
        f"P{count} @ cta 0, warp {count} {{ {wait} ld.shared.u32 r0, [s]; }}\nforall (P{count}:r0 = 1)\n"
    )


def clauses_needed(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a later operation may not read an earlier one."""
    needed = []
    forbid = interchange.Interchange._forbid

    def counting(self, *arguments):
        before = len(self.reads.clauses.clauses)
        forbid(self, *arguments)
        needed.append(len(self.reads.clauses.clauses) > before)

    monkeypatch.setattr(interchange.Interchange, "_forbid", counting)
    fast(unfold(parse_test(SourceFile("arrivals", text)), 2), model("ptx"))
    return sum(needed)


def test_arrivals_of_several_warps_are_looked_at_in_one_order(monkeypatch):
    assert clauses_needed(arrivals(5), monkeypatch) == 5 * 4 // 2
    structure = unfold(parse_test(SourceFile("arrivals", arrivals(5))), 2)
    assert fast(structure, model("ptx")).states == {(1,)}


def test_an_operation_that_returns_a_state_keeps_its_place(monkeypatch):
    assert clauses_needed(arrivals(3).replace("b64 _, [bar]", "b64 rd0, [bar]"), monkeypatch) == 0


def test_a_word_that_a_plain_access_may_touch_is_left_alone(monkeypatch):
    assert clauses_needed(arrivals(2).replace("ld.shared.u32 r0, [s]", "ld.shared.u64 rd1, [bar]"), monkeypatch) == 0
