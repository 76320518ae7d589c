"""`clusterlaunchcontrol.try_cancel`: an answer of 16 bytes, written through the async proxy (ISA 9.7.15.18)."""

from __future__ import annotations

from memcheck.events import bulk, operations
from memcheck.events.draft import Step
from memcheck.events.plan import Run
from memcheck.events.windows import SHARED_BITS
from memcheck.ptx.asynchronous import TryCancel
from memcheck.ptx.qualifiers import Space

ANSWER = 16
"""Bytes of an answer."""
_NOTE = "what clusterlaunchcontrol.try_cancel answers is not modelled: its 16 bytes are taken to be 0"
_OFFSET = (1 << SHARED_BITS) - 1


def cancel(step: Step) -> None:
    """The answer and its complete-tx, in the own CTA or at the same offsets in every CTA of the cluster."""
    instruction = step.instruction
    assert isinstance(instruction, TryCancel)
    step.draft.note(_NOTE)
    own = bulk.target(step, instruction.address, ANSWER, Space.SHARED_CTA, instruction.mbarrier)
    targets = [own]
    if instruction.multicast:
        assert own.word is not None
        targets = [
            own._replace(
                address=base + (own.address & _OFFSET),
                word=step.values.const(base + (own.word.payload & _OFFSET), 64),
            )
            for base in step.windows.cluster
        ]
    operation = operations.begin(step)
    runs = [Run(None, target.address, ANSWER, 0) for target in targets]
    _, writes = bulk.weak(step, operation, runs, targets)
    bulk.complete(step, operation, targets, (), writes)
