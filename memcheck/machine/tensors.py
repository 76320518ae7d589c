"""Tensor copies: the TMA reads a descriptor, then moves the bytes of a box (ISA 9.7.10.28.5).

The descriptor comes through a cache of its own, which stays as it was until an acquiring proxy fence. Which bytes move
is `memcheck.tensor`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memcheck.errors import MemcheckError
from memcheck.machine import arithmetic, mbarriers
from memcheck.machine.bulk import OFFSET, Places, updating, word_of
from memcheck.machine.commands import MAP, Notice, Order, Run, Transfer
from memcheck.machine.copies import start, unit
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Source
from memcheck.ptx.asynchronous import Group
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Operand
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.ptx.tensors import TensorLoad, TensorReduce, TensorStore
from memcheck.ptx.types import TYPES, ScalarType
from memcheck.tensor import limits
from memcheck.tensor.descriptor import TensorMap
from memcheck.tensor.element import ElementType
from memcheck.tensor.request import LoadMode, Request, misuse
from memcheck.tensor.walk import Copy, fill_bytes, stretches, transaction_bytes
from memcheck.tensor.words import decode

_MAP_ALIGNMENT = 64


class Asked(NamedTuple):
    """What a copy wants of the map: `shared`, a generic address, of each target; the words of their mbarriers."""

    request: Request
    shared: tuple[int, ...]
    words: tuple[int, ...]


def sizes(instruction: Instruction) -> tuple[tuple[Address, int], ...]:
    """The descriptor is never torn; nor is the word of the mbarrier."""
    assert isinstance(instruction, TensorLoad | TensorStore | TensorReduce)
    found = list(mbarriers.sizes(instruction))
    if isinstance(instruction.map.base, AddressOf):
        found.append((instruction.map, MAP))
    return tuple(found)


def _numbers(
    lowering: Lowering, operands: Sequence[Operand], width: int
) -> Callable[[Sequence[int | None]], tuple[int, ...]]:
    """Coordinates, of 32 bits and signed, or im2col offsets, of 16 bits and unsigned."""
    sources = [lowering.source(operand, width) for operand in operands]

    def numbers(registers: Sequence[int | None]) -> tuple[int, ...]:
        values = [source(registers) for source in sources]
        return tuple(arithmetic.signed(v, width) for v in values) if width == 32 else tuple(values)

    return numbers


def load(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async.bulk.tensor` to shared memory."""
    assert isinstance(instruction, TensorLoad)
    places = Places(lowering)
    space = instruction.destination_space
    map = lowering.address(instruction.map, Space.GENERIC)
    destination = lowering.address(instruction.destination, space)
    coordinates = _numbers(lowering, instruction.coordinates, 32)
    offsets = _numbers(lowering, instruction.offsets, 16)
    mask = None if instruction.mask is None else lowering.source(instruction.mask, 16)
    word = word_of(lowering, instruction.mbarrier)
    assert word is not None

    def build(registers: Sequence[int | None]) -> Order | None:
        first, at = destination(registers), word[0](registers)
        if not places.is_in(first, 1, space, 1) or not word[1](at):
            return None
        ends, words = _spread(places, first, at, None if mask is None else mask(registers), instruction.cta_group)
        if not ends:
            return None
        request = Request(
            coordinates=coordinates(registers), mode=LoadMode.of(instruction.mode.value), offsets=offsets(registers),
            shared=first & OFFSET,
        )  # fmt: skip
        return _ordered(places, map(registers), Asked(request, ends, words))

    transfer = Transfer(unit(lowering), "TMA", Proxy.ASYNC, build)
    transfer.expand = lambda order, raw: _loaded(places, order, raw)
    start(lowering, transfer, instruction)


def _spread(
    places: Places, first: int, word: int, mask: int | None, cta_group: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Destinations and the words of their mbarriers; none where these are undefined.

    With .cta_group::2 the signal goes, in each pair of CTAs, to the one that `word` is in within its own pair.
    """
    ends = [first] if mask is None else places.masked(first, mask)
    if not ends:
        return (), ()
    words = []
    for end in ends:
        rank = places.cluster.index(end & ~OFFSET)
        named = places.cluster.index(word & ~OFFSET)
        if cta_group == 2:
            if mask is None and rank // 2 != named // 2:
                return (), ()
            rank = rank & ~1 | named & 1
        elif mask is None and rank != named:
            return (), ()
        if rank >= len(places.cluster):
            return (), ()
        words.append(places.cluster[rank] + (word & OFFSET))
    return tuple(ends), tuple(words)


def _ordered(places: Places, map: int, asked: Asked) -> Order | None:
    region = places.region(map, MAP)
    if region is None or region.cta is not None or map % _MAP_ALIGNMENT:
        return None
    return Order(map=map, asked=asked)


def _box(raw: bytes, request: Request) -> tuple[TensorMap, list[Copy]] | None:
    """The map that a descriptor says and the copies of the box, joined; None where they are undefined."""
    try:
        tensor = decode(raw)
        if limits.refusals(tensor, encoded=False) or misuse(tensor, request):
            return None
        return tensor, list(stretches(tensor, request))
    except MemcheckError:
        return None


def _loaded(places: Places, order: Order, raw: bytes) -> Order | None:
    asked = order.asked
    assert isinstance(asked, Asked)
    found = _box(raw, asked.request)
    if found is None:
        return None
    tensor, copies = found
    pattern = fill_bytes(tensor)
    runs = []
    for copy in copies:
        ends = tuple(shared + copy.shared for shared in asked.shared)
        if any(places.region(end, copy.size) is None for end in ends):
            return None
        if copy.address is None:
            fill = int.from_bytes(pattern * (copy.size // len(pattern)), "little")
            runs.append(Run(None, ends, copy.size, fill))
        elif places.is_in(copy.address, copy.size, Space.GLOBAL, 1):
            runs.append(Run(copy.address, ends, copy.size))
        else:
            return None
    extent = copies[-1].shared + copies[-1].size if copies else 0
    amount = transaction_bytes(tensor, asked.request)
    pairs = zip(asked.words, asked.shared, strict=True)
    return Order(tuple(runs), tuple(Notice(word, shared, extent, amount) for word, shared in pairs))


def _outwards(
    lowering: Lowering, instruction: TensorStore | TensorReduce
) -> Callable[[Sequence[int | None]], Order | None]:
    """The order of a store or reduction."""
    places = Places(lowering)
    map: Source = lowering.address(instruction.map, Space.GENERIC)
    source = lowering.address(instruction.source, Space.SHARED_CTA)
    coordinates = _numbers(lowering, instruction.coordinates, 32)

    def build(registers: Sequence[int | None]) -> Order | None:
        first, mode = source(registers), LoadMode.of(instruction.mode.value)
        request = Request(coordinates=coordinates(registers), mode=mode, shared=first & OFFSET, store=True)
        return _ordered(places, map(registers), Asked(request, (first,), ()))

    return build


def store(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.async.bulk.tensor` to global memory."""
    assert isinstance(instruction, TensorStore)
    places = Places(lowering)
    transfer = Transfer(unit(lowering), "TMA", Proxy.ASYNC, _outwards(lowering, instruction), Group.BULK)
    transfer.expand = lambda order, raw: _stored(places, order, raw)
    start(lowering, transfer, instruction)


def _stored(places: Places, order: Order, raw: bytes) -> Order | None:
    asked = order.asked
    assert isinstance(asked, Asked)
    found = _box(raw, asked.request)
    if found is None:
        return None
    runs = [Run(asked.shared[0] + c.shared, (c.address,), c.size) for c in found[1] if c.address is not None]
    if not all(_is_inside(places, run) for run in runs):
        return None
    return Order(tuple(runs))


def _is_inside(places: Places, run: Run) -> bool:
    assert run.source is not None
    return places.is_in(run.source, run.size, Space.SHARED_CTA, 1) and places.is_in(
        run.targets[0], run.size, Space.GLOBAL, 1
    )


def reduce(lowering: Lowering, instruction: Instruction) -> None:
    """`cp.reduce.async.bulk.tensor`: an atomic operation for each element."""
    assert isinstance(instruction, TensorReduce)
    places = Places(lowering)
    transfer = Transfer(unit(lowering), "TMA", Proxy.ASYNC, _outwards(lowering, instruction), Group.BULK, True)
    transfer.expand = lambda order, raw: _reduced(places, order, raw, instruction)
    transfer.update = updating(instruction.op, instruction)
    start(lowering, transfer, instruction)


def _reduced(places: Places, order: Order, raw: bytes, instruction: TensorReduce) -> Order | None:
    stored = _stored(places, order, raw)
    if stored is None:
        return None
    element = decode(raw).element
    if element is ElementType.F32_FTZ:
        raise arithmetic.unsupported(instruction, "a reduction of .f32.ftz elements")
    type: ScalarType | None = TYPES.get(element.spelling)
    if type is None:
        return None
    runs = []
    for run in stored.runs:
        assert run.source is not None
        for k in range(0, run.size, element.size):
            runs.append(Run(run.source + k, (run.targets[0] + k,), element.size, whole=True))
    return Order(tuple(runs), element=type)
