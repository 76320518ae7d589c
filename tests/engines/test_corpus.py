"""The engines agree on every test of the suite."""

from __future__ import annotations

import pytest

from memcheck.applicability import gaps
from memcheck.errors import TooLargeError
from tests.engines.agreement import assert_same, fast, plain, reference
from tests.engines.suite import ASYNCHRONOUS, NAMES, model, share, structure

CANDIDATES, MANY = 4_000, 50_000
"""What the brute-force reference looks at in one test, and in the long run."""

BEYOND_REFERENCE = frozenset(
    {
        "classic/SB-ring-10+fence.sc.litmus",
        "classic/SB-ring-5+fence.sc.litmus",
        "classic/SB-ring-6+fence.sc.litmus",
        "rmw/RMW-cas-loop-add.litmus",
    }
)
BEYOND_MANY = BEYOND_REFERENCE - {"classic/SB-ring-5+fence.sc.litmus"}
PIPELINES = ("idioms/tma-pipeline-", "idioms/multicast-pipeline.table")
"""Fifty events each: seconds, left to the long run."""
SLOW_IN_REFERENCE = frozenset(name for name in NAMES if name.startswith(PIPELINES))

SLOW_IN_PLAIN = frozenset(
    {
        "barriers/bar.arrive+ping-pong.litmus",
        "barriers/barrier.cluster+phases.litmus",
        "barriers/grid-barrier.litmus",
        "classic/SB-ring-10+fence.sc.litmus",
        "classic/SB-ring-5+fence.sc.litmus",
        "classic/SB-ring-6+fence.sc.litmus",
        "control/loop-beyond-bound.litmus",
        "control/loop-writes-found.litmus",
        "control/loop-writes.litmus",
        "decisions/loops-to-the-bound.litmus",
        "fields/completion-is-not-cumulative.litmus",
        "fields/lane-misses-a-phase.litmus",
        "fields/lock-with-fences.litmus",
        "fields/remote-store-before-owner-ready-rendezvous.litmus",
        "idioms/dsmem-exchange.table:dsmem-exchange+both-relaxed",
        "idioms/dsmem-exchange.table:dsmem-exchange+one-relaxed",
        "rmw/RMW-cas-loop-add.litmus",
        "rmw/lock-cas-exch-relaxed.litmus",
        "rmw/lock-cas-exch.litmus",
        "rmw/lock-cas-fence-one-side.litmus",
        "rmw/lock-cas-fences.litmus",
        "rmw/lock-cta-scope-one-cta.litmus",
        "rmw/lock-cta-scope-two-ctas.litmus",
        "rmw/lock-store-release.litmus",
    }
)
"""Half a second or more each: left to the long run."""
LATER_IN_PLAIN = (
    SLOW_IN_PLAIN
    | (frozenset(n for n in ASYNCHRONOUS if n not in share(8) or n.startswith("idioms/")))
    | (frozenset(NAMES) - frozenset(share(4)))
)
"""A quarter of the tests is in the short run, and of those with copies or mbarriers an eighth."""

BEYOND_PLAIN = frozenset({"classic/SB-ring-10+fence.sc.litmus"})
"""A thousand states of ten threads."""

BEYOND_THE_CAT_FILE = "fences/restricted+remote-cta.litmus"
"""docs/limitations.md: the cat text does not know whose shared memory an access is to."""

OLDER = ("ptx-7.5", "ptx-6.0", "sc")


def test_lists_name_tests():
    assert set(NAMES) >= BEYOND_REFERENCE | SLOW_IN_PLAIN | BEYOND_PLAIN
    assert all(any(name.startswith(prefix) for name in SLOW_IN_REFERENCE) for prefix in PIPELINES)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BEYOND_REFERENCE | SLOW_IN_REFERENCE])
def test_fast_and_reference(name):
    """Brute force from the words of the text; it may know more than the cat file, which then must say so."""
    _agree_with_reference(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW_IN_REFERENCE))
def test_fast_and_reference_on_the_slow(name):
    try:
        _agree_with_reference(name)
    except TooLargeError:
        pytest.skip("beyond brute force")


def _agree_with_reference(name):
    if gaps(structure(name), model("ptx")):
        assert name == BEYOND_THE_CAT_FILE
        return
    assert fast(structure(name), model("ptx")) == reference(structure(name), CANDIDATES)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BEYOND_REFERENCE))
def test_what_is_beyond_the_reference(name):
    with pytest.raises(TooLargeError):
        reference(structure(name), CANDIDATES)
    if name in BEYOND_MANY:
        with pytest.raises(TooLargeError):
            reference(structure(name), MANY)
    else:
        assert fast(structure(name), model("ptx")) == reference(structure(name), MANY)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LATER_IN_PLAIN])
def test_fast_and_plain(name):
    assert_same(fast(structure(name), model("ptx")), plain(structure(name), model("ptx")))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LATER_IN_PLAIN - BEYOND_PLAIN))
def test_fast_and_plain_of_the_slow(name):
    assert_same(fast(structure(name), model("ptx")), plain(structure(name), model("ptx")))


def _older(name: str, older: str) -> None:
    assert_same(fast(structure(name), model(older)), plain(structure(name), model(older)))


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("name", [name for name in share(16) if name not in LATER_IN_PLAIN | ASYNCHRONOUS])
def test_older_models(name, older):
    """They have no rule for mbarriers and copies: nobody is told what they make of them."""
    _older(name, older)


@pytest.mark.slow
@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if name not in BEYOND_PLAIN | ASYNCHRONOUS and (name not in share(16) or name in LATER_IN_PLAIN)
    ],
)
def test_older_models_on_the_rest(name, older):
    _older(name, older)
