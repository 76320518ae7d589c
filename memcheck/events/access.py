"""Memory instructions and fences as events (ISA 9.7.10, 9.7.15.4 to .6; 8.2.3 to 8.2.5)."""

from __future__ import annotations

from collections.abc import Sequence

from memcheck.errors import SourceError
from memcheck.events import arithmetic
from memcheck.events.addresses import check_address, generic_address
from memcheck.events.draft import NO_TAINT, Step, Taint, access_tags, fence_tags, is_multimem
from memcheck.events.structure import Kind
from memcheck.events.value import Value
from memcheck.events.windows import MULTIMEM_STRIDE
from memcheck.ptx.instructions import Atom, AtomOp, Fence, Load, Multimem, MultimemKind, ProxyFence, Restriction, Store
from memcheck.ptx.operands import Address
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.ptx.types import ScalarType

_FENCE_PROXY_TAGS = {
    FenceProxy.ALIAS: "ALIAS",
    FenceProxy.TEXTURE: "TEX",
    FenceProxy.SURFACE: "SUR",
    FenceProxy.CONSTANT: "CON",
    FenceProxy.ASYNC: "ASYNC",
    FenceProxy.ASYNC_GENERIC: "ASYNC",
    FenceProxy.TENSORMAP_GENERIC: "TMAP",
}


def _address(step: Step, operand: Address, total: int, space: Space, proxy: Proxy, writes: bool) -> tuple[Value, int]:
    """The address of an access, checked; misuses name the next event."""
    address = generic_address(step, operand, space)
    event = len(step.draft.events)
    for fault in check_address(step, operand, address, total, space, proxy, writes):
        step.misuse(fault.condition, fault.rule, event, fault.detail, error=bool(fault.detail))
    return address, event


def _at(step: Step, address: Value, offset: int) -> Value:
    return step.values.binary("add", address, step.values.const(offset, 64)) if offset else address


def _element(type: ScalarType) -> ScalarType:
    return type if type.lanes == 1 else ScalarType(type.name, type.cls, type.bits)


def _flags(volatile: bool, mmio: bool) -> tuple[str, ...]:
    return (("VOLATILE",) if volatile else ()) + (("MMIO",) if mmio else ())


def load(step: Step) -> None:
    """`ld`: one read an element."""
    instruction = step.instruction
    assert isinstance(instruction, Load)
    type, count = instruction.type, len(instruction.destinations) * instruction.type.lanes
    size = type.bits // 8
    operand = instruction.address
    address, _ = _address(step, operand, size * count, instruction.space, instruction.proxy, writes=False)
    source = step.taint(operand.base)
    sem, scope = instruction.sem, instruction.scope
    tags = access_tags(Kind.READ, sem, scope, instruction.proxy, _flags(instruction.volatile, instruction.mmio))
    group = step.group() if count > 1 else None
    reads = []
    for i in range(count):
        index = step.event(
            Kind.READ, tags, address=_at(step, address, i * size), size=size,
            sem=sem, scope=scope, proxy=instruction.proxy, group=group,
        )  # fmt: skip
        _taint(step.draft.address_taint, index, source)
        reads.append(index)
    for i, destination in enumerate(instruction.destinations):
        mine = reads[i * type.lanes : (i + 1) * type.lanes]
        value = arithmetic.packed(step.values, [_value(step, r) for r in mine])
        step.write(destination, value, frozenset(mine), type.signed)


def _taint(table: dict[int, Taint], event: int, taint: Taint) -> None:
    if taint:
        table[event] = taint


def _value(step: Step, event: int) -> Value:
    value = step.draft.events[event].value
    assert value is not None
    return value


def store(step: Step) -> None:
    """`st`: one write an element, none for a sink."""
    instruction = step.instruction
    assert isinstance(instruction, Store)
    type, count = instruction.type, len(instruction.sources) * instruction.type.lanes
    size = type.bits // 8
    operand = instruction.address
    address, _ = _address(step, operand, size * count, instruction.space, instruction.proxy, writes=True)
    place = step.taint(operand.base)
    sem, scope = instruction.sem, instruction.scope
    tags = access_tags(Kind.WRITE, sem, scope, instruction.proxy, _flags(instruction.volatile, instruction.mmio))
    group = step.group() if count > 1 else None
    for i, source in enumerate(instruction.sources):
        if source is None:
            continue
        lanes = arithmetic.by_lane(step.values, step.operand(source, 8 * type.size, type.signed), type.lanes)
        for k, value in enumerate(lanes):
            offset = (i * type.lanes + k) * size
            index = step.event(
                Kind.WRITE, tags, address=_at(step, address, offset), size=size, value=value,
                sem=sem, scope=scope, proxy=instruction.proxy, group=group,
            )  # fmt: skip
            _taint(step.draft.address_taint, index, place)
            _taint(step.draft.data_taint, index, step.taint(source))


def _halves(sem: Sem) -> tuple[Sem, Sem]:
    """The semantics of an atomic's read and of its write."""
    if sem is Sem.WEAK:
        return Sem.WEAK, Sem.WEAK
    read = Sem.ACQUIRE if sem in (Sem.ACQUIRE, Sem.ACQ_REL, Sem.SC) else Sem.RELAXED
    write = Sem.RELEASE if sem in (Sem.RELEASE, Sem.ACQ_REL, Sem.SC) else Sem.RELAXED
    return read, write


def update(
    step: Step, op: AtomOp, address: Value, operands: Sequence[Value], type: ScalarType,
    sem: Sem, scope: Scope | None, proxy: Proxy, is_red: bool, group: int | None, taints: tuple[Taint, Taint],
) -> int:  # fmt: skip
    """One atomic element: a read and its write, which a failing cas has not. Gives the read; taints: address, data."""
    read_sem, write_sem = _halves(sem)
    flags = ("RMW", "RED") if is_red else ("RMW",)
    size = type.bits // 8
    draft, values = step.draft, step.values
    read = step.event(
        Kind.READ, access_tags(Kind.READ, read_sem, scope, proxy, flags), address=address, size=size,
        sem=read_sem, scope=scope, proxy=proxy, reduction=is_red, group=group,
    )  # fmt: skip
    value, succeeds = arithmetic.atomic(values, op, _value(step, read), operands, type, step.instruction)
    write = step.event(
        Kind.WRITE, access_tags(Kind.WRITE, write_sem, scope, proxy, flags), guard=values.both(step.guard, succeeds),
        address=address, size=size, value=value,
        sem=write_sem, scope=scope, proxy=proxy, rmw=read, reduction=is_red, group=group,
    )  # fmt: skip
    place, data = taints
    _taint(draft.address_taint, read, place)
    _taint(draft.address_taint, write, place)
    own = NO_TAINT if op in (AtomOp.EXCH, AtomOp.CAS) else frozenset((read,))
    _taint(draft.data_taint, write, data | own)
    if op is AtomOp.CAS:
        draft.control[write] = draft.control.get(write, NO_TAINT) | {read}
    return read


def atom(step: Step) -> None:
    """`atom` and `red`: per-element read-modify-writes."""
    instruction = step.instruction
    assert isinstance(instruction, Atom)
    type, count = instruction.type, len(instruction.operands) * instruction.type.lanes
    size = type.bits // 8
    operand = instruction.address
    address, _ = _address(step, operand, size * count, instruction.space, instruction.proxy, writes=True)
    group = step.group() if count > 1 else None
    element = _element(type)
    results: list[tuple[Value, Taint]] = []
    for i, operands in enumerate(instruction.operands):
        lanes = [
            arithmetic.by_lane(step.values, step.operand(o, 8 * type.size, type.signed), type.lanes) for o in operands
        ]
        reads = []
        for k in range(type.lanes):
            reads.append(
                update(
                    step, instruction.op, _at(step, address, (i * type.lanes + k) * size), [o[k] for o in lanes],
                    element, instruction.sem, instruction.scope, instruction.proxy, instruction.is_red, group,
                    (step.taint(operand.base), step.taint(*operands)),
                )
            )  # fmt: skip
        results.append((arithmetic.packed(step.values, [_value(step, r) for r in reads]), frozenset(reads)))
    for destination, (value, taint) in zip(instruction.destinations, results, strict=False):
        step.write(destination, value, taint, type.signed)


def multimem(step: Step) -> None:
    """`multimem.*`: one access to each location behind the address, in no order (8.2.3)."""
    instruction = step.instruction
    assert isinstance(instruction, Multimem)
    draft, values, type = step.draft, step.values, instruction.type
    address = generic_address(step, instruction.address, Space.GENERIC)
    elements = max(len(instruction.destinations), len(instruction.sources), 1)
    size = type.bits // 8
    total = elements * type.lanes * size
    if not address.is_const:
        raise arithmetic.unsupported(instruction, "a multimem address that depends on a read")
    region = draft.memory.region(address.payload, total)
    if region is None or not is_multimem(draft, region.variable):
        message = f"{total} bytes at this address are not inside a multimem variable (ISA 9.7.10.15)"
        raise SourceError(message, instruction.span, "declare one with `.multimem mm = {x, y};`")
    if address.payload % total:
        message = f"this access of {total} bytes is not aligned to {total} bytes"
        raise SourceError(message, instruction.span)
    copies = len(draft.test.variables[region.variable].targets)
    element = _element(type)
    group = step.group() if copies * elements * type.lanes > 1 else None
    place = step.taint(instruction.address.base)
    sem, scope = instruction.sem, instruction.scope
    for i in range(elements):
        lanes: list[Value] = []
        source = instruction.sources[i] if instruction.sources else None
        if source is not None:
            lanes = arithmetic.by_lane(values, step.operand(source, 8 * type.size, type.signed), type.lanes)
        results, taint = [], NO_TAINT
        for k in range(type.lanes):
            reduced: Value | None = None
            for copy in range(copies):
                at = _at(step, address, (i * type.lanes + k) * size + (copy + 1) * MULTIMEM_STRIDE)
                if instruction.kind is MultimemKind.RED:
                    assert instruction.op is not None
                    update(
                        step, instruction.op, at, [lanes[k]], element, sem, scope, Proxy.GENERIC, True, group,
                        (place, step.taint(source)),
                    )  # fmt: skip
                    continue
                kind = Kind.WRITE if instruction.kind is MultimemKind.ST else Kind.READ
                tags = access_tags(kind, sem, scope, Proxy.GENERIC, ())
                index = step.event(
                    kind, tags, address=at, size=size, value=lanes[k] if lanes else None,
                    sem=sem, scope=scope, group=group,
                )  # fmt: skip
                _taint(draft.address_taint, index, place)
                if kind is Kind.WRITE:
                    _taint(draft.data_taint, index, step.taint(source))
                    continue
                taint |= {index}
                value = _value(step, index)
                if reduced is None:
                    reduced = value
                else:
                    assert instruction.op is not None
                    reduced, _ = arithmetic.atomic(values, instruction.op, reduced, [value], element, instruction)
            if reduced is not None:
                results.append(reduced)
        if results:
            step.write(instruction.destinations[i], arithmetic.packed(values, results), taint, type.signed)


def fence(step: Step) -> None:
    """A memory fence (8.8): generic proxy."""
    instruction = step.instruction
    assert isinstance(instruction, Fence)
    flags: tuple[str, ...] = ("F", "GEN")
    if instruction.sem in (Sem.ACQUIRE, Sem.RELEASE):
        flags += ("ONE_WAY",)
    if instruction.restriction is Restriction.MBARRIER_INIT:
        flags += ("MBARRIER_INIT",)
    elif instruction.restriction is not None:
        flags += ("RESTRICTED",)
    tags = fence_tags(instruction.sem, instruction.scope, flags)
    step.event(Kind.FENCE, tags, sem=instruction.sem, scope=instruction.scope)


def proxy_fence(step: Step) -> None:
    """A proxy fence: no memory fence of 8.8; the sem of a one-directional one has sets of its own."""
    instruction = step.instruction
    assert isinstance(instruction, ProxyFence)
    flags: tuple[str, ...] = ("F", "PROXY_FENCE")
    if instruction.proxy in _FENCE_PROXY_TAGS:
        flags += (_FENCE_PROXY_TAGS[instruction.proxy],)
    if instruction.sem is not None:
        flags += ("PROXY_REL" if instruction.sem is Sem.RELEASE else "PROXY_ACQ",)
    address = None
    if instruction.address is not None:
        address = generic_address(step, instruction.address, Space.GENERIC)
        if not address.is_const:
            raise arithmetic.unsupported(instruction, "a proxy fence at an address that depends on a read")
        region = step.draft.memory.region(address.payload, instruction.size or 0)
        if region is None or region.space is not Space.GLOBAL:
            message = f"the {instruction.size} bytes of a proxy fence are inside a global variable (ISA 9.7.15.4)"
            step.misuse(step.values.true, "a proxy fence for no global memory", None, message, error=True)
    index = step.event(
        Kind.FENCE, fence_tags(None, instruction.scope, flags), address=address, size=instruction.size or 0,
        sem=instruction.sem, scope=instruction.scope,
    )  # fmt: skip
    if instruction.address is not None:
        _taint(step.draft.address_taint, index, step.taint(instruction.address.base))
