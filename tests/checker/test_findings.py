"""What the suite's files cannot expect: the findings beside a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

import memcheck
from memcheck.corpus import Case, cases, find, suite, walk
from memcheck.language.test import Verdict

IDIOMS = {case.name: case for path in walk(str(Path(suite()) / "idioms")) for case in cases(path)}

FINDINGS = {
    "bulk-store-no-proxy-fence": {"race", "race-across-proxies"},
    "bulk-store-writer-fences": set(),
    "copy-handed-to-peer+cluster-cta": {"default-scope-across-ctas", "async-in-flight", "race"},
    "count-of-one-and-two-arrive": {"deadlock", "phase-unobserved", "race"},
    "count-of-two-and-two-arrive": set(),
    "cp.async-double-buffer+no-first-commit": {"wait-without-group", "async-in-flight", "race"},
    "lane-misses-a-phase": {"deadlock"},
    "lane-misses-a-phase-fixed": set(),
    "published-after-full-wait": {"async-in-flight", "race"},
    "remote-store-and-arrive+both.cluster": set(),
    "remote-store-and-arrive+defaults": {"default-scope-across-ctas", "race"},
    "tensor-core-read-running": {"async-in-flight", "race"},
    "tensor-core-read-waited-for": set(),
    "wgmma-slot-refilled": set(),
    "slot-refilled+fence": set(),
    "which-proxy-wgmma-fence": set(),
    "proxy-fence-read": set(),
    "proxy-fence-one-directional": set(),
    "completion-edges-read-source": set(),
    "tma-pipeline-2x2": set(),
    "slot-refilled+none": {"race", "race-across-proxies"},
    "which-proxy-bulk": {"race", "race-across-proxies"},
    "proxy-fence-none": {"race", "race-across-proxies"},
    "grids-tensormap": {"race", "race-across-proxies"},
    "wgmma-slot-refilled+no-wait": {"race", "async-in-flight"},
    "in-flight-source": {"race", "async-in-flight"},
    "in-flight-destination": {"race", "async-in-flight"},
    "in-flight-descriptor": {"race", "async-in-flight"},
    "default-scope-remote-arrive": {"race", "default-scope-across-ctas"},
    "default-scope-cluster-both": set(),
    "phase-completion-unobserved": {"phase-unobserved"},
    "waits-lapped-parity": {"lapped", "phase-unobserved"},
    "waits-lapped-token": {"lapped", "phase-unobserved"},
    "groups+uncommitted": {"race", "async-in-flight", "wait-without-group"},
}
"""By test. Where a full wait is published the reader may still look before it has seen the flag."""


def findings(case: Case) -> set[str]:
    result = memcheck.check(case.parse())
    assert not result.outside
    return {remark.name for remark in result.flags}


@pytest.mark.parametrize("name", FINDINGS)
def test_findings(name: str) -> None:
    (case,) = find(name)
    assert findings(case) == FINDINGS[name]


def _holds(case: Case) -> bool:
    return any(one.model == "ptx" and one.verdict is Verdict.HOLDS for one in case.parse().expectations)


@pytest.mark.parametrize("name", [name for name, case in IDIOMS.items() if _holds(case)])
def test_what_works_is_clean(name: str) -> None:
    assert findings(IDIOMS[name]) == set()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("expect-without-arrive", "1 of 1 arrivals is missing in the phase of parity 0"),
        ("spins-on-waits-missing-arrival", "arrivals"),
        ("spins-on-waits-missing-bytes", "bytes are missing"),
        ("waits-lapped-hang", "a wait is lapped"),
    ],
)
def test_a_hang_says_what_is_missing(name: str, words: str) -> None:
    (text,) = [flag.text for flag in memcheck.check(memcheck.load(name)).flags if flag.name == "deadlock"]
    assert words in text


def test_fences_that_synchronize_make_up_for_a_default_scope() -> None:
    text = """PTX fences
    { .shared .u32 s = 0; .shared .mbarrier m = 1; }
    P0 @ cta 0, cluster 0 {
      mapa.shared::cluster.u32 r1, m, 1; mapa.shared::cluster.u32 r2, s, 1;
      st.shared::cluster.u32 [r2], 1; fence.acq_rel.cluster;
      mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r1];
    }
    P1 @ cta 1, cluster 0 {
      L: mbarrier.try_wait.parity.shared::cta.b64 p0, [m], 0; @!p0 bra L;
      FENCE ld.shared.u32 r0, [s];
    }
    """
    fenced = memcheck.check(memcheck.load(text.replace("FENCE", "fence.acq_rel.cluster;")))
    bare = memcheck.check(memcheck.load(text.replace("FENCE", "")))
    assert {flag.name for flag in fenced.flags} == set()
    assert "default-scope-across-ctas" in {flag.name for flag in bare.flags}
