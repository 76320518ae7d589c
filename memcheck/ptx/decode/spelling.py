"""The inverse of decoding: fully qualified PTX, qualifiers in the order of the ISA manual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memcheck.ptx.decode.pieces import (
    address,
    braced,
    joined,
    line,
    literal,
    literals,
    negated,
    operand,
    space_word,
    word,
)
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
from memcheck.ptx.qualifiers import FenceProxy, Proxy
from memcheck.ptx.types import TypeClass

_ABSTRACT = {
    (Load, Proxy.TEXTURE): "tld",
    (Load, Proxy.SURFACE): "suld",
    (Load, Proxy.CONSTANT): "cold",
    (Store, Proxy.SURFACE): "sust",
}
_BRANCHES = {"eq": "beq", "ne": "bne", "lt": "blt", "le": "ble", "gt": "bgt", "ge": "bge"}


def spell(instruction: Instruction) -> str:
    """One line of PTX without `;` that decodes to the same instruction."""
    speller = _SPELLERS.get(type(instruction))
    if speller is None:
        from memcheck.ptx.decode.spelling_asynchronous import SPELLERS

        speller = SPELLERS[type(instruction)]
    body = speller(instruction)
    guard = instruction.guard
    if guard is None:
        return body
    return f"@{'!' if guard.negated else ''}%{guard.register.name} {body}"


def _access(i: Load | Store, name: str, elements: int) -> str:
    abstract = _ABSTRACT.get((type(i), i.proxy))
    if abstract is not None:
        return joined(abstract, "weak", i.type.name)
    vector = f"v{elements}" if elements > 1 else None
    if i.proxy is Proxy.NONCOHERENT:
        return joined(name, space_word(i.space), "nc", vector, i.type.name)
    if i.proxy is Proxy.READONLY:
        return joined(name, "proxy::readonly", space_word(i.space), vector, i.type.name)
    if i.volatile:
        words: Words = ("volatile",)
    elif i.mmio:
        words = ("mmio", i.sem.value, "sys")
    else:
        words = (i.sem.value, *((i.scope.value,) if i.scope else ()))
    return joined(name, *words, space_word(i.space), vector, i.type.name)


def _load(i: Load) -> str:
    return line(_access(i, "ld", len(i.destinations)), braced(i.destinations), address(i.address))


def _store(i: Store) -> str:
    return line(_access(i, "st", len(i.sources)), address(i.address), literals(i.sources, i.type))


def _atom(i: Atom) -> str:
    name = ("su" if i.proxy is Proxy.SURFACE else "") + ("red" if i.is_red else "atom")
    vector = f"v{len(i.operands)}" if len(i.operands) > 1 else None
    noftz = "noftz" if i.type.cls is TypeClass.FLOAT and i.type.bits == 16 else None
    opcode = joined(name, i.sem.value, i.scope.value, space_word(i.space), i.op.value, noftz, vector, i.type.name)
    sources = [literals(column, i.type) for column in zip(*i.operands)]
    destinations = [] if i.is_red else ["_" if not any(i.destinations) else braced(i.destinations)]
    return line(opcode, *destinations, address(i.address), *sources)


def _multimem(i: Multimem) -> str:
    elements = len(i.destinations or i.sources)
    opcode = joined(
        "multimem",
        i.kind.value,
        i.sem.value,
        word(i.scope),
        "global",
        i.op.value if i.op else None,
        f"v{elements}" if elements > 1 else None,
        i.type.name,
    )
    if i.destinations:
        return line(opcode, braced(i.destinations), address(i.address))
    return line(opcode, address(i.address), literals(i.sources, i.type))


def _fence(i: Fence) -> str:
    if i.restriction is Restriction.MBARRIER_INIT:
        return joined("fence", "mbarrier_init", i.sem.value, i.scope.value)
    return joined("fence", i.sem.value, i.restriction.value if i.restriction else None, i.scope.value)


def _proxy_fence(i: ProxyFence) -> str:
    opcode = joined(
        "fence",
        "proxy",
        i.proxy.value,
        space_word(i.space),
        word(i.sem),
        i.restriction.value if i.restriction else None,
        word(i.scope),
    )
    if i.proxy is FenceProxy.TENSORMAP_GENERIC and i.address is not None:
        return line(opcode, address(i.address), str(i.size))
    return opcode


def _barrier(i: Barrier) -> str:
    if i.peer:
        operands = [i.instance, *(o for o in (i.id, i.count) if o is not None)]
        return line(joined("bar", "cta", i.kind.value), *map(operand, operands))
    numbers = [operand(o) for o in (i.id, i.count) if o is not None]
    if i.kind is not BarrierKind.RED:
        return line(joined("barrier", "cta", i.kind.value, "aligned"), *numbers)
    opcode = joined("barrier", "cta", "red", i.reduction, "aligned", "u32" if i.reduction == "popc" else "pred")
    return line(opcode, operand(i.destination), *numbers, negated(i.source, i.negated))


def _cluster(i: ClusterBarrier) -> str:
    return joined("barrier", "cluster", "arrive" if i.arrive else "wait", i.sem.value, "aligned")


def _warp(i: WarpBarrier) -> str:
    return line("bar.warp.sync", operand(i.mask))


def _collective(i: Collective) -> str:
    name, _, op = i.op.partition(".")
    destinations = "|".join(map(operand, i.destinations))
    if name == "activemask":
        return line("activemask.b32", destinations)
    if name == "elect":
        return line("elect.sync", destinations, operand(i.mask))
    words = (name, op, "sync") if name == "match" else (name, "sync", op)
    sources = [negated(s, i.negated) for s in i.sources]
    return line(joined(*words, i.type.name), destinations, *sources, operand(i.mask))


def _arithmetic(i: Arithmetic) -> str:
    if i.op == "isspacep":
        opcode = joined("isspacep", space_word(i.space))
    elif i.op.startswith("set."):
        opcode = joined(i.op, "u32", i.type.name)
    else:
        opcode = joined(i.op, space_word(i.space), i.type.name, i.source_type.name if i.source_type else None)
    sources = [literal(s, i.type) for s in i.sources]
    if i.op == "selp":
        sources[2] = operand(i.sources[2])
    return line(opcode, "|".join(map(operand, i.destinations)), *sources)


def _branch(i: Branch) -> str:
    if i.compare is None:
        return line("bra", i.target)
    op, left, right = i.compare
    return line(_BRANCHES[op], operand(left), operand(right), i.target)


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
