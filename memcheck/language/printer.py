"""Test to text, fully qualified: types, places and default qualifiers written out.

In blocks, but for tests that speak the peers' dialect, which only columns have.
"""

from __future__ import annotations

from collections.abc import Iterator

from memcheck.language.condition import terms
from memcheck.language.registers import width_by_name
from memcheck.language.test import (
    And,
    Compare,
    Expectation,
    Not,
    NumberTerm,
    Or,
    Place,
    Prop,
    TensorMap,
    Term,
    Test,
    Thread,
    Truth,
    Variable,
    VariableKind,
)
from memcheck.ptx.decode.spelling import spell
from memcheck.ptx.instructions import Atom, Barrier, Instruction
from memcheck.ptx.operands import AddressOf, Immediate, Operand
from memcheck.ptx.qualifiers import Sem, Space
from memcheck.ptx.types import TypeClass


def print_test(test: Test) -> str:
    """A file that reads as an equal test, but for places in the text, remarks and layout."""
    columns = test.columns and any(_dialect(i) for thread in test.threads for i in thread.body)
    lines = [f"PTX {test.name}", *(f'"{text}"' for text in test.description), "{"]
    lines += [f"  {entry};" for entry in _entries(test)]
    lines.append("}")
    lines += _columns(test) if columns else _blocks(test)
    observed = _locations(test)
    if observed:
        lines.append(f"locations [{'; '.join(observed)}]")
    if test.filter is not None:
        lines.append(f"filter ({_prop(test, test.filter)})")
    if test.condition is not None:
        lines.append(f"{test.condition.quantifier.value} ({_prop(test, test.condition.prop)})")
    lines += map(_expectation, test.expectations)
    return "\n".join(lines) + "\n"


def _dialect(instruction: Instruction) -> bool:
    """Only read in columns: the peers' `bar`, and their `red` that acquires."""
    if isinstance(instruction, Barrier):
        return instruction.peer
    return isinstance(instruction, Atom) and instruction.is_red and instruction.sem in (Sem.ACQUIRE, Sem.ACQ_REL)


# --- initial state


def _entries(test: Test) -> Iterator[str]:
    for variable in test.variables.values():
        yield _variable(variable)
    for order in test.grid_orders:
        yield f"order grid {order.before} -> grid {order.after}{' programmatic' * order.programmatic}"
    for thread in test.threads:
        for name, value in thread.initial.items():
            yield f"{thread.name}:{name} = {_operand(value)}"


def _variable(variable: Variable) -> str:
    space = "." + {Space.SHARED_CTA: "shared"}.get(variable.space, variable.space.value)
    if variable.aliases is not None:
        return f"{space} {variable.name} @ {variable.proxy.value} aliases {variable.aliases}"
    if variable.kind is VariableKind.MULTIMEM:
        return f".multimem {variable.name} = {{{', '.join(variable.targets)}}}"
    align = f" .align {variable.align}" if variable.align is not None else ""
    if variable.map is not None:
        return f"{space}{align} .tensormap {variable.name} = {{ {', '.join(_fields(variable.map))} }}"
    if variable.kind is VariableKind.MBARRIER:
        counts = ", ".join(map(str, variable.init))
        name = f"{variable.name}[{variable.count}] = {{{counts}}}" if variable.array else f"{variable.name} = {counts}"
        return f"{space}{align} .mbarrier {name}"
    text = f"{space}{align} .{variable.type.name} {variable.name}"
    values = [_number(variable, value) for value in variable.init]
    if variable.array:
        text += f"[{variable.count}]"
        return f"{text} = {{{', '.join(values)}}}" if variable.initialised else text
    return f"{text} = {values[0]}" if variable.initialised else text


def _fields(tensor: TensorMap) -> Iterator[str]:
    yield f"base = {tensor.base}"
    yield f"type = .{tensor.type}"
    for key in ("dims", "strides", "box", "element_strides", "lower", "upper"):
        numbers: tuple[int, ...] = getattr(tensor, key)
        if numbers:
            yield f"{key} = {{{', '.join(map(str, numbers))}}}"
    if tensor.channels:
        yield f"channels = {tensor.channels}"
        yield f"pixels = {tensor.pixels}"
    yield f"swizzle = {tensor.swizzle}"
    yield f"interleave = {tensor.interleave}"
    yield f"fill = {'nan' if tensor.fills_nan else 'zero'}"


def _number(variable: Variable, value: int) -> str:
    if variable.type.cls is not TypeClass.FLOAT:
        return str(value)
    return f"0d{value:016X}" if variable.type.bits == 64 else f"0f{value:08X}"


def _operand(value: Operand) -> str:
    if isinstance(value, AddressOf):
        return value.variable
    return str(value.value) if isinstance(value, Immediate) else value.name


# --- threads


def _head(thread: Thread) -> str:
    return f"{thread.name} @ {_place(thread.place)}"


def _place(place: Place) -> str:
    return (
        f"gpu {place.gpu}, grid {place.grid}, cluster {place.cluster}, "
        f"cta {place.cta}, warp {place.warp}, lane {place.lane}"
    )


def _statements(thread: Thread) -> Iterator[str]:
    for name, width in thread.widths.items():
        if width_by_name(name, percent=True) != width:
            yield f".reg .{'pred' if width == 1 else f'b{width}'} %{name}"
    labels: dict[int, list[str]] = {}
    for label, index in thread.labels.items():
        labels.setdefault(index, []).append(f"{label}: ")
    for index, instruction in enumerate(thread.body):
        yield "".join(labels.get(index, ())) + spell(instruction)
    if len(thread.body) in labels:
        yield "".join(labels[len(thread.body)]).rstrip()


def _blocks(test: Test) -> Iterator[str]:
    for thread in test.threads:
        yield f"{_head(thread)} {{"
        for statement in _statements(thread):
            yield f"  {statement};"
        yield "}"


def _columns(test: Test) -> Iterator[str]:
    columns = [[_head(thread), *_statements(thread)] for thread in test.threads]
    widths = [max(map(len, column)) for column in columns]
    for row in range(max(map(len, columns))):
        cells = [column[row] if row < len(column) else "" for column in columns]
        yield " " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " ;"


# --- condition


def _locations(test: Test) -> list[str]:
    """What `locations` must say for states to be over the same terms in the same order."""
    named = tuple(dict.fromkeys(terms(test.condition.prop))) if test.condition is not None else ()
    return [] if named == test.observed else [test.key(term) for term in test.observed]


def _prop(test: Test, prop: Prop) -> str:
    if isinstance(prop, And):
        return " /\\ ".join(f"({_prop(test, p)})" if isinstance(p, Or) else _prop(test, p) for p in prop.parts)
    if isinstance(prop, Or):
        return " \\/ ".join(_prop(test, part) for part in prop.parts)
    if isinstance(prop, Not):
        return f"~({_prop(test, prop.body)})"
    if isinstance(prop, Truth):
        return "true" if prop.value else "false"
    assert isinstance(prop, Compare)
    return f"{_term(test, prop.left)} {prop.op} {_term(test, prop.right)}"


def _term(test: Test, term: Term) -> str:
    return str(term.value) if isinstance(term, NumberTerm) else test.key(term)


def _expectation(expectation: Expectation) -> str:
    parts = [] if expectation.verdict is None else [expectation.verdict.value]
    if isinstance(expectation.states, int):
        parts.append(f"states: {expectation.states}")
    elif expectation.states is not None:
        states = sorted(sorted(state) for state in expectation.states)
        shown = ("{" + ", ".join(f"{key}={value}" for key, value in state) + "}" for state in states)
        parts.append("states: " + " ".join(shown))
    if expectation.why:
        parts.append(f"why: {expectation.why}")
    text = f"expect {expectation.model}: {'; '.join(parts)}"
    return f"// {text}" if "(*" in text or "*)" in text else f"(* {text} *)"
