"""Tests built by hand: instructions and threads in a line each, without the parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memcheck.language.test import MemoryTerm, Observable, Place, RegisterTerm, Test, Thread, Variable
from memcheck.ptx import instructions as ptx
from memcheck.ptx.operands import Address, AddressOf, Guard, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.types import TYPES
from memcheck.source import SourceFile, Span

SOURCE = SourceFile("built.litmus", "")
SPAN = Span(SOURCE, 1, 1)


def r(name: str) -> Register:
    """A register with the width of its name."""
    for prefix, width in (("p", 1), ("rs", 16), ("rd", 64), ("rq", 128)):
        if name.startswith(prefix) and name[len(prefix) :].isdigit() or name == prefix:
            return Register(name, width)
    return Register(name, 32)


def operand(what: object) -> Operand:
    if isinstance(what, int):
        return Immediate(what)
    if isinstance(what, str):
        return AddressOf(what[1:]) if what.startswith("&") else r(what)
    assert isinstance(what, Register | Immediate | AddressOf)
    return what


def at(what: object, offset: int = 0) -> Address:
    """`x` names a variable, `%r1` a register."""
    if isinstance(what, Address):
        return what
    assert isinstance(what, str)
    return Address(r(what[1:]) if what.startswith("%") else AddressOf(what), offset)


def _guard(p: str | None) -> Guard | None:
    if p is None:
        return None
    return Guard(r(p.lstrip("!")), p.startswith("!"))


def _base(text: str, on: str | None) -> dict[str, object]:
    return {"text": text, "span": SPAN, "guard": _guard(on)}


def ld(d: str | Sequence[str | None] | None, a: object, sem: Sem = Sem.WEAK, scope: Scope | None = None,
       type: str = "b32", space: Space = Space.GENERIC, proxy: Proxy = Proxy.GENERIC, on: str | None = None,
       ) -> ptx.Load:  # fmt: skip
    names = [d] if d is None or isinstance(d, str) else list(d)
    return ptx.Load(
        **_base(f"ld {d}", on), destinations=tuple(None if n is None else r(n) for n in names), address=at(a),
        type=TYPES[type], sem=sem, scope=scope, space=space, proxy=proxy,
    )  # fmt: skip


def st(a: object, v: object, sem: Sem = Sem.WEAK, scope: Scope | None = None, type: str = "b32",
       space: Space = Space.GENERIC, proxy: Proxy = Proxy.GENERIC, on: str | None = None) -> ptx.Store:  # fmt: skip
    sources = v if isinstance(v, tuple) else (v,)
    return ptx.Store(
        **_base(f"st {a}", on), address=at(a), sources=tuple(None if s is None else operand(s) for s in sources),
        type=TYPES[type], sem=sem, scope=scope, space=space, proxy=proxy,
    )  # fmt: skip


def atom(op: str, d: str | None, a: object, *operands: object, sem: Sem = Sem.RELAXED, scope: Scope = Scope.GPU,
         type: str = "u32", on: str | None = None) -> ptx.Atom:  # fmt: skip
    return ptx.Atom(
        **_base(f"atom.{op}", on), op=ptx.AtomOp(op), destinations=(None if d is None else r(d),), address=at(a),
        operands=(tuple(map(operand, operands)),), type=TYPES[type], sem=sem, scope=scope, space=Space.GENERIC,
        is_red=False,
    )  # fmt: skip


def red(op: str, a: object, value: object, sem: Sem = Sem.RELAXED, scope: Scope = Scope.GPU) -> ptx.Atom:
    return ptx.Atom(
        **_base(f"red.{op}", None), op=ptx.AtomOp(op), destinations=(None,), address=at(a),
        operands=((operand(value),),), type=TYPES["u32"], sem=sem, scope=scope, space=Space.GENERIC, is_red=True,
    )  # fmt: skip


def fence(sem: Sem = Sem.ACQ_REL, scope: Scope = Scope.GPU) -> ptx.Fence:
    return ptx.Fence(**_base("fence", None), sem=sem, scope=scope)


def op(name: str, d: str | Sequence[str], *sources: object, type: str = "u32", on: str | None = None,
       space: Space | None = None, source_type: str | None = None) -> ptx.Arithmetic:  # fmt: skip
    names = [d] if isinstance(d, str) else list(d)
    return ptx.Arithmetic(
        **_base(f"{name} {d}", on), op=name, type=TYPES[type], destinations=tuple(map(r, names)),
        sources=tuple(map(operand, sources)), space=space,
        source_type=None if source_type is None else TYPES[source_type],
    )  # fmt: skip


def bra(target: str, on: str | None = None, compare: tuple[str, object, object] | None = None) -> ptx.Branch:
    test = None if compare is None else (compare[0], operand(compare[1]), operand(compare[2]))
    return ptx.Branch(**_base(f"bra {target}", on), target=target, compare=test)


def ret(on: str | None = None) -> ptx.Exit:
    return ptx.Exit(**_base("ret", on))


def bar(kind: str, id: object, count: object = None, on: str | None = None, **more: object) -> ptx.Barrier:
    return ptx.Barrier(
        **_base(f"bar.{kind}", on), kind=ptx.BarrierKind(kind), id=operand(id),
        count=None if count is None else operand(count), **more,
    )  # fmt: skip


def collective(name: str, d: Sequence[str | None], sources: Sequence[object], mask: object = 0xFFFFFFFF,
               type: str = "b32", on: str | None = None) -> ptx.Collective:  # fmt: skip
    return ptx.Collective(
        **_base(name, on), op=name, type=TYPES[type], destinations=tuple(None if n is None else r(n) for n in d),
        sources=tuple(map(operand, sources)), mask=operand(mask),
    )  # fmt: skip


def var(name: str, type: str = "b32", init: int | tuple[int, ...] = 0, space: Space = Space.GLOBAL,
        **more: object) -> Variable:  # fmt: skip
    values = init if isinstance(init, tuple) else (init,)
    more = {"initialised": True, **more}
    return Variable(name, space, TYPES[type], SPAN, count=len(values), array=len(values) > 1, init=values, **more)


def build(
    *bodies: Sequence[object],
    variables: Sequence[Variable] = (),
    places: Sequence[Mapping[str, int]] | None = None,
    observed: Sequence[str] = (),
    initial: Mapping[int, Mapping[str, object]] | None = None,
) -> Test:
    """A test; strings ending in `:` are labels, observed `0:r1`, `x` or `x[1]`. Default place: a CTA a thread."""
    threads = []
    for index, body in enumerate(bodies):
        labels: dict[str, int] = {}
        code: list[ptx.Instruction] = []
        for part in body:
            if isinstance(part, str):
                labels[part.rstrip(":")] = len(code)
            else:
                code.append(part)
        p = dict(places[index]) if places is not None else {}
        cta = p.get("cta", index)
        place = Place(
            p.get("gpu", 0), p.get("grid", 0), p.get("cluster", cta), cta, p.get("warp", index), p.get("lane", 0)
        )
        start = {n: operand(v) for n, v in (initial or {}).get(index, {}).items()}
        widths: dict[str, int] = {}
        threads.append(Thread(index, f"P{index}", place, tuple(code), labels, start, widths, SPAN))
    terms: list[Observable] = []
    for text in observed:
        if text[0].isdigit():
            thread, name = text.split(":")
            terms.append(RegisterTerm(int(thread), name))
            threads[int(thread)].widths[name] = r(name).width
        else:
            name, _, index_text = text.rstrip("]").partition("[")
            terms.append(MemoryTerm(name, int(index_text or 0)))
    table = {v.name: v for v in (variables or (var("x"), var("y"), var("z")))}
    return Test("built", (), SOURCE, False, tuple(threads), table, None, None, tuple(terms))
