"""The inverse of decoding: fully qualified PTX, qualifiers in the order of the ISA manual."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memcheck.ptx.decode.words import Words
from memcheck.ptx.instructions import (
    Arithmetic,
    Atom,
    Barrier,
    BarrierKind,
    Branch,
    ClusterBarrier,
    Collective,
    Exit,
    Fence,
    Instruction,
    Load,
    Multimem,
    Nop,
    ProxyFence,
    Restriction,
    Store,
    WarpBarrier,
)
from memcheck.ptx.operands import Address, AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.ptx.types import ScalarType, TypeClass

_ABSTRACT = {
    (Load, Proxy.TEXTURE): "tld",
    (Load, Proxy.SURFACE): "suld",
    (Load, Proxy.CONSTANT): "cold",
    (Store, Proxy.SURFACE): "sust",
}
_BRANCHES = {"eq": "beq", "ne": "bne", "lt": "blt", "le": "ble", "gt": "bgt", "ge": "bge"}


def spell(instruction: Instruction) -> str:
    """One line of PTX without `;` that decodes to the same instruction."""
    body = _SPELLERS[type(instruction)](instruction)
    guard = instruction.guard
    if guard is None:
        return body
    return f"@{'!' if guard.negated else ''}%{guard.register.name} {body}"


def operand(value: Operand | None) -> str:
    """`%r0`, `-1`, `x+4`, or `_`."""
    if value is None:
        return "_"
    if isinstance(value, Register):
        return f"%{value.name}"
    if isinstance(value, Immediate):
        return str(value.value)
    return value.variable + _offset(value.offset)


def address(value: Address) -> str:
    """`[x+4]`."""
    base = value.base
    return f"[{operand(AddressOf(base.variable) if isinstance(base, AddressOf) else base)}{_offset(_total(value))}]"


def _total(value: Address) -> int:
    return value.offset + (value.base.offset if isinstance(value.base, AddressOf) else 0)


def _offset(offset: int) -> str:
    return "" if offset == 0 else f"+{offset}"


def _vector(values: Iterable[Operand | None]) -> str:
    texts = [operand(v) for v in values]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def _opcode(*words: str | None) -> str:
    return ".".join(w for w in words if w)


def _text(opcode: str, *operands: str) -> str:
    return f"{opcode} {', '.join(operands)}" if operands else opcode


def _literal(value: Operand | None, type: ScalarType) -> str:
    """A number where a floating-point constant must stand: its bits, `0f` or `0d`."""
    if isinstance(value, Immediate) and type.cls is TypeClass.FLOAT:
        prefix, digits = ("0d", 16) if type.bits == 64 else ("0f", 8)
        return f"{prefix}{value.value & ((1 << 4 * digits) - 1):0{digits}X}"
    return operand(value)


def _literals(values: Iterable[Operand | None], type: ScalarType) -> str:
    texts = [_literal(v, type) for v in values]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"


def _space(space: Space | None) -> str | None:
    return None if space is None or space is Space.GENERIC else space.value


def _value(qualifier: Scope | Sem | None) -> str | None:
    return None if qualifier is None else qualifier.value


def _access(i: Load | Store, name: str, elements: int) -> str:
    abstract = _ABSTRACT.get((type(i), i.proxy))
    if abstract is not None:
        return _opcode(abstract, "weak", i.type.name)
    vector = f"v{elements}" if elements > 1 else None
    if i.proxy is Proxy.NONCOHERENT:
        return _opcode(name, _space(i.space), "nc", vector, i.type.name)
    if i.proxy is Proxy.READONLY:
        return _opcode(name, "proxy::readonly", _space(i.space), vector, i.type.name)
    if i.volatile:
        words: Words = ("volatile",)
    elif i.mmio:
        words = ("mmio", i.sem.value, "sys")
    else:
        words = (i.sem.value, *((i.scope.value,) if i.scope else ()))
    return _opcode(name, *words, _space(i.space), vector, i.type.name)


def _load(i: Load) -> str:
    return _text(_access(i, "ld", len(i.destinations)), _vector(i.destinations), address(i.address))


def _store(i: Store) -> str:
    return _text(_access(i, "st", len(i.sources)), address(i.address), _literals(i.sources, i.type))


def _atom(i: Atom) -> str:
    name = ("su" if i.proxy is Proxy.SURFACE else "") + ("red" if i.is_red else "atom")
    vector = f"v{len(i.operands)}" if len(i.operands) > 1 else None
    noftz = "noftz" if i.type.cls is TypeClass.FLOAT and i.type.bits == 16 else None
    opcode = _opcode(name, i.sem.value, i.scope.value, _space(i.space), i.op.value, noftz, vector, i.type.name)
    sources = [_literals(column, i.type) for column in zip(*i.operands)]
    destinations = [] if i.is_red else ["_" if not any(i.destinations) else _vector(i.destinations)]
    return _text(opcode, *destinations, address(i.address), *sources)


def _multimem(i: Multimem) -> str:
    elements = len(i.destinations or i.sources)
    opcode = _opcode(
        "multimem",
        i.kind.value,
        i.sem.value,
        _value(i.scope),
        "global",
        i.op.value if i.op else None,
        f"v{elements}" if elements > 1 else None,
        i.type.name,
    )
    if i.destinations:
        return _text(opcode, _vector(i.destinations), address(i.address))
    return _text(opcode, address(i.address), _literals(i.sources, i.type))


def _fence(i: Fence) -> str:
    if i.restriction is Restriction.MBARRIER_INIT:
        return _opcode("fence", "mbarrier_init", i.sem.value, i.scope.value)
    return _opcode("fence", i.sem.value, i.restriction.value if i.restriction else None, i.scope.value)


def _proxy_fence(i: ProxyFence) -> str:
    opcode = _opcode(
        "fence",
        "proxy",
        i.proxy.value,
        _space(i.space),
        _value(i.sem),
        i.restriction.value if i.restriction else None,
        _value(i.scope),
    )
    if i.proxy is FenceProxy.TENSORMAP_GENERIC and i.address is not None:
        return _text(opcode, address(i.address), str(i.size))
    return opcode


def _barrier(i: Barrier) -> str:
    if i.peer:
        operands = [i.instance, *(o for o in (i.id, i.count) if o is not None)]
        return _text(_opcode("bar", "cta", i.kind.value), *map(operand, operands))
    numbers = [operand(o) for o in (i.id, i.count) if o is not None]
    if i.kind is not BarrierKind.RED:
        return _text(_opcode("barrier", "cta", i.kind.value, "aligned"), *numbers)
    opcode = _opcode("barrier", "cta", "red", i.reduction, "aligned", "u32" if i.reduction == "popc" else "pred")
    return _text(opcode, operand(i.destination), *numbers, _negated(i.source, i.negated))


def _negated(value: Operand | None, negated: bool) -> str:
    return ("!" if negated else "") + operand(value)


def _cluster(i: ClusterBarrier) -> str:
    return _opcode("barrier", "cluster", "arrive" if i.arrive else "wait", i.sem.value, "aligned")


def _warp(i: WarpBarrier) -> str:
    return _text("bar.warp.sync", operand(i.mask))


def _collective(i: Collective) -> str:
    name, _, op = i.op.partition(".")
    destinations = "|".join(map(operand, i.destinations))
    if name == "activemask":
        return _text("activemask.b32", destinations)
    if name == "elect":
        return _text("elect.sync", destinations, operand(i.mask))
    words = (name, op, "sync") if name == "match" else (name, "sync", op)
    sources = [_negated(s, i.negated) for s in i.sources]
    return _text(_opcode(*words, i.type.name), destinations, *sources, operand(i.mask))


def _arithmetic(i: Arithmetic) -> str:
    if i.op == "isspacep":
        opcode = _opcode("isspacep", _space(i.space))
    elif i.op.startswith("set."):
        opcode = _opcode(i.op, "u32", i.type.name)
    else:
        opcode = _opcode(i.op, _space(i.space), i.type.name, i.source_type.name if i.source_type else None)
    sources = [_literal(s, i.type) for s in i.sources]
    if i.op == "selp":
        sources[2] = operand(i.sources[2])
    return _text(opcode, "|".join(map(operand, i.destinations)), *sources)


def _branch(i: Branch) -> str:
    if i.compare is None:
        return _text("bra", i.target)
    op, left, right = i.compare
    return _text(_BRANCHES[op], operand(left), operand(right), i.target)


def _exit(_: Exit) -> str:
    return "exit"


def _nop(i: Nop) -> str:
    """A hint says nothing but its text."""
    text = " ".join(i.text.split())
    if text.startswith("@"):
        text = text.lstrip("@! ").partition(" ")[2].lstrip()
    return text


_SPELLERS: dict[type[Instruction], Callable[[Any], str]] = {
    Load: _load,
    Store: _store,
    Atom: _atom,
    Multimem: _multimem,
    Fence: _fence,
    ProxyFence: _proxy_fence,
    Barrier: _barrier,
    ClusterBarrier: _cluster,
    WarpBarrier: _warp,
    Collective: _collective,
    Arithmetic: _arithmetic,
    Branch: _branch,
    Exit: _exit,
    Nop: _nop,
}
