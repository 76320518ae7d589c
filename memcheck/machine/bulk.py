"""Bulk copies and reductions, asynchronous stores and reductions, cancellation of launches (ISA 9.7.10.28.4, .12).

Each becomes a command of the engine. A bulk reduction is an atomic operation for each element, in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memcheck.language.test import VariableKind
from memcheck.machine import arithmetic, mbarriers
from memcheck.machine.accesses import Atomic, Store
from memcheck.machine.commands import Notice, Order, Run, Transfer
from memcheck.machine.copies import start, unit
from memcheck.machine.fences import Release, needed
from memcheck.machine.layout import Region
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Source
from memcheck.machine.windows import MULTIMEM_STRIDE, SHARED_BITS
from memcheck.ptx import asynchronous as ptx
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.operands import Address, AddressOf, Operand
from memcheck.ptx.qualifiers import Proxy, Sem, Space
from memcheck.ptx.types import ScalarType

CHUNK = 16
"""What sizes and addresses of bulk copies are multiples of, and what a relaxed one moves at once."""
OFFSET = (1 << SHARED_BITS) - 1
ANSWER = 16
"""Bytes that try_cancel writes; here zeros."""


def sizes(instruction: Instruction) -> tuple[tuple[Address, int], ...]:
    """Elements that are never torn, where their variable is named; and the word of the mbarrier."""
    found = list(mbarriers.sizes(instruction))
    if isinstance(instruction, ptx.BulkCopy) and instruction.sem is not Sem.WEAK:
        found += [(instruction.source, CHUNK), (instruction.destination, CHUNK)]
    elif isinstance(instruction, ptx.BulkReduce):
        found.append((instruction.destination, instruction.type.size))
    elif isinstance(instruction, ptx.AsyncStore | ptx.AsyncReduce):
        found.append((instruction.address, instruction.type.size))
    return tuple((address, size) for address, size in found if isinstance(address.base, AddressOf))


class Places:
    """Which ranges a thread's asynchronous operations may touch."""

    def __init__(self, lowering: Lowering) -> None:
        self.layout = lowering.layout
        self.own = lowering.thread.place.cta
        self.window = lowering.windows.own
        self.cluster = lowering.windows.cluster
        self.mates = {t.place.cta for t in lowering.test.threads if t.place.cluster == lowering.thread.place.cluster}

    def region(self, address: int, size: int) -> Region | None:
        """The region of a range whose bytes are plain memory."""
        region = self.layout.region(address, size)
        if region is None or region.kind is VariableKind.MULTIMEM:
            return None
        return region

    def is_in(self, address: int, size: int, space: Space, align: int = CHUNK) -> bool:
        """Whether a range is inside a variable of a state space, as the thread may use it."""
        region = self.region(address, size)
        if region is None or address % align:
            return False
        if space is Space.SHARED_CTA:
            return region.cta == self.own
        if space is Space.SHARED_CLUSTER:
            return region.cta in self.mates
        return region.cta is None or space is Space.GENERIC

    def are_together(self, word: int, address: int) -> bool:
        """Whether an mbarrier lies in the same CTA as a destination."""
        return word >> SHARED_BITS == address >> SHARED_BITS

    def masked(self, address: int, mask: int) -> list[int] | None:
        """The same offset in each CTA whose rank is in a mask; None for ranks that the cluster does not have."""
        if mask >> len(self.cluster):
            return None
        return [base + (address & OFFSET) for rank, base in enumerate(self.cluster) if mask >> rank & 1]


Word = tuple[Source, Callable[[int], bool]]


def word_of(lowering: Lowering, operand: Address | None) -> Word | None:
    """Address and check of the mbarrier of an operation."""
    if operand is None:
        return None
    source, check, _ = mbarriers.word_address(lowering, operand, Space.SHARED_CLUSTER)
    return source, check


def behind(lowering: Lowering, address: int, size: int) -> list[int] | None:
    """The addresses behind a multimem address."""
    region = lowering.layout.region(address, size)
    if region is None or region.kind is not VariableKind.MULTIMEM or address % CHUNK:
        return None
    count = len(lowering.test.variables[region.variable].targets)
    return [address + (k + 1) * MULTIMEM_STRIDE for k in range(count)]


def _targets(
    lowering: Lowering, instruction: ptx.BulkCopy | ptx.BulkReduce, mask: Operand | None
) -> Callable[[Sequence[int | None], int], tuple[list[int], tuple[Notice, ...]] | None]:
    """The destinations of `size` bytes, and what their mbarriers are told."""
    places = Places(lowering)
    space = instruction.destination_space
    destination = lowering.address(instruction.destination, Space.GLOBAL if instruction.multimem else space)
    word = word_of(lowering, instruction.mbarrier)
    bits = None if mask is None else lowering.source(mask, 16)

    def targets(registers: Sequence[int | None], size: int) -> tuple[list[int], tuple[Notice, ...]] | None:
        first = destination(registers)
        found: list[int] | None = [first]
        if instruction.multimem:
            found = behind(lowering, first, size)
        elif not places.is_in(first, size or 1, space):
            return None
        if word is None:
            return None if found is None else (found, ())
        at = word[0](registers)
        if not word[1](at):
            return None
        words: list[int] | None = [at]
        if bits is not None:
            found, words = places.masked(first, bits(registers)), places.masked(at, bits(registers))
        elif not places.are_together(at, first):
            return None
        if found is None or words is None:
            return None
        return found, tuple(Notice(w, t, size, size) for w, t in zip(words, found, strict=True))

    return targets


def copy(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async.bulk`: each byte of the source is read once, whatever the number of destinations."""
    assert isinstance(instruction, ptx.BulkCopy)
    places = Places(lowering)
    count = lowering.source(instruction.size, 32)
    source = lowering.address(instruction.source, instruction.source_space)
    targets = _targets(lowering, instruction, instruction.mask)
    strong = instruction.sem is not Sem.WEAK
    remote = instruction.source_space is Space.SHARED_CTA and instruction.destination_space is Space.SHARED_CLUSTER

    def build(registers: Sequence[int | None]) -> Order | None:
        size, first = count(registers), source(registers)
        found = targets(registers, size)
        if size % CHUNK or found is None or not places.is_in(first, size or 1, instruction.source_space):
            return None
        ends, notices = found
        if remote and ends[0] >> SHARED_BITS == places.window >> SHARED_BITS:
            return None
        if strong:
            steps = range(0, size, CHUNK)
            return Order(tuple(Run(first + k, tuple(e + k for e in ends), CHUNK, whole=True) for k in steps), notices)
        return Order((Run(first, tuple(ends), size),) if size else (), notices)

    group = Group.BULK if instruction.mbarrier is None else None
    start(lowering, Transfer(unit(lowering), "TMA", Proxy.ASYNC, build, group, strong), instruction)


def updating(op: AtomOp, instruction: Instruction) -> Callable[[int, int, ScalarType], int]:
    """What a reduction makes of an element and of what comes to it."""

    def update(old: int, value: int, type: ScalarType) -> int:
        after = arithmetic.atomic(op, old, (value,), type, instruction)
        return old if after is None else after

    return update


def reduce(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.reduce.async.bulk`."""
    assert isinstance(instruction, ptx.BulkReduce)
    places, width = Places(lowering), instruction.type.size
    count = lowering.source(instruction.size, 32)
    source = lowering.address(instruction.source, Space.SHARED_CTA)
    targets = _targets(lowering, instruction, None)

    def build(registers: Sequence[int | None]) -> Order | None:
        size, first = count(registers), source(registers)
        found = targets(registers, size)
        if size % CHUNK or found is None or not places.is_in(first, size or 1, Space.SHARED_CTA):
            return None
        ends, notices = found
        steps = range(0, size, width)
        runs = tuple(Run(first + k, tuple(e + k for e in ends), width, whole=True) for k in steps)
        return Order(runs, notices, element=instruction.type)

    group = Group.BULK if instruction.mbarrier is None else None
    transfer = Transfer(unit(lowering), "TMA", Proxy.ASYNC, build, group, True)
    transfer.update = updating(instruction.op, instruction)
    start(lowering, transfer, instruction)


def store(lowering: Lowering, instruction: Instruction) -> None:
    """`st.async`: to shared memory of the cluster with an mbarrier, or a release to global memory."""
    assert isinstance(instruction, ptx.AsyncStore)
    type, values = instruction.type, [lowering.source(s, instruction.type.bits) for s in instruction.sources]
    size, places = type.size, Places(lowering)
    total = size * len(values)
    if instruction.mbarrier is None:
        _released(lowering, instruction)
        address = lowering.address(instruction.address, instruction.space)
        fixed = lowering.layout.locate(address(()), size) if isinstance(instruction.address.base, AddressOf) else None
        access = Store(address, size, lowering.level(instruction.scope), Proxy.GENERIC, fixed)
        access.values = (lowering.source(instruction.sources[0], type.bits),)
        lowering.add(access, instruction)
        return
    address = lowering.address(instruction.address, Space.SHARED_CLUSTER)
    word = word_of(lowering, instruction.mbarrier)
    assert word is not None

    def build(registers: Sequence[int | None]) -> Order | None:
        first, at = address(registers), word[0](registers)
        if not places.is_in(first, total, Space.SHARED_CLUSTER, total) or not word[1](at):
            return None
        if not places.are_together(at, first) or len(places.cluster) < 2:
            return None
        runs = tuple(Run(None, (first + k * size,), size, value(registers), True) for k, value in enumerate(values))
        return Order(runs, (Notice(at, first, total, total),))

    start(lowering, Transfer(unit(lowering), "LSU", Proxy.GENERIC, build), instruction)


def _released(lowering: Lowering, instruction: ptx.AsyncStore | ptx.AsyncReduce) -> None:
    level = lowering.level(instruction.scope)
    if instruction.sem is Sem.RELEASE and needed(level):
        lowering.add(Release(level), instruction)


def red(lowering: Lowering, instruction: Instruction) -> None:
    """`red.async`: on shared memory of another CTA with an mbarrier, or a release on global memory."""
    assert isinstance(instruction, ptx.AsyncReduce)
    type, op = instruction.type, instruction.op
    size, places = type.size, Places(lowering)
    if instruction.mbarrier is None:
        _released(lowering, instruction)
        address = lowering.address(instruction.address, instruction.space)
        fixed = lowering.layout.locate(address(()), size) if isinstance(instruction.address.base, AddressOf) else None
        access = Atomic(
            address, size, lowering.level(instruction.scope), Proxy.GENERIC, fixed, None, lambda value: value,
            lambda old, operands: arithmetic.atomic(op, old, operands, type, instruction), False, True,
        )  # fmt: skip
        access.values = (lowering.source(instruction.operand, type.bits),)
        lowering.add(access, instruction)
        return
    value = lowering.source(instruction.operand, type.bits)
    address = lowering.address(instruction.address, Space.SHARED_CLUSTER)
    word = word_of(lowering, instruction.mbarrier)
    assert word is not None

    def build(registers: Sequence[int | None]) -> Order | None:
        first, at = address(registers), word[0](registers)
        if not places.is_in(first, size, Space.SHARED_CLUSTER, size) or not word[1](at):
            return None
        if not places.are_together(at, first) or first >> SHARED_BITS == places.window >> SHARED_BITS:
            return None
        return Order(
            (Run(None, (first,), size, value(registers), True),), (Notice(at, first, size, size),), element=type
        )

    transfer = Transfer(unit(lowering), "LSU", Proxy.GENERIC, build, None, True)
    transfer.update = updating(op, instruction)
    start(lowering, transfer, instruction)


def cancel(lowering: Lowering, instruction: Instruction) -> None:
    """`clusterlaunchcontrol.try_cancel`: an answer to the own CTA, or to all of the cluster."""
    assert isinstance(instruction, ptx.TryCancel)
    places = Places(lowering)
    address = lowering.address(instruction.address, Space.SHARED_CTA)
    word = word_of(lowering, instruction.mbarrier)
    assert word is not None

    def build(registers: Sequence[int | None]) -> Order | None:
        first, at = address(registers), word[0](registers)
        if not places.is_in(first, ANSWER, Space.SHARED_CTA) or not word[1](at) or not places.are_together(at, first):
            return None
        every = (1 << len(places.cluster)) - 1
        ends = places.masked(first, every) if instruction.multicast else [first]
        words = places.masked(at, every) if instruction.multicast else [at]
        assert ends is not None
        assert words is not None
        notices = tuple(Notice(w, e, ANSWER, ANSWER) for w, e in zip(words, ends, strict=True))
        return Order((Run(None, tuple(ends), ANSWER, 0),), notices)

    start(lowering, Transfer(unit(lowering), "TMA", Proxy.ASYNC, build), instruction)
