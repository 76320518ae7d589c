"""Syntax to Test: names resolved, places completed, instructions decoded, types of untyped locations found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memcheck.errors import SourceError, TooLargeError
from memcheck.language import syntax as s
from memcheck.language.accesses import accesses, finished
from memcheck.language.condition import Resolver, terms
from memcheck.language.declarations import Draft, Initial, InitialRegister, read_entries
from memcheck.language.expectations import read_expectations
from memcheck.language.nearest import nearest
from memcheck.language.parse import MAX_DEPTH, depth
from memcheck.language.parse import clause as parse_clause
from memcheck.language.places import complete, read_head
from memcheck.language.position import Positions
from memcheck.language.registers import ThreadNames, special_registers, undeclared, width_by_name
from memcheck.language.statements import Body, read_body
from memcheck.language.test import (
    Condition,
    Expectation,
    Observable,
    Prop,
    Quantifier,
    RegisterTerm,
    Test,
    Thread,
    VariableKind,
)
from memcheck.ptx.decode import decode
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import AddressOf, Immediate, Operand, Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawAddress, RawInstruction, RawName
from memcheck.source import Span

MAX_ENTRIES = 10_000
MAX_THREADS = 1_000
MAX_STATEMENTS = 10_000
MAX_CONDITION = 100_000
_THREAD = re.compile(r"P[0-9]{1,6}")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_FEW = 200
"""Declared names among which a slip of the pen is looked for."""
_ADDRESS_OPERAND = {
    **dict.fromkeys(("ld", "tld", "suld", "cold", "atom", "suatom"), 1),
    **dict.fromkeys(("st", "sust", "red", "sured"), 0),
}
"""Where an instruction takes an address, whose brackets may be missing."""


def elaborate(outline: s.Outline, comments: Sequence[s.Clause], positions: Positions) -> Test:
    """The test of an outline. SourceError at the first fault, TooLargeError beyond the limits."""
    _limit(len(outline.entries), MAX_ENTRIES, "entries in its initial state")
    _limit(len(outline.heads), MAX_THREADS, "threads")
    _limit(sum(map(len, outline.bodies)), MAX_STATEMENTS, "statements")
    _limit(len(outline.tail.text) if outline.tail else 0, MAX_CONDITION, "characters in its condition")
    initial = read_entries(outline.entries, positions)
    heads = [read_head(parse_clause(positions, "head", part), part, positions) for part in outline.heads]
    threads: dict[str, int] = {}
    for head in heads:
        if not _THREAD.fullmatch(head.name):
            raise SourceError(f"`{head.name}` is no name of a thread", head.span, "threads are named P0, P1, P2, …")
        if head.name in threads:
            raise SourceError(f"there are two threads `{head.name}`", head.span)
        threads[head.name] = len(threads)
    places, notes = complete(heads, outline.columns)
    if initial.orders:
        from memcheck.language.grids import check_orders

        check_orders(initial.orders, places)
    bodies = [read_body(statements, positions) for statements in outline.bodies]
    notes += _imply_locations(initial, bodies, positions)
    spaces = {name: draft.space for name, draft in initial.variables.items()}
    names = [
        ThreadNames(outline.columns, spaces, body.declared, tuple(body.labels), special_registers(place, places))
        for body, place in zip(bodies, places)
    ]
    values = _initial_registers(initial, threads, names)
    decoded = [_decode(body, thread_names) for body, thread_names in zip(bodies, names)]
    found = [access for body, held in zip(decoded, values) for access in accesses(body, held)]
    variables = finished(initial.variables, found)
    resolver = Resolver(threads, names, variables, places, positions)
    tail: s.Tail = parse_clause(positions, "tail", outline.tail) if outline.tail else s.Tail((), None, None)
    at = outline.tail.at if outline.tail else 0
    filter_ = None if tail.filter is None else _prop(tail.filter, resolver, at, positions)
    condition = None
    if tail.condition is not None and outline.tail is not None:
        condition = _condition(tail.condition, resolver, outline.tail, positions)
    observed = _observed(tail, condition, resolver, at) or _everything(resolver, decoded)
    test = Test(
        name=outline.name.text,
        description=outline.description,
        source=positions.source,
        columns=outline.columns,
        threads=tuple(
            Thread(index, head.name, place, body, raw.labels, held, thread_names.used, head.span)
            for index, (head, place, body, raw, held, thread_names) in enumerate(
                zip(heads, places, decoded, bodies, values, names)
            )
        ),
        variables=variables,
        condition=condition,
        filter=filter_,
        observed=observed,
        grid_orders=tuple(initial.orders),
        notes=(*notes, *resolver.notes),
    )
    return replace(test, expectations=_expectations(test, comments, resolver)) if comments else test


def _limit(number: int, most: int, what: str) -> None:
    if number > most:
        raise TooLargeError(f"the test has {number} {what}; at most {most} are read")


def _imply_locations(initial: Initial, bodies: Sequence[Body], positions: Positions) -> list[str]:
    """Adds locations that only the threads name, as 32-bit globals; what may be a slip of the pen is refused."""
    named: dict[str, Span] = {}
    for body in bodies:
        for raw in body.instructions:
            for operand in _location_names(raw):
                if operand.name not in body.declared:
                    named.setdefault(operand.name, operand.span)
    for register in initial.registers.values():
        if isinstance(register.value, str):
            named.setdefault(register.value, register.value_span)
    notes = []
    counts: Counter[str] = Counter()
    declared = tuple(initial.variables)
    for name, span in named.items():
        if name in initial.variables or width_by_name(name) is not None:
            continue
        counts = counts or Counter(_IDENTIFIER.findall(positions.source.text))
        if counts[name] == 1 and len(declared) < _FEW and _is_near(name, declared):
            raise undeclared(name, span, declared)
        initial.variables[name] = Draft(name, span, Space.GLOBAL)
        notes.append(f"{name} is not declared: a global location that starts at 0")
    return notes


def _is_near(name: str, declared: tuple[str, ...]) -> bool:
    from difflib import get_close_matches

    return bool(get_close_matches(name, declared, n=1, cutoff=0.7))


def _location_names(raw: RawInstruction) -> Iterator[RawName]:
    bare = _ADDRESS_OPERAND.get(raw.words[0], -1)
    for index, operand in enumerate(raw.operands):
        base = operand.base if isinstance(operand, RawAddress) else operand
        bracketed = (base.span.line, base.span.column) != (operand.span.line, operand.span.column)
        if index != bare and not bracketed:
            continue
        if isinstance(base, RawName) and not base.percent and not base.negated and base.name != "_":
            yield base


def _initial_registers(
    initial: Initial, threads: dict[str, int], names: Sequence[ThreadNames]
) -> list[dict[str, Operand]]:
    values: list[dict[str, Operand]] = [{} for _ in names]
    for entry in initial.registers.values():
        index = threads.get(entry.thread)
        if index is None:
            raise SourceError(f"there is no thread `{entry.thread}`", entry.thread_span, nearest(entry.thread, threads))
        register = names[index].register(RawName(entry.register, entry.span, percent=True))
        values[index][entry.register] = _initial_value(entry, register)
    return values


def _initial_value(entry: InitialRegister, register: Register) -> Operand:
    if isinstance(entry.value, str):
        if register.width < 32:
            raise SourceError(f"`{register.name}` has {register.width} bits, too few for an address", entry.span)
        return AddressOf(entry.value)
    bits = register.width
    if not -(1 << bits - 1 if bits > 1 else 1) <= entry.value < 1 << bits:
        raise SourceError(f"{entry.value} does not fit in the {bits} bits of `{register.name}`", entry.value_span)
    return Immediate(entry.value % (1 << bits))


def _decode(body: Body, names: ThreadNames) -> tuple[Instruction, ...]:
    return tuple(decode(raw, names) for raw in body.instructions)


def _prop(node: s.PropSyntax, resolver: Resolver, at: int, positions: Positions) -> Prop:
    if depth(node) > MAX_DEPTH:
        raise SourceError(f"this condition is nested more than {MAX_DEPTH} deep", positions.span(at, 1))
    return resolver.prop(node, at)


def _condition(node: s.ConditionSyntax, resolver: Resolver, part: s.Clause, positions: Positions) -> Condition:
    quantifier = node.quantifier
    return Condition(
        Quantifier(quantifier.text),
        _prop(node.prop, resolver, part.at, positions),
        " ".join(part.text[quantifier.at :].split()),
        positions.span(part.at + quantifier.at, len(quantifier.text)),
    )


def _observed(tail: s.Tail, condition: Condition | None, resolver: Resolver, at: int) -> tuple[Observable, ...]:
    """The terms of `locations` and of the condition."""
    found: dict[Observable, None] = {}
    for node in tail.locations:
        if isinstance(node, s.Number):
            raise SourceError("a number is no location", resolver.positions.span(at + node.at, len(node.text)))
        if isinstance(node, s.MemoryName) and node.element is None and node.instance is None:
            variable = resolver.variables.get(node.name.text)
            if variable is not None and variable.array and variable.kind is VariableKind.DATA:
                found.update(dict.fromkeys(resolver.elements(variable)))
                continue
        found[resolver.observable(node, at)] = None
    if condition is not None:
        found.update(dict.fromkeys(terms(condition.prop)))
    return tuple(found)


def _everything(resolver: Resolver, bodies: Sequence[tuple[Instruction, ...]]) -> tuple[Observable, ...]:
    """What final states are over where no term is named: all but the results of wgmma, which have no values."""
    results = {
        RegisterTerm(thread, register.name)
        for thread, body in enumerate(bodies)
        for instruction in body
        for register in getattr(instruction, "accumulators", ())
    }
    return tuple(term for term in resolver.everything() if term not in results)


def _expectations(test: Test, comments: Sequence[s.Clause], resolver: Resolver) -> tuple[Expectation, ...]:
    prefix = "locations ["

    def resolve(key: str, at: int) -> Observable:
        part = s.Clause(f"{prefix}{key}]", at - len(prefix))
        tree: s.Tail = parse_clause(resolver.positions, "tail", part)
        node = tree.locations[0] if len(tree.locations) == 1 else None
        if node is None or isinstance(node, s.Number):
            raise SourceError(f"`{key[:80]}` is no register or location", resolver.positions.span(at, max(1, len(key))))
        return resolver.observable(node, part.at)

    def describe(term: Observable) -> tuple[str, int]:
        if isinstance(term, RegisterTerm):
            return test.key(term), test.threads[term.thread].widths[term.name]
        return test.key(term), test.variables[term.variable].type.size * 8

    return read_expectations(comments, resolver.positions, resolve, test.observed, describe)
