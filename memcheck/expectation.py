"""Does a result agree with what its file expects?"""

from __future__ import annotations

from memcheck.language.test import Expectation, Verdict
from memcheck.result import Result


def verdict(result: Result) -> Verdict | None:
    """The verdict of a result in a file's words; None for a test without a condition. Deadlocks are flags beside it."""
    if result.outside:
        return Verdict.OUTSIDE
    if result.holds is not None:
        return Verdict.HOLDS if result.holds else Verdict.FAILS
    return None if result.undecided is None else Verdict.UNDECIDED


def differences(result: Result, expectation: Expectation) -> list[str]:
    """Sentences on what was expected and found otherwise; empty where the result is as expected.

    `deadlock` expects the flag of that name: in some execution a thread waits for ever.
    """
    found = []
    actual = verdict(result)
    if expectation.verdict is Verdict.DEADLOCK:
        if not any(flag.name == "deadlock" for flag in result.flags):
            found.append("expected a deadlock, but every thread ends in every execution")
    elif expectation.verdict is not None and expectation.verdict is not actual:
        found.append(f"expected: {expectation.verdict.value}, found: {_words(result, actual)}")
    if isinstance(expectation.states, int):
        if len(result.states) != expectation.states:
            found.append(f"expected {expectation.states} final states, found {len(result.states)}")
    elif expectation.states is not None:
        found.extend(_state_differences(result, expectation.states))
    return found


def _words(result: Result, actual: Verdict | None) -> str:
    if actual is None:
        return "no verdict, since the test has no condition"
    if actual is Verdict.OUTSIDE:
        return f"outside ({'; '.join(sorted({remark.name for remark in result.outside}))})"
    return f"undecided ({result.undecided})" if actual is Verdict.UNDECIDED else str(actual.value)


def _state_differences(result: Result, expected: frozenset[frozenset[tuple[str, int]]]) -> list[str]:
    actual = {frozenset(result.as_dict(state).items()) for state in result.states}
    order = {result.test.key(term): place for place, term in enumerate(result.test.observed)}

    def shown(state: frozenset[tuple[str, int]]) -> str:
        cells = sorted(state, key=lambda cell: (order.get(cell[0], len(order)), cell))
        return " ".join(f"{key}={value}" for key, value in cells)

    lines = [f"expected state not found: {shown(state)}" for state in expected - actual]
    lines += [f"unexpected state found: {shown(state)}" for state in actual - expected]
    return sorted(lines)
