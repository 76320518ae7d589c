"""No file makes an exception but one with a place."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcheck.corpus import suite, walk
from tests.fuzz.mutations import Mutator
from tests.fuzz.outcome import outcome

QUICK, LONG = 300, 10_000
SHARES = 8
"""Of the inputs, each with its own seed: what one process runs at a time."""


def _files() -> list[bytes]:
    found = []
    for path in walk(suite()):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def _fuzz(folder, seed: int, count: int) -> Counter[str]:
    mutator = Mutator(_files(), seed)
    kinds: Counter[str] = Counter()
    for number in range(count):
        data = mutator.next()
        path = folder / ("changed.table" if b"\n===" in data else "changed.litmus")
        path.write_bytes(data)
        try:
            kinds[outcome(path)] += 1
        except Exception as error:
            raise AssertionError(f"input {number} of seed {seed}, {error!r}:\n{data!r}") from error
    return kinds


@pytest.mark.parametrize("share", range(SHARES))
def test_changed_files(share, tmp_path):
    kinds = _fuzz(tmp_path, share, QUICK // SHARES + 1)
    assert kinds["fault"]
    assert kinds["verdict"]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_many_changed_files(share, tmp_path, capsys):
    """MEMCHECK_SEED repeats a run."""
    seed = int(os.environ.get("MEMCHECK_SEED", random.SystemRandom().randrange(2**32)))
    with capsys.disabled():
        print(f"\nchanged files, share {share}: MEMCHECK_SEED={seed}", flush=True)
    kinds = _fuzz(tmp_path, seed + share, LONG // SHARES)
    with capsys.disabled():
        print(dict(kinds), flush=True)


def test_the_same_seed_changes_alike():
    files = _files()[:20]
    first, second = Mutator(files, 7), Mutator(files, 7)
    assert [first.next() for _ in range(20)] == [second.next() for _ in range(20)]


WORDS = st.sampled_from(
    ["PTX T", "{", "}", "x = 0;", ".global .u32 y;", "P0 @ cta 0 {", "P1 {", "ld.relaxed.gpu.global.u32 r0, [x];"]
    + ["st.global.u32 [x], 1;", "fence.sc.gpu;", "bar.sync 0;", "L:", "@p0 bra L;", "setp.eq.u32 p0, r0, 1;", "exists"]
    + ["(P0:r0 = 1)", "~", "forall", "(x = 1 /\\ true)", "(* expect ptx: holds *)", "P0 | P1 ;", "|", ";", "===", "$a"]
)
TEXTS = st.lists(WORDS | st.text(max_size=4), max_size=16).map(" ".join) | st.text(max_size=80)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(TEXTS | st.binary(max_size=60))
def test_any_text(tmp_path, text):
    path = tmp_path / "any.litmus"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    outcome(path)
