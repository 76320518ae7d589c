"""Tensor copies as events (ISA 9.7.10.28.5); which bytes move is `memcheck.tensor`'s to say.

An operation reads its descriptor, 128 bytes, through the tensormap proxy, and then moves the bytes of a box through the
async proxy. What a descriptor says must be known to know the bytes: a map that nothing can write says what it was
declared with; of any other, the pass before found all that can be read there, and the accesses of each are guarded by
its being read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memcheck.errors import MemcheckError, UnsupportedError
from memcheck.events import arithmetic, bulk, operations, pieces
from memcheck.events.addresses import (
    MISALIGNED,
    OUTSIDE,
    check_address,
    generic_address,
    more_alignment,
    placed,
    tell,
)
from memcheck.events.bulk import Target
from memcheck.events.draft import Building, Step, is_multimem
from memcheck.events.memory import Region
from memcheck.events.plan import Run
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.events.windows import SHARED_BITS
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.instructions import AtomOp
from memcheck.ptx.operands import Address, Operand
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.tensors import TensorLoad, TensorReduce, TensorStore
from memcheck.ptx.types import TYPES, ScalarType
from memcheck.tensor import limits
from memcheck.tensor.descriptor import TensorMap
from memcheck.tensor.element import ElementType
from memcheck.tensor.request import LoadMode, Request, misuse
from memcheck.tensor.walk import Copy, fill_bytes, stretches, transaction_bytes
from memcheck.tensor.words import SIZE, decode

NO_MAP = "a tensor copy whose descriptor is no tensor map"
NOT_ALLOWED = "a tensor copy that its tensor map does not allow"
NOT_IN_PAIR = "an mbarrier that is neither in the CTA of the destination nor in its pair"
MAP_ALIGNMENT = 64
"""Of a descriptor that a copy reads (cuda.h, CUtensorMap)."""
_COUNT = 32
_OFFSET = (1 << SHARED_BITS) - 1
_WORDS = (ElementType.U32, ElementType.S32, ElementType.U64, ElementType.S64)
_HALVES = (ElementType.F16, ElementType.BF16)
_REDUCED = {
    AtomOp.ADD: (*_WORDS[:3], ElementType.F32, ElementType.F32_FTZ, *_HALVES),
    AtomOp.MIN: (*_WORDS, *_HALVES),
    AtomOp.MAX: (*_WORDS, *_HALVES),
    AtomOp.INC: _WORDS[:1],
    AtomOp.DEC: _WORDS[:1],
    AtomOp.AND: _WORDS,
    AtomOp.OR: _WORDS,
    AtomOp.XOR: _WORDS,
}
"""Elements on which each operation is defined (ISA 9.7.10.28.5.4)."""


class Box(NamedTuple):
    """What one copy moves if its descriptor is `map`; `copies` by ascending shared address, joined where they can be.

    `copies` are relative to the shared address, as `memcheck.tensor.walk` gives them. `when`: the descriptor is `map`.
    """

    map: TensorMap
    request: Request
    copies: tuple[Copy, ...]
    when: Value

    @property
    def extent(self) -> int:
        """Bytes from the shared address to the last one that is touched."""
        return self.copies[-1].shared + self.copies[-1].size if self.copies else 0


def load(step: Step) -> None:
    """`cp.async.bulk.tensor` to shared memory, completed by a complete-tx on the mbarrier of each destination."""
    instruction = step.instruction
    assert isinstance(instruction, TensorLoad)
    values, guard = step.values, step.guard
    operation = operations.begin(step)
    targets = _targets(step, instruction)
    descriptor = _descriptor(step, operation, instruction.map)
    request = Request(
        coordinates=_numbers(step, instruction.coordinates, signed=True),
        mode=LoadMode.of(instruction.mode.value),
        offsets=_numbers(step, instruction.offsets, signed=False),
        shared=_shared(step, instruction.destination, instruction.destination_space) & _OFFSET,
    )
    boxes = _boxes(step, descriptor, request, instruction.destination, instruction.destination_space)
    runs = [[_loaded(box, target.address, copy) for target in targets for copy in box.copies] for box in boxes]
    amount = values.const(0, _COUNT)
    reads, writes = [descriptor], [list[int]() for _ in targets]
    for box, mine in zip(boxes, runs, strict=True):
        step.guard = values.both(guard, box.when)
        amount = values.ite(box.when, values.const(transaction_bytes(box.map, request), _COUNT), amount)
        sized = [target._replace(size=box.extent) for target in targets]
        found, written = bulk.weak(step, operation, mine, sized, own=_all(runs))
        reads += found
        for known, more in zip(writes, written, strict=True):
            known += more
    _read_first(operation, descriptor)
    for target, known in zip(targets, writes, strict=True):
        assert target.word is not None
        step.guard = values.both(guard, target.guard)
        operations.complete_tx(step, operation, target.word, amount, (*reads, *known))
    step.guard = guard


def store(step: Step) -> None:
    """`cp.async.bulk.tensor` to global memory, completed by a bulk group."""
    instruction = step.instruction
    assert isinstance(instruction, TensorStore)
    operation, descriptor, request = _outwards(step, instruction)
    guard, boxes = step.guard, _boxes(step, descriptor, request, instruction.source, Space.SHARED_CTA)
    runs = [[_stored(step, request, copy) for copy in box.copies] for box in boxes]
    for box, mine in zip(boxes, runs, strict=True):
        step.guard = step.values.both(guard, box.when)
        reads: dict[tuple[int, int], int] = {}
        for piece in pieces.cut(step, mine, own=_all(runs)):
            pieces.move(step, operation, piece, reads)
    step.guard = guard
    _read_first(operation, descriptor)


def reduce(step: Step) -> None:
    """`cp.reduce.async.bulk.tensor`: weak reads of shared memory, a relaxed.gpu reduction of each element."""
    instruction = step.instruction
    assert isinstance(instruction, TensorReduce)
    operation, descriptor, request = _outwards(step, instruction)
    guard, boxes = step.guard, _boxes(step, descriptor, request, instruction.source, Space.SHARED_CTA)
    runs = [
        [_stored(step, request, element) for copy in box.copies for element in _elements(copy, box.map.element.size)]
        for box in boxes
    ]
    for box, mine in zip(boxes, runs, strict=True):
        step.guard = step.values.both(guard, box.when)
        type = _type(step, descriptor, box.map.element, instruction.op)
        for run in pieces.elements(step, mine, own=_all(runs)) if type is not None else ():
            assert type is not None
            _reduce(step, operation, instruction.op, type, run)
    step.guard = guard
    _read_first(operation, descriptor)


def _outwards(step: Step, instruction: TensorStore | TensorReduce) -> tuple[Building, int, Request]:
    """The operation of a store or reduction, its read of the descriptor, what it asks for."""
    operation = operations.begin(step, Group.BULK)
    descriptor = _descriptor(step, operation, instruction.map)
    request = Request(
        coordinates=_numbers(step, instruction.coordinates, signed=True),
        mode=LoadMode.of(instruction.mode.value),
        shared=_shared(step, instruction.source, Space.SHARED_CTA) & _OFFSET,
        store=True,
    )
    return operation, descriptor, request


def _read_first(operation: Building, descriptor: int) -> None:
    operation.within += [(descriptor, event) for event in operation.events if event != descriptor]


# --- operands


def _descriptor(step: Step, operation: Building, operand: Address) -> int:
    """The read of the descriptor; like other accesses of weak copies it is never of another size than what it meets."""
    address = generic_address(step, operand, Space.GENERIC)
    if not address.is_const:
        raise arithmetic.unsupported(step.instruction, "a tensor map at an address that depends on a read")
    event = len(step.draft.events)
    true = step.values.true
    faults = check_address(step, operand, address, SIZE, Space.GENERIC, Proxy.GENERIC, writes=False)
    tell(step, placed(faults), event)
    if address.payload % MAP_ALIGNMENT:
        message = f"a tensor map is aligned to {MAP_ALIGNMENT} bytes{more_alignment(step, address, MAP_ALIGNMENT)}"
        step.misuse(true, MISALIGNED, event, message)
    if operations.owner(step, address, SIZE) is not None:
        step.misuse(true, NO_MAP, event, "a tensor map lies in global, constant or parameter memory (ISA 5.5.8)")
    return operations.access(
        step, operation, Kind.READ, address, SIZE, proxy=Proxy.TENSORMAP, flags=("PIECE",)
    )  # fmt: skip


def _numbers(step: Step, operands: Iterable[Operand], signed: bool) -> tuple[int, ...]:
    """Coordinates, of 32 bits and signed, or im2col offsets, of 16 bits and unsigned."""
    width = 32 if signed else 16
    found = []
    for operand in operands:
        value = step.operand(operand, width)
        if not value.is_const:
            raise arithmetic.unsupported(step.instruction, "a tensor copy whose coordinates depend on a read")
        number = value.payload
        found.append(number - (number >> width - 1 << width) if signed else number)
    return tuple(found)


def _shared(step: Step, operand: Address, space: Space) -> int:
    """The generic address of the shared operand."""
    address = generic_address(step, operand, space)
    if not address.is_const:
        raise arithmetic.unsupported(step.instruction, "a tensor copy whose shared address depends on a read")
    return address.payload


def _targets(step: Step, instruction: TensorLoad) -> list[Target]:
    """The destinations, still without sizes, and the mbarriers that count what comes there."""
    address = _shared(step, instruction.destination, instruction.destination_space)
    word = bulk.counting_word(step, instruction.mbarrier)
    named = Target(address, 1, word, step.values.true)
    if instruction.mask is not None:
        spread = bulk.masked(step, named, instruction.mask)
        return spread if instruction.cta_group == 1 else _signalled(step, word, spread)
    if instruction.cta_group == 1:
        bulk.same_cta(step, address, word)
    elif _rank(step, address) // 2 != _rank(step, word.payload) // 2:
        step.misuse(step.values.true, NOT_IN_PAIR, len(step.draft.events))
    return [named]


def _rank(step: Step, address: int) -> int:
    """The rank in its cluster of the CTA that has a shared address."""
    base = address & ~_OFFSET
    return step.windows.cluster.index(base) if base in step.windows.cluster else -1


def _signalled(step: Step, named: Value, targets: list[Target]) -> list[Target]:
    """With .cta_group::2 the signal goes, in each pair of CTAs, to the one that `named` is in within its own pair."""
    parity = _rank(step, named.payload) & 1
    cluster, found = step.windows.cluster, []
    for target in targets:
        assert target.word is not None
        rank = _rank(step, target.address) & ~1 | parity
        if rank >= len(cluster):
            step.misuse(target.guard, NOT_IN_PAIR, None, f"the cluster has no CTA of rank {rank}")
            continue
        word = step.values.const(cluster[rank] + (target.word.payload & _OFFSET), 64)
        found.append(target._replace(word=word))
    return found


# --- what a descriptor makes of them


def _boxes(step: Step, descriptor: int, request: Request, operand: Address, space: Space) -> list[Box]:
    """The box of each descriptor that can be read.

    Before a plan, when it is not known whether a map can be written, nothing is an input error.
    """
    draft, values, guard = step.draft, step.values, step.guard
    event = draft.events[descriptor]
    assert event.address is not None
    assert event.value is not None
    found: list[Box] = []
    physical = draft.memory.physical(event.address.payload, SIZE)
    numbers = () if physical is None else pieces.descriptors(step, physical)
    fixed = draft.plan is not None and len(numbers) == 1
    for number in numbers:
        when = values.true if fixed else values.binary("eq", event.value, values.const(number, 8 * SIZE))
        step.guard = values.both(guard, when)
        tensor = _map(step, descriptor, number)
        box = None if tensor is None else _box(step, descriptor, tensor, request, when)
        if box is not None and _inside(step, descriptor, box, operand, space):
            found.append(box)
    step.guard = guard
    return found


def _map(step: Step, descriptor: int, number: int) -> TensorMap | None:
    """The map that the bytes of a descriptor say; misuse where they say none."""
    try:
        tensor = decode(number.to_bytes(SIZE, "little"))
        broken = " ".join(limits.refusals(tensor, encoded=False))
    except MemcheckError as wrong:
        tensor, broken = None, str(wrong)
    if broken:
        step.misuse(step.values.true, f"{NO_MAP}: {_lowered(broken)}", descriptor)
    return None if broken else tensor


def _box(step: Step, descriptor: int, tensor: TensorMap, request: Request, when: Value) -> Box | None:
    if wrong := misuse(tensor, request):
        step.misuse(step.values.true, f"{NOT_ALLOWED}: {_lowered(' '.join(wrong))}", descriptor)
        return None
    try:
        return Box(tensor, request, tuple(stretches(tensor, request)), when)
    except MemcheckError as wrong:
        raise UnsupportedError(str(wrong), step.instruction.span) from None


def _inside(step: Step, descriptor: int, box: Box, operand: Address, space: Space) -> bool:
    """Whether all that a box touches is inside variables; misuse where not."""
    if not box.copies:
        return True
    memory, true = step.draft.memory, step.values.true
    address = generic_address(step, operand, space)
    writes = not box.request.store
    faults = list(placed(check_address(step, operand, address, box.extent, space, Proxy.GENERIC, writes)))
    tell(step, (fault._replace(condition=true) for fault in faults), descriptor)
    for copy in box.copies:
        if copy.address is None or _global(step, memory.region(copy.address, copy.size)):
            continue
        base = memory.region(box.map.base, 1)
        where = "of no variable" if base is None else f"of {base.variable}, which has {base.size}"
        reached = copy.address + copy.size - 1 - (0 if base is None else base.base)
        step.misuse(true, OUTSIDE, descriptor, f"the box reaches byte {reached} {where}", error=True)
        return False
    return not faults


def _global(step: Step, region: Region | None) -> bool:
    """Whether there is memory, and plain global memory."""
    found = None if region is None else step.draft.test.variables.get(region.variable)
    return found is not None and found.space is Space.GLOBAL and not is_multimem(step.draft, found.name)


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:].removesuffix(".")


# --- accesses


def _loaded(box: Box, shared: int, copy: Copy) -> Run:
    """What comes to a destination at generic address `shared`."""
    if copy.address is not None:
        return Run(copy.address, shared + copy.shared, copy.size)
    pattern = fill_bytes(box.map)
    return Run(None, shared + copy.shared, copy.size, int.from_bytes(pattern * (copy.size // len(pattern)), "little"))


def _stored(step: Step, request: Request, copy: Copy) -> Run:
    """What goes to global memory from the own CTA's shared memory."""
    assert copy.address is not None
    return Run(step.windows.own + request.shared + copy.shared, copy.address, copy.size)


def _all(runs: Iterable[Iterable[Run]]) -> list[Run]:
    return [run for listed in runs for run in listed]


def _elements(copy: Copy, size: int) -> Iterator[Copy]:
    assert copy.address is not None
    for k in range(0, copy.size, size):
        yield Copy(copy.shared + k, copy.address + k, size)


def _type(step: Step, descriptor: int, element: ElementType, op: AtomOp) -> ScalarType | None:
    """The type of a reduction; None, and misuse, where the operation is not defined on the map's elements."""
    if element not in _REDUCED[op]:
        rule = f"{NOT_ALLOWED}: there is no .{op.value} of .{element.spelling} elements"
        step.misuse(step.values.true, rule, descriptor)
        return None
    if element is ElementType.F32_FTZ:
        raise arithmetic.unsupported(step.instruction, "a reduction of .f32.ftz elements")
    return TYPES[element.spelling]


def _reduce(step: Step, operation: Building, op: AtomOp, type: ScalarType, run: Run) -> None:
    """One element: reads of its source, an atomic operation on its destination."""
    assert run.source is not None
    draft, values = step.draft, step.values
    sources = [
        pieces.access(step, operation, Kind.READ, address, size)
        for address, size in pieces.parts(step, run.source, run.size)
    ]
    operand = arithmetic.packed(values, [v for s in sources if (v := draft.events[s].value) is not None])
    accesses = bulk.update(
        step, operation, op, values.const(run.destination, 64), operand, type,
        sem=Sem.RELAXED, scope=Scope.GPU, proxy=Proxy.ASYNC,
    )  # fmt: skip
    operation.within += [(source, access) for source in sources for access in accesses]
    draft.data_taint[accesses[1]] = frozenset((*sources, accesses[0]))
