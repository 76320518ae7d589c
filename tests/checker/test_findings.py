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
