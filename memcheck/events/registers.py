"""Register instructions at one point of a thread: operands at their widths, results into registers (ISA 9.7.1 ff)."""

from __future__ import annotations

from memcheck.events import arithmetic
from memcheck.events.draft import Step, Taint
from memcheck.events.value import Value
from memcheck.events.windows import SHARED_SPACES
from memcheck.ptx.instructions import Arithmetic
from memcheck.ptx.operands import AddressOf, Operand
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.types import TypeClass

_SHIFTS = ("shl", "shr")


def _operands(step: Step, instruction: Arithmetic) -> list[Value]:
    op, type = instruction.op, instruction.type
    width = type.bits * type.lanes
    result = []
    for i, source in enumerate(instruction.sources):
        own = width
        if (op in _SHIFTS or op == "bfe") and i > 0:
            own = 32
        elif op == "selp" and i == 2:
            own = 1
        elif op == "mad.wide" and i == 2:
            own = 2 * width
        result.append(step.operand(source, own, type.signed))
    return result


def _address(step: Step, source: Operand, width: int) -> Value:
    """An operand of cvta or mapa, 64 bits."""
    return step.values.zext(step.operand(source, width), 64)


def _set_predicate(step: Step, instruction: Arithmetic, taint: Taint) -> None:
    values, type = step.values, instruction.type
    _, op, *rest = instruction.op.split(".")
    width = type.bits
    a, b = (step.operand(s, width, type.signed) for s in instruction.sources[:2])
    if type.cls is TypeClass.FLOAT:
        raise arithmetic.unsupported(instruction, f"comparison of {type.name}")
    holds = arithmetic.compare(values, op, a, b, type.signed)
    fails = values.negate(holds)
    if rest:
        other = step.operand(instruction.sources[2], 1)
        holds, fails = (values.binary(rest[0], x, other) for x in (holds, fails))
    for destination, value in zip(instruction.destinations, (holds, fails), strict=False):
        step.write(destination, value, taint)


def _convert(step: Step, instruction: Arithmetic) -> tuple[Value, bool]:
    source, type = instruction.source_type or instruction.type, instruction.type
    if TypeClass.FLOAT in (source.cls, type.cls) and source is not type:
        raise arithmetic.unsupported(instruction, f"conversion from {source.name} to {type.name}")
    value = step.operand(instruction.sources[0], source.bits, source.signed)
    stretch = step.values.sext if source.signed else step.values.zext
    return stretch(value, type.bits), type.signed


def _to_generic(step: Step, instruction: Arithmetic) -> Value:
    """cvta and cvta.to; only shared addresses differ from generic ones."""
    source = instruction.sources[0]
    value = _address(step, source, instruction.type.bits)
    space = instruction.space or Space.GENERIC
    if space not in SHARED_SPACES:
        return value
    if instruction.op == "cvta.to":
        return step.windows.from_generic(step.values, value)
    return step.windows.generic(step.values, value, Space.SHARED_CLUSTER)


def _map(step: Step, instruction: Arithmetic) -> Value:
    values = step.values
    source = instruction.sources[0]
    value = _address(step, source, instruction.type.bits)
    rank = step.operand(instruction.sources[1], 32)
    size = values.const(len(step.windows.cluster), 32)
    message = f"the cluster has {len(step.windows.cluster)} CTAs: mapa names one that is not in it"
    step.misuse(
        values.negate(values.binary("ult", rank, size)), "mapa of a CTA outside the cluster", None, message, error=True
    )
    if instruction.space is Space.SHARED_CLUSTER:
        return step.windows.map_window(values, value, rank)
    if isinstance(source, AddressOf):
        value = step.windows.generic(values, value, Space.SHARED_CTA)
    return step.windows.map_generic(values, value, rank)


def arithmetic_instruction(step: Step) -> None:
    """Any Arithmetic instruction."""
    instruction = step.instruction
    assert isinstance(instruction, Arithmetic)
    op, type, values = instruction.op, instruction.type, step.values
    if op == "nop":
        return
    taint = step.taint(*instruction.sources)
    if op.startswith("setp."):
        _set_predicate(step, instruction, taint)
        return
    destination = instruction.destinations[0] if instruction.destinations else None
    signed = type.signed
    if op.startswith("set."):
        a, b = (step.operand(s, type.bits, type.signed) for s in instruction.sources[:2])
        if type.cls is TypeClass.FLOAT:
            raise arithmetic.unsupported(instruction, f"comparison of {type.name}")
        value, signed = values.sext(arithmetic.compare(values, op.split(".")[1], a, b, type.signed), 32), True
    elif op == "cvt":
        value, signed = _convert(step, instruction)
    elif op in ("cvta", "cvta.to"):
        value, signed = _to_generic(step, instruction), False
    elif op == "mapa":
        value, signed = _map(step, instruction), False
    elif op == "isspacep":
        address = _address(step, instruction.sources[0], 64)
        value = _in_space(step, address, instruction.space or Space.GLOBAL)
    else:
        sources = _operands(step, instruction)
        if op in ("div", "rem") and not (sources[1].is_const and sources[1].payload):
            step.draft.note(f"{instruction.text}: PTX leaves division by zero unspecified; all ones are taken (div)")
        value = arithmetic.compute(values, op, type, sources, instruction)
    step.write(destination, value, taint, signed)


def _in_space(step: Step, address: Value, space: Space) -> Value:
    """isspacep: whether a generic address lies in a state space."""
    values = step.values
    if space in SHARED_SPACES:
        return step.windows.is_shared(values, address, space)
    result = values.false
    for region in step.draft.memory.regions:
        if region.space is space:
            offset = values.binary("sub", address, values.const(region.base, 64))
            result = values.either(result, values.binary("ult", offset, values.const(region.size, 64)))
    return result
