"""Memory instructions and fences as operations: an access an element (ISA 8.2.4, 8.2.5, 9.7.10, 9.7.15.4 to .6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from memcheck.language.test import Test, VariableKind
from memcheck.machine import arithmetic
from memcheck.machine.accesses import Access, Atomic, Load, Store
from memcheck.machine.fences import Acquire, Everything, ProxyFence, Release, RestrictedRelease, needed
from memcheck.machine.layout import Region
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Source
from memcheck.machine.registers import Compute, copied, kept
from memcheck.machine.state import Location
from memcheck.machine.windows import MULTIMEM_STRIDE, SHARED_SPACES
from memcheck.ptx import instructions as ptx
from memcheck.ptx.asynchronous import MbarrierInit
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Operand, Register
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.ptx.types import ScalarType

Sizes = Callable[[Instruction], Iterable[tuple[Address, int]]]

_ACQUIRING = (Sem.ACQUIRE, Sem.ACQ_REL, Sem.SC)
_RELEASING = (Sem.RELEASE, Sem.ACQ_REL, Sem.SC)
_FENCED = {
    FenceProxy.ALIAS: Proxy.GENERIC,
    FenceProxy.TEXTURE: Proxy.TEXTURE,
    FenceProxy.SURFACE: Proxy.SURFACE,
    FenceProxy.CONSTANT: Proxy.CONSTANT,
}


def scalar(instruction: Instruction) -> Iterable[tuple[Address, int]]:
    """The address of a load, store or atomic and the bytes of one element."""
    assert isinstance(instruction, ptx.Load | ptx.Store | ptx.Atom | ptx.Multimem)
    return ((instruction.address, instruction.type.bits // 8),)


def widest(test: Test, sizes: Mapping[type[Instruction], Sizes]) -> dict[str, int]:
    """For each variable the bytes of the widest scalar access that it may get; aliases count for what they name."""
    widths = {name: 8 if v.kind is VariableKind.MBARRIER else 1 for name, v in test.variables.items()}
    for thread in test.threads:
        for instruction in thread.body:
            found = sizes.get(type(instruction))
            for address, size in found(instruction) if found else ():
                named = [address.base.variable] if isinstance(address.base, AddressOf) else list(test.variables)
                for name in named:
                    variable = test.variables[name]
                    for target in (*variable.targets, variable.aliases or name):
                        widths[target] = max(widths.get(target, 1), size)
    return widths


class _Target:
    """The elements of an access: their addresses, and the check of the whole."""

    def __init__(
        self, lowering: Lowering, instruction: Instruction, address: Address, space: Space, proxy: Proxy,
        size: int, count: int, writes: bool, multimem: bool = False,
    ) -> None:  # fmt: skip
        if count > 1 and isinstance(address.base, Register):
            address = Address(copied(lowering, address.base, instruction), address.offset)
        self.lowering = lowering
        self.operand = address
        self.space = space
        self.size = size
        self.proxy = proxy
        total = size * count
        thread = lowering.thread
        mates = {t.place.cta for t in lowering.test.threads if t.place.cluster == thread.place.cluster}
        named = address.base.variable if isinstance(address.base, AddressOf) else None

        def allowed(region: Region) -> bool:
            if multimem or region.kind in (VariableKind.MULTIMEM, VariableKind.MBARRIER) or region.target:
                return multimem and region.kind is VariableKind.MULTIMEM
            remote = region.cta is not None and region.cta != thread.place.cta
            if remote and (space is Space.SHARED_CTA or region.cta not in mates):
                return False
            if proxy is not Proxy.GENERIC or (space is Space.GENERIC and not writes):
                return True
            if writes and region.space in (Space.CONST, Space.PARAM):
                return False
            if space in SHARED_SPACES:
                return region.cta is not None
            return space is Space.GENERIC or region.space is space

        regions = [r for r in lowering.layout.regions if named in (None, r.variable) and allowed(r)]

        def check(value: int) -> bool:
            inside = any(r.base <= value and value + total <= r.base + r.size for r in regions)
            return inside and value % total == 0

        self.check = check

    def element(self, offset: int) -> tuple[Source, Callable[[int], bool], Location | None]:
        """Address, check and, where it is fixed, location of the bytes at an offset."""
        value, check = self.lowering.address(self.operand, self.space), self.check
        source: Source = value if offset == 0 else lambda registers: value(registers) + offset
        fixed: Location | None = None
        if not isinstance(self.operand.base, Register):
            fixed = self.lowering.layout.locate(source(()), self.size, self.proxy)
        return source, lambda address: check(address - offset), fixed


def _add(lowering: Lowering, access: Access, check: Callable[[int], bool], instruction: Instruction) -> None:
    access.check = check
    lowering.add(access, instruction)


def _release(lowering: Lowering, sem: Sem, scope: Scope | None, instruction: Instruction) -> None:
    level = lowering.level(scope)
    if sem in _RELEASING and needed(level):
        lowering.add(Release(level), instruction)


def _level(lowering: Lowering, sem: Sem, scope: Scope | None) -> int:
    return lowering.level(None if sem is Sem.WEAK else scope)


def load(lowering: Lowering, instruction: Instruction) -> None:
    """`ld`, `tld`, `suld`, `cold`."""
    assert isinstance(instruction, ptx.Load)
    type = instruction.type
    size, count = type.bits // 8, len(instruction.destinations) * type.lanes
    target = _Target(
        lowering, instruction, instruction.address, instruction.space, instruction.proxy, size, count, False
    )
    level = _level(lowering, instruction.sem, instruction.scope)
    for i, destination in enumerate(instruction.destinations):
        parts = _parts(lowering, destination, type)
        for k, part in enumerate(parts):
            source, check, fixed = target.element((i * type.lanes + k) * size)
            access = Load(
                source, size, level, instruction.proxy, fixed, lowering.target(part),
                lowering.write(part, type.bits, type.signed), instruction.sem in _ACQUIRING,
            )  # fmt: skip
            _add(lowering, access, check, instruction)
        _joined(lowering, destination, parts, type, instruction)


def _parts(lowering: Lowering, destination: Register | None, type: ScalarType) -> list[Register | None]:
    """The registers of the elements of a packed value."""
    if type.lanes == 1 or destination is None:
        return [destination] * type.lanes
    return [lowering.hidden(type.bits) for _ in range(type.lanes)]


def _joined(
    lowering: Lowering,
    destination: Register | None,
    parts: Sequence[Register | None],
    type: ScalarType,
    instruction: Instruction,
) -> None:
    if len(parts) == 1 or destination is None:
        return
    sources = [lowering.source(part, type.bits) for part in parts if part is not None]
    keep = lowering.write(destination, type.bits * len(parts), type.signed)
    number = lowering.target(destination)
    assert number is not None
    lowering.add(
        Compute([(number, lambda r: keep(arithmetic.packed([s(r) for s in sources], type.bits)))]), instruction
    )


def _lane(lowering: Lowering, operand: Operand, type: ScalarType, k: int) -> Source:
    """Element `k` of a packed operand."""
    whole = lowering.source(operand, type.bits * type.lanes, type.signed)
    if type.lanes == 1:
        return whole
    return lambda registers: whole(registers) >> k * type.bits & (1 << type.bits) - 1


def store(lowering: Lowering, instruction: Instruction) -> None:
    """`st`, `sust`."""
    assert isinstance(instruction, ptx.Store)
    type = instruction.type
    size, count = type.bits // 8, len(instruction.sources) * type.lanes
    _release(lowering, instruction.sem, instruction.scope, instruction)
    target = _Target(
        lowering, instruction, instruction.address, instruction.space, instruction.proxy, size, count, True
    )
    level = _level(lowering, instruction.sem, instruction.scope)
    for i, operand in enumerate(instruction.sources):
        if operand is None:
            continue
        for k in range(type.lanes):
            source, check, fixed = target.element((i * type.lanes + k) * size)
            access = Store(source, size, level, instruction.proxy, fixed)
            access.values = (_lane(lowering, operand, type, k),)
            access.releases = instruction.sem in _RELEASING
            _add(lowering, access, check, instruction)


def _function(
    op: ptx.AtomOp, type: ScalarType, instruction: Instruction
) -> Callable[[int, tuple[int, ...]], int | None]:
    element = ScalarType(type.name, type.cls, type.bits)
    return lambda old, operands: arithmetic.atomic(op, old, operands, element, instruction)


def atom(lowering: Lowering, instruction: Instruction) -> None:
    """`atom`, `red`, `suatom`, `sured`."""
    assert isinstance(instruction, ptx.Atom)
    type = instruction.type
    size, count = type.bits // 8, len(instruction.operands) * type.lanes
    _release(lowering, instruction.sem, instruction.scope, instruction)
    target = _Target(
        lowering, instruction, instruction.address, instruction.space, instruction.proxy, size, count, True
    )
    level = _level(lowering, instruction.sem, instruction.scope)
    rows = instruction.operands
    if count > 1:
        rows = tuple(tuple(copied(lowering, operand, instruction) for operand in row) for row in rows)
    destinations = instruction.destinations or (None,) * len(rows)
    for i, row in enumerate(rows):
        parts = _parts(lowering, destinations[i], type)
        for k, part in enumerate(parts):
            source, check, fixed = target.element((i * type.lanes + k) * size)
            values = tuple(_lane(lowering, operand, type, k) for operand in row)
            access = Atomic(
                source, size, level, instruction.proxy, fixed, lowering.target(part),
                lowering.write(part, type.bits, type.signed), _function(instruction.op, type, instruction),
                instruction.sem in _ACQUIRING, instruction.is_red,
            )  # fmt: skip
            access.values = values
            access.releases = instruction.sem in _RELEASING
            _add(lowering, access, check, instruction)
        _joined(lowering, destinations[i], parts, type, instruction)


def multimem(lowering: Lowering, instruction: Instruction) -> None:
    """`multimem.*`: an access to each location behind the address, in no order."""
    assert isinstance(instruction, ptx.Multimem)
    type, kind = instruction.type, instruction.kind
    size, elements = type.bits // 8, max(len(instruction.destinations), len(instruction.sources), 1)
    _release(lowering, instruction.sem, instruction.scope, instruction)
    if isinstance(instruction.address.base, Register):
        raise arithmetic.unsupported(instruction, "a multimem address in a register")
    target = _Target(
        lowering, instruction, instruction.address, Space.GENERIC, Proxy.GENERIC, size, elements * type.lanes,
        kind is not ptx.MultimemKind.LD_REDUCE, True,
    )  # fmt: skip
    at = lowering.address(instruction.address, Space.GENERIC)(())
    region = lowering.layout.region(at, size)
    copies = 0 if region is None else len(lowering.test.variables[region.variable].targets)
    level = _level(lowering, instruction.sem, instruction.scope)
    for i in range(elements):
        lanes: list[Register | None] = []
        for k in range(type.lanes):
            parts: list[Register | None] = []
            for copy in range(copies):
                offset = (i * type.lanes + k) * size
                source, check, fixed = target.element(offset + (copy + 1) * MULTIMEM_STRIDE)
                access: Access
                if kind is ptx.MultimemKind.LD_REDUCE:
                    part = lowering.hidden(type.bits)
                    parts.append(part)
                    access = Load(
                        source, size, level, Proxy.GENERIC, fixed, lowering.target(part),
                        lowering.write(part, type.bits), instruction.sem in _ACQUIRING,
                    )  # fmt: skip
                elif kind is ptx.MultimemKind.ST:
                    access = Store(source, size, level, Proxy.GENERIC, fixed)
                else:
                    assert instruction.op is not None
                    access = Atomic(
                        source, size, level, Proxy.GENERIC, fixed, None, lambda value: value,
                        _function(instruction.op, type, instruction), False, True,
                    )  # fmt: skip
                access.releases = instruction.sem in _RELEASING
                if kind is not ptx.MultimemKind.LD_REDUCE:
                    access.values = (_lane(lowering, instruction.sources[i], type, k),)
                _add(lowering, access, _shifted(check, (copy + 1) * MULTIMEM_STRIDE), instruction)
            if parts:
                lanes.append(_reduced(lowering, parts, type, instruction))
        if lanes:
            destination = instruction.destinations[i]
            if len(lanes) == 1 and destination is not None and lanes[0] is not None:
                value = lowering.source(lanes[0], type.bits, type.signed)
                number, keep = lowering.target(destination), lowering.write(destination, type.bits, type.signed)
                assert number is not None
                lowering.add(Compute([(number, kept(keep, value))]), instruction)
            else:
                _joined(lowering, destination, lanes, type, instruction)


def _shifted(check: Callable[[int], bool], _offset: int) -> Callable[[int], bool]:
    return check


def _reduced(
    lowering: Lowering, parts: Sequence[Register | None], type: ScalarType, instruction: ptx.Multimem
) -> Register:
    """A register with the reduction of what the locations gave."""
    result = lowering.hidden(type.bits)
    sources = [lowering.source(part, type.bits) for part in parts if part is not None]
    assert instruction.op is not None
    function = _function(instruction.op, type, instruction)

    def total(registers: Sequence[int | None]) -> int:
        value = sources[0](registers)
        for source in sources[1:]:
            value = function(value, (source(registers),)) or 0
        return value

    number = lowering.target(result)
    assert number is not None
    lowering.add(Compute([(number, total)]), instruction)
    return result


def fence(lowering: Lowering, instruction: Instruction) -> None:
    """`fence`, `membar`; some are for shared memory, or for the objects that lie there, alone."""
    assert isinstance(instruction, ptx.Fence)
    level = lowering.level(instruction.scope)
    if not needed(level):
        return
    if instruction.restriction is not None:
        if instruction.sem in _ACQUIRING:
            lowering.add(Acquire(level, True), instruction)
        if instruction.sem in _RELEASING:
            lowering.add(RestrictedRelease(_covered(lowering, instruction.restriction)), instruction)
        return
    if instruction.sem is Sem.SC:
        lowering.add(Everything(level), instruction)
        return
    if instruction.sem in _ACQUIRING:
        lowering.add(Acquire(level), instruction)
    if instruction.sem in _RELEASING:
        lowering.add(Release(level, True), instruction)


def _covered(lowering: Lowering, restriction: ptx.Restriction) -> int:
    """The lines that a restricted release is for, as bits: of the own CTA, or of what the thread initialises there."""
    own = lowering.levels.sm[lowering.thread.index]
    bases = [i.mbarrier.base for i in lowering.thread.body if isinstance(i, MbarrierInit)]
    objects = {base.variable for base in bases if isinstance(base, AddressOf)}
    every = restriction is not ptx.Restriction.MBARRIER_INIT or any(isinstance(base, Register) for base in bases)
    covered = 0
    for number, line in enumerate(lowering.layout.lines):
        if lowering.machine.memory.home[number] == own and (every or line.variable in objects):
            covered |= 1 << number
    return covered


def proxy_fence(lowering: Lowering, instruction: Instruction) -> None:
    """`fence.proxy.*` between proxies that loads and stores have; asynchronous operations give the others a meaning."""
    assert isinstance(instruction, ptx.ProxyFence)
    proxy = _FENCED.get(instruction.proxy)
    if proxy is not None:
        lowering.add(ProxyFence(proxy), instruction)
