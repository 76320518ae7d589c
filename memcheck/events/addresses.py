"""Addresses of accesses: generic ones from operands, and what can be wrong with them (ISA 6.4, 8.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memcheck.events.draft import Step, is_multimem
from memcheck.events.memory import Region
from memcheck.events.value import Value
from memcheck.events.windows import SHARED_SPACES
from memcheck.language.test import VariableKind
from memcheck.ptx.operands import Address, AddressOf
from memcheck.ptx.qualifiers import Proxy, Space

OUTSIDE = "access outside every variable"
MISALIGNED = "misaligned access"
OF_OBJECT = "the bytes of a live mbarrier are accessed as data"


class Fault(NamedTuple):
    """Undefined behaviour by a `rule` where the condition holds; `detail`: in words.

    `is_nowhere`: the address is in no variable that the instruction may touch, which a reader of the file can see.
    """

    condition: Value
    rule: str
    detail: str
    is_nowhere: bool = False


def generic_address(step: Step, address: Address, space: Space) -> Value:
    """The generic virtual address of an operand, 64 bits."""
    values, base = step.values, address.base
    if isinstance(base, AddressOf):
        variable = step.draft.test.variables[base.variable]
        cta = step.thread.place.cta if variable.space in SHARED_SPACES else None
        # a name means its own variable, whatever space the shorthand leaves out
        if space is Space.GENERIC or variable.space not in SHARED_SPACES:
            region = step.draft.memory.instance(base.variable, cta)
            return values.const(region.base + base.offset + address.offset, 64)
    value = step.operand(base, 64)
    if address.offset:
        value = values.binary("add", value, values.const(address.offset, 64))
    return step.windows.generic(values, value, space)


def _fits(step: Step, address: Value, size: int, regions: Sequence[Region]) -> Value:
    """Whether address … address+size-1 lies in one of the regions."""
    values = step.values
    result = values.false
    for region in regions:
        if region.size >= size:
            offset = values.binary("sub", address, values.const(region.base, 64))
            inside = values.binary("ult", offset, values.const(region.size - size + 1, 64))
            result = values.either(result, inside)
    return result


def _allowed(step: Step, region: Region, space: Space, proxy: Proxy, writes: bool, of_object: bool) -> bool:
    """Whether an access of this space may touch a region; `of_object`: an operation on an mbarrier."""
    place = step.thread.place
    if _is_mbarrier(step, region) and not of_object:
        return False
    if region.cta is not None:
        if region.cta != place.cta and (space is Space.SHARED_CTA or region.cta not in step.draft.mates(place.cluster)):
            return False
    elif is_multimem(step.draft, region.variable):
        return False
    if proxy is not Proxy.GENERIC or (space is Space.GENERIC and not writes):
        return True
    if writes and region.space in (Space.CONST, Space.PARAM):
        return False
    if space in SHARED_SPACES:
        return region.cta is not None
    return space is Space.GENERIC or region.space is space


def _is_mbarrier(step: Step, region: Region) -> bool:
    variable = step.draft.test.variables.get(region.variable)
    return variable is not None and variable.kind is VariableKind.MBARRIER


def check_address(
    step: Step,
    operand: Address,
    address: Value,
    total: int,
    space: Space,
    proxy: Proxy,
    writes: bool,
    of_object: bool = False,
) -> list[Fault]:
    """What can be wrong with an access of `total` bytes. `of_object`: to an mbarrier."""
    values = step.values
    named = operand.base.variable if isinstance(operand.base, AddressOf) else None
    crooked = f"this access of {total} bytes is not aligned to {total} bytes{more_alignment(step, address, total)}"
    if address.is_const:
        number = address.payload
        for region in step.draft.memory.regions:
            inside = region.base <= number and number + total <= region.base + region.size
            if named is not None and region.variable != named:
                continue
            if inside and _allowed(step, region, space, proxy, writes, of_object):
                return [] if number % total == 0 else [Fault(values.true, MISALIGNED, crooked)]
        return [Fault(values.true, *_outside(step, operand, address, total))]
    regions = [r for r in step.draft.memory.regions if _allowed(step, r, space, proxy, writes, of_object)]
    fits = _fits(step, address, total, regions)
    low = values.binary("urem", address, values.const(total, 64))
    aligned = values.binary("eq", low, values.const(0, 64))
    return [
        Fault(values.negate(fits), *_outside(step, operand, address, total)),
        Fault(values.both(fits, values.negate(aligned)), MISALIGNED, crooked),
    ]


def more_alignment(step: Step, address: Value, align: int) -> str:
    """What to do where an address is not aligned because its variable is not; else nothing."""
    region = step.draft.memory.region(address.payload, 1) if address.is_const else None
    if region is None or (address.payload - region.base) % align:
        return ""
    return f": declare the variable .align {align}"


def _outside(step: Step, operand: Address, address: Value, total: int) -> tuple[str, str, bool]:
    """The rest of a fault, for an access to no variable that it may touch."""
    if address.is_const:
        region = step.draft.memory.region(address.payload, total)
        if region is not None and is_multimem(step.draft, region.variable):
            rule = "plain access to a multimem address"
            return (
                rule,
                f"{region.variable} is a multimem address: only multimem instructions may access it (8.2.3)",
                False,
            )
        if region is not None and _is_mbarrier(step, region) and region.cta == step.thread.place.cta:
            # undefined behaviour, as it is where only the execution shows it
            return OF_OBJECT, "", False
        named = operand.base.variable if isinstance(operand.base, AddressOf) else None
        if region is not None and named in (None, region.variable):
            where = f"{region.space.value} memory" + ("" if region.cta is None else f" of cta {region.cta}")
            rule = f"{region.space.value} address accessed as another state space"
            return rule, f"{region.variable} is in {where}, which this instruction cannot access", True
    if isinstance(operand.base, AddressOf):
        name = operand.base.variable
        size = step.draft.test.variables[name].size
        return OUTSIDE, f"{total} bytes at this address are not inside {name}, which has {size}", True
    return OUTSIDE, f"{total} bytes at this address are not inside any variable", True


def tell(step: Step, faults: Iterable[Fault], event: int | None, when: Value | None = None) -> None:
    """Misuse of an asynchronous instruction, where `when`: an address in no variable is an input error."""
    for fault in faults:
        condition = fault.condition if when is None else step.values.both(when, fault.condition)
        step.misuse(condition, fault.rule, event, fault.detail, error=fault.is_nowhere)


def placed(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Without alignment, which an instruction has its own rule for."""
    return (fault for fault in faults if fault.rule != MISALIGNED)
