"""Remarks on asynchronous operations for whose completion nothing waits, as far as the program's text tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memcheck.events.draft import Building, Draft
from memcheck.events.structure import Event
from memcheck.events.value import Value


def unawaited(draft: Draft, grouped: Mapping[tuple[int, int], Value]) -> Iterator[str]:
    """A remark for each operation that no wait for a group covers, and for whose mbarrier no one waits."""
    covered = {access for access, _ in grouped}
    reports: dict[int, list[int]] = {}
    for operation in draft.operations:
        for access, write in operation.complete:
            reports.setdefault(access, []).append(write)
    tests = [event for event in draft.events if "TEST" in event.tags]
    for operation in draft.operations:
        own = {access for access, _ in operation.complete}
        if operation.kind is None and not own & set(operation.events):
            continue
        if any(_is_awaited(draft, event, covered, reports, tests) for event in operation.events):
            continue
        if operation.events:
            yield _remark(draft, operation)


def _is_awaited(
    draft: Draft, event: int, covered: set[int], reports: Mapping[int, list[int]], tests: list[Event]
) -> bool:
    if event in covered:
        return True
    writes = [draft.events[write] for write in reports.get(event, ())]
    return any(_may_be_one(draft, write, test) for write in writes for test in tests)


def _may_be_one(draft: Draft, a: Event, b: Event) -> bool:
    """Whether two accesses of equal size may be at one place."""
    assert a.address is not None
    assert b.address is not None
    if not a.address.is_const or not b.address.is_const:
        return True
    return draft.memory.physical(a.address.payload, a.size) == draft.memory.physical(b.address.payload, b.size)


def _remark(draft: Draft, operation: Building) -> str:
    thread = draft.test.threads[operation.thread].name
    if operation.kind is None:
        return f"no one waits for the mbarrier of `{operation.instruction.text}` in {thread}"
    return f"`{operation.instruction.text}` is not awaited before {thread} ends"
