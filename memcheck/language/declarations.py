"""The initial state: variables, aliases, initial registers. Types of untyped locations are left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memcheck.errors import SourceError
from memcheck.language import syntax as s
from memcheck.language.nearest import nearest
from memcheck.language.numbers import alignment, small, value
from memcheck.language.parse import clause as parse_clause
from memcheck.language.position import Positions
from memcheck.language.test import GridOrder, TensorMap, VariableKind
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.ptx.types import TYPES, ScalarType, TypeClass
from memcheck.source import Span

_SPACES = {"global": Space.GLOBAL, "shared": Space.SHARED_CTA, "shared::cta": Space.SHARED_CTA, "const": Space.CONST}
_PROXIES = {
    "generic": Proxy.GENERIC,
    "texture": Proxy.TEXTURE,
    "surface": Proxy.SURFACE,
    "constant": Proxy.CONSTANT,
}
_DATA_TYPES = tuple(t for t in TYPES.values() if t.lanes == 1 and (t.cls.value in "bus" or t.name in ("f32", "f64")))
_OBJECTS = ("mbarrier", "tensormap", "multimem")
_WORDS = (*_SPACES, *(t.name for t in _DATA_TYPES), *_OBJECTS, "align")
MAX_ELEMENTS = 65536
_MAX_GRID = 1_000_000
_MAX_CHAIN = 64
"""Aliases of aliases."""


@dataclass(slots=True)
class Draft:
    """A variable before its type is known to all its names. `type` None: untyped, `x = 0`."""

    name: str
    span: Span
    space: Space
    type: ScalarType | None = None
    """None: untyped. Of an alias: the type written before it, if any."""
    count: int = 1
    array: bool = False
    align: int | None = None
    init: tuple[tuple[int, Span], ...] = ()
    initialised: bool = False
    aliases: str | None = None
    target_span: Span | None = None
    stated: Space | None = None
    """The state space written before an alias."""
    proxy: Proxy = Proxy.GENERIC
    kind: VariableKind = VariableKind.DATA
    targets: tuple[tuple[str, Span], ...] = ()
    map: TensorMap | None = None


@dataclass(frozen=True, slots=True)
class InitialRegister:
    """`P0:r1 = …`: a number, or the name of a variable whose address it is."""

    thread: str
    thread_span: Span
    register: str
    span: Span
    value: int | str
    value_span: Span


@dataclass(slots=True)
class Initial:
    variables: dict[str, Draft] = field(default_factory=dict)
    registers: dict[tuple[str, str], InitialRegister] = field(default_factory=dict)
    """By thread and register."""
    orders: list[GridOrder] = field(default_factory=list)


def read_entries(clauses: tuple[s.Clause, ...], positions: Positions) -> Initial:
    """All entries; aliases and multimem targets are resolved, whatever their order."""
    initial = Initial()
    for part in clauses:
        _Reader(initial, positions, part).read(parse_clause(positions, "entry", part))
    for draft in initial.variables.values():
        for name, span in draft.targets:
            _target(initial, draft, name, span)
    for draft in initial.variables.values():
        if draft.aliases is not None:
            draft.space = _root(initial.variables, draft).space
    return initial


def _target(initial: Initial, draft: Draft, name: str, span: Span) -> None:
    """Checks a variable behind a multimem address, or the base of a tensor map."""
    target = initial.variables.get(name)
    if target is None:
        raise SourceError(f"`{name}` is not declared", span, nearest(name, initial.variables))
    if target.space is not Space.GLOBAL or target.kind is not VariableKind.DATA or target.aliases is not None:
        what = "tensor map" if draft.kind is VariableKind.TENSORMAP else "multimem address"
        raise SourceError(f"a {what} is over `.global` variables, and `{name}` is none", span)
    if [n for n, _ in draft.targets].count(name) > 1:
        raise SourceError(f"`{name}` is named twice", span)
    if draft.map is not None:
        maps = [other.map for other in initial.variables.values() if other.map is not None and other.map.base == name]
        _align_base(target, maps, span)


def _align_base(target: Draft, maps: Sequence[TensorMap], span: Span) -> None:
    """A tensor without a written alignment gets the one that its maps need."""
    from memcheck.language.tensormaps import base_alignment

    needed = max(map(base_alignment, maps))
    if target.align is None:
        target.align = max(needed, target.type.size if target.type is not None else 0)
    elif target.align % needed:
        raise SourceError(
            f"the base of this tensor map is a multiple of {needed} bytes, and `{target.name}` one of {target.align}",
            span,
            f"declare `{target.name}` .align {needed}",
        )


def _root(variables: dict[str, Draft], draft: Draft) -> Draft:
    """The variable that an alias is another name of. Checks the aliases on the way."""
    seen = [draft.name]
    root = draft
    while root.aliases is not None:
        target, span = root.aliases, root.target_span or root.span
        if target in seen:
            raise SourceError(f"`{draft.name}` is an alias of itself", draft.span)
        if target not in variables:
            raise SourceError(f"`{target}` is not declared", span, nearest(target, set(variables) - set(seen)))
        seen.append(target)
        if len(seen) > _MAX_CHAIN:
            raise SourceError(f"`{draft.name}` is an alias over more than {_MAX_CHAIN} others", draft.span)
        root = variables[target]
        if root.kind is not VariableKind.DATA:
            raise SourceError(f"`{target}` is a {root.kind.value} object and has no aliases", span)
    if draft.stated is not None and draft.stated is not root.space:
        raise SourceError(
            f"`{root.name}` is .{root.space.value}, and its alias `{draft.name}` .{draft.stated.value}", draft.span
        )
    return root


class _Reader:
    """Reads one entry into `initial`."""

    __slots__ = ("at", "initial", "positions", "text")

    def __init__(self, initial: Initial, positions: Positions, part: s.Clause) -> None:
        self.initial = initial
        self.positions = positions
        self.at = part.at
        self.text = part.text

    def span(self, word: s.Word | s.Number) -> Span:
        return self.positions.span(self.at + word.at, len(word.text))

    def number(self, number: s.Number) -> tuple[int, Span]:
        return value(number, self.positions, self.at), self.span(number)

    def read(self, entry: s.Entry) -> None:
        if isinstance(entry, s.Cell):
            if not isinstance(entry.value, s.Number):
                hint = f"write `.global .b32 {entry.name.text}[2] = {{0, 0}}` for an array"
                raise SourceError("an untyped location holds a number", self.span(entry.name), hint)
            self.add(entry.name, Space.GLOBAL, init=(self.number(entry.value),), initialised=True)
        elif isinstance(entry, s.RegisterValue):
            self.register(entry)
        elif isinstance(entry, s.Alias):
            self.alias(entry)
        elif isinstance(entry, s.Declaration):
            self.declaration(entry)
        else:
            self.order(entry)

    def order(self, entry: s.Order) -> None:
        before, after = (small(n, self.positions, self.at, "a grid", _MAX_GRID) for n in (entry.before, entry.after))
        mode = entry.mode
        if mode is not None and mode.text != "programmatic":
            raise SourceError(f"`{mode.text}` is no order of grids", self.span(mode), "write `programmatic` or nothing")
        span = self.positions.span(self.at + entry.at, len("order"))
        self.initial.orders.append(GridOrder(before, after, span, mode is not None))

    def add(self, name: s.Word, space: Space, **fields: object) -> None:
        text, span = name.text, self.span(name)
        if not _plain(text):
            raise SourceError(f"`{text}` is no name for a variable", span)
        if text in self.initial.variables:
            first = self.initial.variables[text].span
            raise SourceError(f"`{text}` is declared twice", span, f"first at line {first.line}")
        self.initial.variables[text] = Draft(text, span, space, **fields)  # type: ignore[arg-type]

    def register(self, entry: s.RegisterValue) -> None:
        thread, name = entry.register
        found: int | str
        if isinstance(entry.value, s.Number):
            found, span = self.number(entry.value)
        else:
            found, span = entry.value.word.text, self.span(entry.value.word)
            if not _plain(found):
                raise SourceError(f"`{found}` is no variable", span, "a register starts as a number or an address")
        register = InitialRegister(
            _thread(thread.text), self.span(thread), name.text.removeprefix("%"), self.span(name), found, span
        )
        other = self.initial.registers.setdefault((register.thread, register.register), register)
        if other is not register:
            raise SourceError(
                f"`{register.thread}:{register.register}` is set twice",
                self.span(thread),
                f"first at line {other.thread_span.line}",
            )

    def alias(self, entry: s.Alias) -> None:
        space = kind = None
        for word, number in entry.qualifiers:
            text = word.text[1:]
            if number is None and text in _SPACES and space is None:
                space = _SPACES[text]
            elif number is None and text in TYPES and kind is None:
                kind = TYPES[text]
            else:
                raise SourceError(
                    f"`{word.text}` cannot stand before an alias",
                    self.span(word),
                    f"write `.global {entry.name.text} aliases {entry.target.text}`; the type is the target's",
                )
        proxy = Proxy.GENERIC
        if entry.proxy is not None:
            if entry.proxy.text not in _PROXIES:
                raise SourceError(
                    f"`{entry.proxy.text}` is no proxy of an alias",
                    self.span(entry.proxy),
                    nearest(entry.proxy.text, _PROXIES),
                )
            proxy = _PROXIES[entry.proxy.text]
        self.add(
            entry.name,
            space or Space.GLOBAL,
            stated=space,
            type=kind,
            aliases=entry.target.text,
            target_span=self.span(entry.target),
            proxy=proxy,
        )

    def declaration(self, entry: s.Declaration) -> None:
        for word, _ in entry.qualifiers:
            if word.text[1:] in _OBJECTS:
                self.object(entry, word.text[1:])
                return
        space: Space | None = None
        kind: ScalarType | None = None
        align: int | None = None
        for word, number in entry.qualifiers:
            text, span = word.text[1:], self.span(word)
            if text == "align":
                align = alignment(number, span, align, self.positions, self.at)
                continue
            if number is not None:
                raise SourceError(f"unexpected number after `{word.text}`", self.span(number))
            if text in _SPACES:
                if space is not None:
                    raise SourceError("a variable has one state space", span)
                space = _SPACES[text]
            elif text == "param":
                raise SourceError("`.param` is for tensor maps only", span, "use `.const` or `.global`")
            elif text in TYPES and TYPES[text] in _DATA_TYPES:
                if kind is not None:
                    raise SourceError("a variable has one type", span)
                kind = TYPES[text]
            else:
                raise SourceError(f"`{word.text}` is no state space or type", span, nearest(text, _WORDS))
        if space is None or kind is None:
            what = "state space" if space is None else "type"
            hint = f"write `.global .b32 {entry.name.text}`"
            raise SourceError(f"`{entry.name.text}` has no {what}", self.span(entry.name), hint)
        self.data(entry, space, kind, align)

    def object(self, entry: s.Declaration, what: str) -> None:
        from memcheck.language import objects

        declared = objects.read(entry, what, self.positions, self.at)
        self.add(entry.name, declared.space, **declared.fields)

    def data(self, entry: s.Declaration, space: Space, kind: ScalarType, align: int | None) -> None:
        listed: tuple[tuple[int, Span], ...] = ()
        numbers: list[s.Number] = []
        if isinstance(entry.value, s.Number):
            if entry.dimension is not None:
                raise SourceError("an array is initialised with `{…}`", self.span(entry.value))
            numbers = [entry.value]
            listed = (self.number(entry.value),)
        elif isinstance(entry.value, s.Braces):
            if entry.dimension is None:
                raise SourceError("only an array is initialised with `{…}`", self.span(entry.name))
            for item in entry.value.items:
                if not isinstance(item, s.Number):
                    raise SourceError("an array holds numbers", self.span(entry.name))
            numbers = [item for item in entry.value.items if isinstance(item, s.Number)]
            listed = tuple(map(self.number, numbers))
        elif entry.value is not None:
            raise SourceError(f"the initial value of `{entry.name.text}` is a number", self.span(entry.name))
        for number, (found, span) in zip(numbers, listed):
            if kind.cls is TypeClass.FLOAT and found and number.text[:2].lower() not in ("0f", "0d"):
                raise SourceError("a floating-point value is written as its bits", span, "1.0 is `0f3F800000`")
        count = 1
        if entry.dimension is not None:
            if entry.dimension.size is not None:
                span = self.span(entry.dimension.size)
                count = small(entry.dimension.size, self.positions, self.at, "the size of an array", MAX_ELEMENTS)
            else:
                span, count = self.span(entry.name), len(listed)
            if count == 0:
                raise SourceError("an array has at least one element", span)
            if len(listed) > count:
                raise SourceError(
                    f"`{entry.name.text}` has {count} element{'s' * (count != 1)}, and {len(listed)} values",
                    listed[count][1],
                )
        self.add(
            entry.name,
            space,
            type=kind,
            count=count,
            array=entry.dimension is not None,
            align=align,
            init=listed,
            initialised=entry.value is not None,
        )


def _plain(name: str) -> bool:
    """Whether a word can name a variable: no `%`, no dots."""
    return name[0] != "%" and "." not in name and ":" not in name and name != "_"


def _thread(text: str) -> str:
    return text if text[0] == "P" else f"P{text}"
