"""The bytes of variables that instructions name: types of untyped locations, accesses beyond the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memcheck.errors import SourceError
from memcheck.language.declarations import Draft
from memcheck.language.test import Variable, VariableKind
from memcheck.ptx.instructions import Arithmetic, Atom, Instruction, Load, Multimem, Store
from memcheck.ptx.operands import Address, AddressOf, Operand, Register
from memcheck.ptx.types import TYPES, ScalarType
from memcheck.source import Span

_DEFAULT = TYPES["b32"]


class Access(NamedTuple):
    """`count` elements from byte `offset` of a variable; `written`: the instruction names it, not a register."""

    variable: str
    offset: int
    type: ScalarType
    elements: int
    written: bool
    span: Span


def accesses(body: Sequence[Instruction], initial: Mapping[str, Operand]) -> Iterator[Access]:
    """The accesses of a thread whose variable is written out or in a register that holds nothing else."""
    holds: dict[str, set[AddressOf]] = {}
    for register, operand in initial.items():
        if isinstance(operand, AddressOf):
            holds.setdefault(register, set()).add(operand)
    for instruction in body:
        if isinstance(instruction, Arithmetic) and instruction.op in ("mov", "cvta"):
            target, source = instruction.destinations[0], instruction.sources[0]
            if target is not None and isinstance(source, AddressOf):
                holds.setdefault(target.name, set()).add(source)
    for instruction in body:
        if isinstance(instruction, (Load, Atom, Multimem)):
            count = max(1, len(instruction.destinations))
        elif isinstance(instruction, Store):
            count = len(instruction.sources)
        else:
            continue
        if isinstance(instruction, Multimem):
            count = max(count, len(instruction.sources))
        for base, offset, written in _bases(instruction.address, holds):
            yield Access(base, offset, instruction.type, count, written, instruction.span)


def _bases(address: Address, holds: Mapping[str, set[AddressOf]]) -> Iterator[tuple[str, int, bool]]:
    base = address.base
    if isinstance(base, AddressOf):
        yield base.variable, base.offset + address.offset, True
    elif isinstance(base, Register):
        for held in holds.get(base.name, ()):
            yield held.variable, held.offset + address.offset, False


def finished(drafts: Mapping[str, Draft], found: Iterable[Access]) -> dict[str, Variable]:
    """The variables, typed. SourceError for an access beyond its variable and a value that does not fit."""
    accessed: dict[str, list[Access]] = {}
    listed = list(found)
    for access in listed:
        for reached in _roots(drafts, access.variable):
            accessed.setdefault(reached, []).append(access)
    types = {
        name: draft.type or _implied(accessed.get(name, ())) for name, draft in drafts.items() if draft.aliases is None
    }
    variables: dict[str, Variable] = {}
    for name, draft in drafts.items():
        root = drafts[_roots(drafts, name)[0]]
        if draft.aliases is not None and draft.type is not None and draft.type.size != types[root.name].size:
            bits = types[root.name].size * 8
            raise SourceError(f"`{root.name}` has {bits} bits, and its alias .{draft.type.name}", draft.span)
        variables[name] = _variable(draft, root, types[root.name])
        if draft.kind is VariableKind.MULTIMEM:
            _check_targets(draft, drafts, types)
    for access in listed:
        variable = variables[access.variable]
        end = access.offset + access.type.size * access.elements
        if access.written and (access.offset < 0 or end > variable.size):
            raise SourceError(
                f"this accesses bytes {access.offset} to {end - 1} of `{variable.name}`, which has {variable.size}",
                access.span,
                _larger(drafts, variable, access, end),
            )
    return variables


def _roots(drafts: Mapping[str, Draft], name: str) -> tuple[str, ...]:
    """The variables whose memory this name reaches: its own, its alias's, those behind a multimem address."""
    draft = drafts[name]
    while draft.aliases is not None:
        draft = drafts[draft.aliases]
    if draft.kind is VariableKind.MULTIMEM:
        return tuple(target for target, _ in draft.targets)
    return (draft.name,)


def _implied(found: Sequence[Access]) -> ScalarType:
    """An untyped location has 32 bits; more where an access is wider, less where all are narrower."""
    if not found:
        return _DEFAULT
    bits = max(access.type.size * 8 for access in found)
    if any(access.offset or access.elements > 1 for access in found):
        bits = max(bits, 32)
    return TYPES[f"b{bits}"]


def _variable(draft: Draft, root: Draft, type: ScalarType) -> Variable:
    values = []
    for number, span in draft.init:
        if not -(1 << type.bits - 1) <= number < 1 << type.bits:
            raise SourceError(f"{number} does not fit in the {type.bits} bits of `{draft.name}`", span)
        values.append(number % (1 << type.bits))
    values += [0] * (root.count - len(values))
    return Variable(
        name=draft.name,
        space=root.space,
        type=type,
        span=draft.span,
        count=root.count,
        array=root.array,
        align=draft.align,
        init=tuple(values),
        initialised=draft.initialised and draft.aliases is None,
        aliases=draft.aliases,
        proxy=draft.proxy,
        kind=draft.kind,
        targets=tuple(name for name, _ in draft.targets),
        map=draft.map,
    )


def _check_targets(draft: Draft, drafts: Mapping[str, Draft], types: Mapping[str, ScalarType]) -> None:
    first = draft.targets[0][0]
    for name, span in draft.targets[1:]:
        same = types[name].size == types[first].size and drafts[name].count == drafts[first].count
        if not same:
            raise SourceError(f"`{first}` and `{name}` behind `{draft.name}` differ in size", span)


def _larger(drafts: Mapping[str, Draft], variable: Variable, access: Access, end: int) -> str | None:
    root = drafts[_roots(drafts, variable.name)[0]]
    if root.type is not None or access.offset < 0:
        return None
    count = -(-end // access.type.size)
    return f"declare an array: `.global .b{access.type.size * 8} {root.name}[{count}]`"
