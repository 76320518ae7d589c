"""`st.async` and `red.async` as events of the generic proxy (ISA 9.7.10.12, 9.7.15.7)."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.events import arithmetic, operations
from memcheck.events.addresses import check_address, generic_address, tell
from memcheck.events.bulk import counting_word, refuse_own, same_cta, update
from memcheck.events.draft import NO_TAINT, Building, Step, Taint
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.ptx.asynchronous import AsyncReduce, AsyncStore
from memcheck.ptx.operands import Address
from memcheck.ptx.qualifiers import Proxy, Space

_COUNT = 32


def store(step: Step) -> None:
    """`st.async`: a write an element, weak and counted by an mbarrier, or a release to global memory."""
    instruction = step.instruction
    assert isinstance(instruction, AsyncStore)
    values, width = step.values, instruction.type.size
    total = width * len(instruction.sources)
    if instruction.mbarrier is None:
        address = _released(step, instruction.address, total)
        word = None
    else:
        address, word = _counted(step, instruction.address, total, instruction.mbarrier, instruction.space)
        alone = len(step.draft.mates(step.thread.place.cluster)) == 1
        step.misuse(
            values.const(alone, 1), "st.async in a cluster of one CTA", len(step.draft.events),
            "st.async needs a cluster of several CTAs (ISA 9.7.10.12)",
        )  # fmt: skip
    operation = operations.begin(step)
    writes = []
    for k, source in enumerate(instruction.sources):
        write = operations.access(
            step, operation, Kind.WRITE, values.binary("add", address, values.const(k * width, 64)), width,
            value=step.operand(source, 8 * width, instruction.type.signed), proxy=Proxy.GENERIC,
            sem=instruction.sem, scope=instruction.scope, flags=("MMIO",) if instruction.mmio else (),
        )  # fmt: skip
        _taint(step, write, instruction.address, step.taint(source))
        writes.append(write)
    _complete(step, operation, word, total, writes)


def reduce(step: Step) -> None:
    """`red.async`: an atomic operation, relaxed and counted by an mbarrier, or a release to global memory."""
    instruction = step.instruction
    assert isinstance(instruction, AsyncReduce)
    width = instruction.type.size
    if instruction.mbarrier is None:
        address = _released(step, instruction.address, width)
        word = None
    else:
        address, word = _counted(step, instruction.address, width, instruction.mbarrier, instruction.space)
        refuse_own(step, address.payload, "red.async to shared memory")
    operation = operations.begin(step)
    accesses = update(
        step, operation, instruction.op, address,
        step.operand(instruction.operand, 8 * width, instruction.type.signed), instruction.type,
        sem=instruction.sem, scope=instruction.scope, proxy=Proxy.GENERIC,
        flags=("MMIO",) if instruction.mmio else (),
    )  # fmt: skip
    data = step.taint(instruction.operand)
    for access, taint in zip(accesses, (NO_TAINT, data | {accesses[0]}), strict=True):
        _taint(step, access, instruction.address, taint)
    _complete(step, operation, word, width, accesses)


def _released(step: Step, operand: Address, total: int) -> Value:
    """The address of an access to global memory, checked."""
    address = generic_address(step, operand, Space.GLOBAL)
    faults = check_address(step, operand, address, total, Space.GLOBAL, Proxy.GENERIC, True)
    tell(step, faults, len(step.draft.events))
    return address


def _counted(step: Step, operand: Address, total: int, mbarrier: Address, space: Space) -> tuple[Value, Value]:
    """The address of an access to the cluster's shared memory, checked, and its mbarrier, in the same CTA."""
    word = counting_word(step, mbarrier, space)
    address = generic_address(step, operand, space)
    event = len(step.draft.events)
    if not address.is_const:
        raise arithmetic.unsupported(step.instruction, "an asynchronous access whose address depends on a read")
    tell(step, check_address(step, operand, address, total, Space.SHARED_CLUSTER, Proxy.GENERIC, True), event)
    same_cta(step, address.payload, word)
    return address, word


def _complete(step: Step, operation: Building, word: Value | None, total: int, accesses: Sequence[int]) -> None:
    if word is not None:
        operations.complete_tx(step, operation, word, step.values.const(total, _COUNT), accesses)


def _taint(step: Step, event: int, address: Address, data: Taint) -> None:
    for table, taint in (
        (step.draft.address_taint, step.taint(address.base)),
        (step.draft.data_taint, data),
    ):
        if taint:
            table[event] = taint
