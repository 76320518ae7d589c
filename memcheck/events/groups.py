"""Groups of asynchronous operations: what commits and waits of a thread cover (ISA 9.7.10.28.3, .28.6, 9.7.17)."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.events.draft import Commit, Draft, GroupWait, Step, fence_tags
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.ptx.asynchronous import CommitGroup, Group, WaitAll, WaitGroup

_COUNT = 32
"""Bits in which commits are counted."""


def commit(step: Step) -> None:
    """`….commit_group`: the thread's operations of the kind that no group has yet become one."""
    instruction = step.instruction
    assert isinstance(instruction, CommitGroup)
    _commit(step, instruction.group)


def _commit(step: Step, kind: Group) -> None:
    draft = step.draft
    draft.commits.append(Commit(step.thread.index, kind, step.guard, len(draft.events)))


def wait(step: Step) -> None:
    """`….wait_group N`, and `.read`."""
    instruction = step.instruction
    assert isinstance(instruction, WaitGroup)
    _wait(step, instruction.group, instruction.pending, instruction.read)


def wait_all(step: Step) -> None:
    """`cp.async.wait_all`: a commit, and a wait for every group."""
    assert isinstance(step.instruction, WaitAll)
    _commit(step, Group.COPY)
    _wait(step, Group.COPY, 0, False)


def _wait(step: Step, kind: Group, pending: int, reads_only: bool) -> None:
    draft = step.draft
    some = any(c.thread == step.thread.index and c.kind is kind for c in draft.commits)
    flags = ("GROUP_WAIT",) if some else ("GROUP_WAIT", "NO_GROUP")
    event = step.event(Kind.POINT, fence_tags(None, None, flags))
    draft.waits.append(GroupWait(step.thread.index, kind, event, pending, reads_only))


def grouped(draft: Draft) -> Mapping[tuple[int, int], Value]:
    """For each access and each later wait of its thread and kind: when the wait covers the access.

    A group is covered when at least `pending` further ones were committed between it and the wait: when more than
    `pending` commits lie between the access and the wait.
    """
    found: dict[tuple[int, int], Value] = {}
    for wait in draft.waits:
        for operation in draft.operations:
            if operation.kind is not wait.kind or operation.thread != wait.thread or not operation.events:
                continue
            if operation.events[0] > wait.event:
                continue
            covered = _covered(draft, operation.events[0], wait)
            for event in operation.events if covered is not draft.values.false else ():
                if not wait.reads_only or _reads_source(draft, event):
                    found[event, wait.event] = covered
    return found


def _reads_source(draft: Draft, event: int) -> bool:
    """A read of the source or of the descriptor; that of a reduction is at its destination."""
    return draft.events[event].kind is Kind.READ and "RMW" not in draft.events[event].tags


def _covered(draft: Draft, first: int, wait: GroupWait) -> Value:
    values = draft.values
    number = values.const(0, _COUNT)
    for commit in draft.commits:
        if (commit.thread, commit.kind) == (wait.thread, wait.kind) and first < commit.position <= wait.event:
            number = values.binary("add", number, values.zext(commit.guard, _COUNT))
    return values.binary("ult", values.const(wait.pending, _COUNT), number)
