"""Hypothesis strategies for small litmus tests: a few threads of loads, stores, atomics, fences and barriers."""

from __future__ import annotations

from hypothesis import strategies as st

SCOPES = st.sampled_from(("cta", "gpu", "sys", "cluster"))
LOCATIONS = st.sampled_from(("x", "y"))
NUMBERS = st.integers(1, 2)


@st.composite
def accesses(draw: st.DrawFn, register: str, byte: bool) -> str:
    """One load, store or atomic; `byte`: some are of one byte, inside the word."""
    location, scope, number = draw(LOCATIONS), draw(SCOPES), draw(NUMBERS)
    kind = draw(st.sampled_from(("ld", "ld", "st", "st", "atom", "red")))
    type_, place = "b32", f"[{location}]"
    if byte and draw(st.booleans()):
        type_, place = draw(st.sampled_from((("b8", f"[{location}+1]"), ("b16", f"[{location}]"))))
    if kind == "ld":
        sem = draw(st.sampled_from(("weak", f"relaxed.{scope}", f"acquire.{scope}", "volatile")))
        return f"ld.{sem}.global.{type_} {register}, {place};"
    if kind == "st":
        sem = draw(st.sampled_from(("weak", f"relaxed.{scope}", f"release.{scope}", "volatile")))
        return f"st.{sem}.global.{type_} {place}, {number};"
    if kind == "red":
        return f"red.{draw(st.sampled_from(('relaxed', 'release')))}.{scope}.global.add.u32 [{location}], {number};"
    sem = draw(st.sampled_from(("relaxed", "acquire", "release", "acq_rel")))
    op = draw(st.sampled_from(("add.u32", "exch.b32", "cas.b32")))
    operands = f"{draw(st.integers(0, 1))}, {number}" if op.startswith("cas") else f"{number}"
    return f"atom.{sem}.{scope}.global.{op} {register}, [{location}], {operands};"


@st.composite
def fences(draw: st.DrawFn) -> str:
    sem, scope = draw(st.sampled_from(("sc", "acq_rel", "acquire", "release"))), draw(SCOPES)
    return f"fence.{sem}.{scope};"


@st.composite
def threads(draw: st.DrawFn, index: int, length: int, byte: bool, barrier: bool) -> str:
    """Instructions of one thread; a store may write what an earlier load returned."""
    lines, loaded = [], []
    for position in range(draw(st.integers(1, length))):
        kind = draw(st.sampled_from(("access", "access", "access", "fence", "copy", "branch", *(("bar",) if barrier else ()))))
        if kind == "fence":
            lines.append(draw(fences()))
        elif kind == "bar":
            lines.append(draw(st.sampled_from(("bar.sync 0;", "bar.sync 1, 64;", "bar.arrive 1, 64;"))))
        elif kind == "copy" and loaded:
            lines.append(f"st.relaxed.gpu.global.b32 [{draw(LOCATIONS)}], {draw(st.sampled_from(loaded))};")
        elif kind == "branch" and loaded:
            lines.append(f"setp.eq.u32 p0, {draw(st.sampled_from(loaded))}, {draw(NUMBERS)};")
            lines.append(f"@p0 st.weak.global.b32 [{draw(LOCATIONS)}], {draw(NUMBERS)};")
        else:
            register = f"r{position}"
            line = draw(accesses(register, byte))
            lines.append(line)
            if line.startswith(("ld", "atom")) and "b8" not in line and "b16" not in line:
                loaded.append(register)
    cta = draw(st.integers(0, 1))
    body = "\n".join(f"  {line}" for line in lines)
    return f"P{index} @ cta {cta}, gpu 0, cluster 0 {{\n{body}\n}}"


@st.composite
def programs(draw: st.DrawFn, length: int = 4, byte: bool = False, barrier: bool = False) -> str:
    """The text of a litmus test without a condition: all registers and x, y are observed."""
    count = draw(st.integers(2, 3))
    parts = [draw(threads(i, length if count == 2 else length - 1, byte, barrier)) for i in range(count)]
    return "PTX generated\n{ x = 0; y = 0; }\n" + "\n".join(parts) + "\n"
