"""`cp.async.bulk` and `cp.reduce.async.bulk` as events of the async proxy (ISA 9.7.10.28.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memcheck.errors import SourceError
from memcheck.events import arithmetic, operations
from memcheck.events.addresses import MISALIGNED, generic_address
from memcheck.events.draft import Building, Step, is_multimem
from memcheck.events.mbarriers import word_address
from memcheck.events.pieces import access, cut, elements, move, parts, static_range
from memcheck.events.plan import Run
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.events.windows import MULTIMEM_STRIDE, SHARED_BITS
from memcheck.ptx.asynchronous import BulkCopy, BulkReduce, Group
from memcheck.ptx.instructions import AtomOp
from memcheck.ptx.operands import Address, Operand
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.types import ScalarType

CHUNK = 16
"""Bulk copies move multiples of 16 bytes between multiples of 16; a relaxed one does so in elements of 16."""
_COUNT = 32
_OFFSET = (1 << SHARED_BITS) - 1


class Target(NamedTuple):
    """One destination of an operation, `size` bytes. `word`: the mbarrier that counts them; `guard`: whether it is."""

    address: int
    size: int
    word: Value | None
    guard: Value

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and self.address <= address < self.address + self.size


def copy(step: Step) -> None:
    """`cp.async.bulk`: each byte of the source is read once, whatever the number of destinations."""
    instruction = step.instruction
    assert isinstance(instruction, BulkCopy)
    size = byte_count(step, instruction.size)
    source = static_range(step, instruction.source, size, instruction.source_space, align=CHUNK, writes=False)
    if instruction.multimem:
        targets = multimem_targets(step, instruction.destination, size)
    elif instruction.mask is not None:
        assert instruction.mbarrier is not None
        targets = multicast_targets(step, instruction.destination, size, instruction.mbarrier, instruction.mask)
    else:
        targets = [target(step, instruction.destination, size, instruction.destination_space, instruction.mbarrier)]
        if instruction.source_space is Space.SHARED_CTA and instruction.destination_space is Space.SHARED_CLUSTER:
            refuse_own(step, targets[0].address, "cp.async.bulk from shared to shared memory")
    operation = operations.begin(step, Group.BULK if instruction.mbarrier is None else None)
    if instruction.sem is Sem.WEAK:
        reads, writes = weak(step, operation, [Run(source, t.address, size) for t in targets], targets)
    else:
        reads, writes = _relaxed(step, operation, source, targets)
    complete(step, operation, targets, reads, writes)


def byte_count(step: Step, operand: Operand) -> int:
    """The size of a bulk operation."""
    value = step.operand(operand, _COUNT)
    if not value.is_const:
        raise arithmetic.unsupported(step.instruction, "a copy whose size depends on a read")
    size = value.payload
    if size % CHUNK:
        message = f"a bulk copy moves a multiple of {CHUNK} bytes, not {size} (ISA 9.7.10.28.4)"
        step.misuse(step.values.true, "a bulk copy of no multiple of 16 bytes", len(step.draft.events), message)
    return size


def target(
    step: Step, operand: Address, size: int, space: Space, mbarrier: Address | None, align: int = CHUNK
) -> Target:
    """The one destination of an operation, whose mbarrier lies in the same CTA."""
    address = static_range(step, operand, size, space, align=align, writes=True)
    word = None
    if mbarrier is not None:
        word = counting_word(step, mbarrier)
        same_cta(step, address, word)
    return Target(address, size, word, step.values.true)


def counting_word(step: Step, mbarrier: Address, space: Space = Space.SHARED_CLUSTER) -> Value:
    """The address of the mbarrier of an operation."""
    word = word_address(step, mbarrier, space)
    if not word.is_const:
        raise arithmetic.unsupported(step.instruction, "an asynchronous access whose mbarrier depends on a read")
    return word


def same_cta(step: Step, address: int, word: Value) -> None:
    """Misuse where an mbarrier is not in the CTA of the destination at `address`."""
    elsewhere = (word.payload ^ address) >> SHARED_BITS != 0
    message = "the mbarrier of an asynchronous operation must lie in the same CTA as its destination (ISA 9.7.10.28)"
    step.misuse(
        step.values.const(elsewhere, 1), "an mbarrier in another CTA than the destination", len(step.draft.events),
        message,
    )  # fmt: skip


def refuse_own(step: Step, address: int, what: str) -> None:
    """Misuse where the destination is shared memory of the own CTA."""
    own = address >> SHARED_BITS == step.windows.own >> SHARED_BITS
    step.misuse(
        step.values.const(own, 1), f"{what} of the own CTA", len(step.draft.events),
        f"{what} is for another CTA of the cluster, not the own one",
    )  # fmt: skip


def multicast_targets(step: Step, operand: Address, size: int, mbarrier: Address, mask: Operand) -> list[Target]:
    """The same offset in each CTA whose rank is in the mask."""
    named = static_range(step, operand, size, Space.SHARED_CLUSTER, align=CHUNK, writes=True)
    return masked(step, Target(named, size, counting_word(step, mbarrier), step.values.true), mask)


def masked(step: Step, named: Target, mask: Operand) -> list[Target]:
    """The target at the same offsets in each CTA whose rank is in a mask."""
    values, cluster, word = step.values, step.windows.cluster, named.word
    assert word is not None
    bits = step.operand(mask, 16)
    found = []
    for rank, base in enumerate(cluster):
        guard = values.extract(bits, rank, 1)
        if guard is not values.false:
            object = values.const(base + (word.payload & _OFFSET), 64)
            found.append(Target(base + (named.address & _OFFSET), named.size, object, guard))
    beyond = values.binary("lshr", bits, values.const(len(cluster), 16))
    message = f"the CTA mask names a rank that the cluster, of {len(cluster)} CTAs, does not have"
    step.misuse(
        values.negate(values.binary("eq", beyond, values.const(0, 16))), "a CTA mask beyond the cluster",
        len(step.draft.events), message,
    )  # fmt: skip
    return found


def multimem_targets(step: Step, operand: Address, size: int) -> list[Target]:
    """Every location behind a multimem address."""
    draft, instruction = step.draft, step.instruction
    address = generic_address(step, operand, Space.GLOBAL)
    if not address.is_const:
        raise arithmetic.unsupported(instruction, "a multimem address that depends on a read")
    region = draft.memory.region(address.payload, size)
    if region is None or not is_multimem(draft, region.variable):
        message = f"{size} bytes at this address are not inside a multimem variable (ISA 9.7.10.28.4)"
        raise SourceError(message, instruction.span, "declare one with `.multimem mm = {x, y};`")
    if address.payload % CHUNK:
        crooked = f"this address is not aligned to {CHUNK} bytes"
        step.misuse(step.values.true, MISALIGNED, len(draft.events), crooked)
    copies = len(draft.test.variables[region.variable].targets)
    true = step.values.true
    return [Target(address.payload + (k + 1) * MULTIMEM_STRIDE, size, None, true) for k in range(copies)]


def weak(
    step: Step, operation: Building, runs: Sequence[Run], targets: Sequence[Target], own: Sequence[Run] | None = None
) -> tuple[list[int], list[list[int]]]:
    """The accesses of a weak copy: its reads, and its writes by target; `own` as in `pieces.cut`."""
    reads: dict[tuple[int, int], int] = {}
    writes: list[list[int]] = [[] for _ in targets]
    for piece in cut(step, runs, own):
        for one, mine in zip(targets, writes, strict=True):
            if piece.destination in one:
                guard = step.values.both(step.guard, one.guard)
                mine.append(move(step, operation, piece, reads, guard=guard))
    return list(reads.values()), writes


def _relaxed(
    step: Step, operation: Building, source: int, targets: Sequence[Target]
) -> tuple[list[int], list[list[int]]]:
    """The accesses of a relaxed copy: strong, each of 16 bytes."""
    instruction, values = step.instruction, step.values
    assert isinstance(instruction, BulkCopy)
    runs = [Run(source + k, t.address + k, CHUNK) for t in targets for k in range(0, t.size - t.size % CHUNK, CHUNK)]
    reads: dict[int, int] = {}
    writes: list[list[int]] = [[] for _ in targets]
    for run in elements(step, runs):
        assert run.source is not None
        if run.source not in reads:
            reads[run.source] = operations.access(
                step, operation, Kind.READ, values.const(run.source, 64), CHUNK,
                sem=Sem.RELAXED, scope=instruction.scope,
            )  # fmt: skip
        read = reads[run.source]
        for one, mine in zip(targets, writes, strict=True):
            if run.destination in one:
                write = operations.access(
                    step, operation, Kind.WRITE, values.const(run.destination, 64), CHUNK,
                    value=step.draft.events[read].value, sem=Sem.RELAXED, scope=instruction.scope,
                    guard=values.both(step.guard, one.guard),
                )  # fmt: skip
                operation.within.append((read, write))
                step.draft.data_taint[write] = frozenset((read,))
                mine.append(write)
    return list(reads.values()), writes


def complete(
    step: Step, operation: Building, targets: Sequence[Target], reads: Sequence[int], writes: Sequence[Sequence[int]]
) -> None:
    """The complete-tx of each destination that has an mbarrier."""
    guard = step.guard
    for one, mine in zip(targets, writes, strict=True):
        if one.word is not None:
            step.guard = step.values.both(guard, one.guard)
            operations.complete_tx(step, operation, one.word, step.values.const(one.size, _COUNT), (*reads, *mine))
    step.guard = guard


def reduce(step: Step) -> None:
    """`cp.reduce.async.bulk`: weak reads of the source, an atomic operation for each element of the destination."""
    instruction = step.instruction
    assert isinstance(instruction, BulkReduce)
    size, width = byte_count(step, instruction.size), instruction.type.size
    source = static_range(step, instruction.source, size, Space.SHARED_CTA, align=CHUNK, writes=False)
    if instruction.multimem:
        targets = multimem_targets(step, instruction.destination, size)
    else:
        targets = [target(step, instruction.destination, size, instruction.destination_space, instruction.mbarrier)]
    operation = operations.begin(step, Group.BULK if instruction.mbarrier is None else None)
    runs = [Run(source + k, t.address + k, width) for t in targets for k in range(0, size - size % width, width)]
    sources: dict[int, list[int]] = {}
    writes: list[list[int]] = [[] for _ in targets]
    for run in elements(step, runs):
        assert run.source is not None
        if run.source not in sources:
            sources[run.source] = [
                access(step, operation, Kind.READ, address, length)
                for address, length in parts(step, run.source, width)
            ]
        for one, mine in zip(targets, writes, strict=True):
            if run.destination in one:
                mine += _reduce_element(step, operation, run.destination, sources[run.source])
    complete(step, operation, targets, [read for reads in sources.values() for read in reads], writes)


def _reduce_element(step: Step, operation: Building, address: int, sources: Sequence[int]) -> tuple[int, int]:
    """The read and the write of one element's atomic operation."""
    instruction, draft = step.instruction, step.draft
    assert isinstance(instruction, BulkReduce)
    operand = arithmetic.packed(step.values, [v for s in sources if (v := draft.events[s].value) is not None])
    accesses = update(
        step, operation, instruction.op, step.values.const(address, 64), operand, instruction.type,
        sem=Sem.RELAXED, scope=instruction.scope, proxy=Proxy.ASYNC,
    )  # fmt: skip
    operation.within += [(source, access) for source in sources for access in accesses]
    draft.data_taint[accesses[1]] = frozenset((*sources, accesses[0]))
    return accesses


def update(
    step: Step, operation: Building, op: AtomOp, address: Value, operand: Value, type: ScalarType, *,
    sem: Sem, scope: Scope, proxy: Proxy, flags: tuple[str, ...] = (),
) -> tuple[int, int]:  # fmt: skip
    """An asynchronous reduction of one element: its read and its write, whose semantics `sem` is."""
    flags = ("RMW", "RED", *flags)
    size, draft = type.size, step.draft
    read = operations.access(
        step, operation, Kind.READ, address, size, proxy=proxy, sem=Sem.RELAXED, scope=scope, flags=flags
    )
    before = draft.events[read].value
    assert before is not None
    value, _ = arithmetic.atomic(step.values, op, before, [operand], type, step.instruction)
    write = operations.access(
        step, operation, Kind.WRITE, address, size, value=value, proxy=proxy, sem=sem, scope=scope, flags=flags,
        rmw=read,
    )  # fmt: skip
    draft.data_taint[write] = frozenset((read,))
    return read, write
