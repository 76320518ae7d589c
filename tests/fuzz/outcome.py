"""What may come of an input: a verdict, or an error with its place."""

from __future__ import annotations

from pathlib import Path
from time import process_time

from memcheck import check
from memcheck.corpus import Case, cases
from memcheck.errors import MemcheckError, SourceError, TooLargeError

SECONDS = 0.5
"""What a test may take in the solver before it is undecided."""
CPU = 20.0
"""What an input may take in all."""


def _judge(case: Case) -> str:
    result = check(case.parse(), "ptx", bound=2, timeout=SECONDS)
    if result.undecided is not None:
        return "undecided"
    return "outside" if result.outside else "verdict"


def _kinds(path: Path) -> set[str]:
    return {_judge(case) for case in cases(str(path))[:3]}


def outcome(path: Path) -> str:
    """The kind of answer to a file; AssertionError where it is none."""
    start = process_time()
    fault: MemcheckError | None = None
    kinds = {"fault"}
    try:
        kinds = _kinds(path)
    except MemcheckError as error:
        fault = error
    if isinstance(fault, SourceError):
        assert str(fault).startswith(f"{path}:{fault.span.line}:{fault.span.column}: ")
    elif fault is not None:
        assert isinstance(fault, TooLargeError), f"an error without a place: {fault}"
        kinds = {"too large"}
    assert process_time() - start < CPU, "too long"
    return " ".join(sorted(kinds))
