"""A litmus test after elaboration: names resolved, defaults filled, places complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Operand
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.ptx.types import ScalarType
from memcheck.source import SourceFile, Span


class Place(NamedTuple):
    """Where a thread runs. Numbers are global: equal `cta` is the same CTA; every field is filled."""

    gpu: int
    grid: int
    cluster: int
    cta: int
    warp: int
    lane: int


@dataclass(frozen=True, slots=True)
class Thread:
    """`body` in program order; `labels` maps a label to the index of the instruction after it (may be len(body))."""

    index: int
    name: str
    place: Place
    body: tuple[Instruction, ...]
    labels: Mapping[str, int]
    initial: Mapping[str, Operand]
    """Initial register values by register name: numbers or addresses."""
    widths: Mapping[str, int]
    """Width in bits of every register that the thread or the condition names; predicates 1."""
    span: Span


class VariableKind(Enum):
    DATA = "data"
    MULTIMEM = "multimem"
    MBARRIER = "mbarrier"
    TENSORMAP = "tensormap"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """What a declared tensor map describes, as written; innermost dimension first.

    `type`: the element type as tensormap.replace names it. `strides` in bytes, of all dimensions but the innermost.
    `box` in elements; a map for im2col has the corners `lower` and `upper`, `channels` and `pixels` instead.
    `swizzle` and `interleave` in bytes, 0 for none.
    """

    base: str
    type: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0
    swizzle: int = 0
    interleave: int = 0
    fills_nan: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared or implied variable. A SHARED_CTA variable has an instance in every CTA of the test.

    `count`: elements; `array`: declared with brackets. `init` has `count` values.
    `aliases`: this is another name of that variable's memory; `proxy` other than GENERIC makes it a view
    at the variable's own virtual address, GENERIC another virtual address.
    `targets`: the locations behind a MULTIMEM address, the base of a TENSORMAP.
    `init` of an MBARRIER is its counts of arrivals; `map` is what a TENSORMAP, 128 bytes, describes.
    """

    name: str
    space: Space
    type: ScalarType
    span: Span
    count: int = 1
    array: bool = False
    align: int | None = None
    init: tuple[int, ...] = (0,)
    initialised: bool = False
    aliases: str | None = None
    proxy: Proxy = Proxy.GENERIC
    kind: VariableKind = VariableKind.DATA
    targets: tuple[str, ...] = ()
    map: TensorMap | None = None

    @property
    def size(self) -> int:
        """Bytes of one instance."""
        return self.type.size * self.count


@dataclass(frozen=True, slots=True)
class RegisterTerm:
    thread: int
    name: str


@dataclass(frozen=True, slots=True)
class MemoryTerm:
    """Element `index` (0 for a scalar) of a variable; `cta` names the instance of a shared one."""

    variable: str
    index: int = 0
    cta: int | None = None


@dataclass(frozen=True, slots=True)
class NumberTerm:
    value: int


Observable = RegisterTerm | MemoryTerm
Term = RegisterTerm | MemoryTerm | NumberTerm


@dataclass(frozen=True, slots=True)
class Compare:
    """op is one of == != < <= > >=; equality is modulo the narrower width, order is unsigned."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    body: Prop


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Prop, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Prop, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool


Prop = Compare | Not | And | Or | Truth


class Quantifier(Enum):
    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    """`text` as written, blanks collapsed."""

    quantifier: Quantifier
    prop: Prop
    text: str
    span: Span


class Verdict(Enum):
    """What a file may expect of a model."""

    HOLDS = "holds"
    FAILS = "fails"
    OUTSIDE = "outside"
    UNDECIDED = "undecided"
    DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One `(* expect MODEL: … *)` for one model. `states`: None, a count, or the states themselves (key -> value)."""

    model: str
    verdict: Verdict | None
    states: int | frozenset[frozenset[tuple[str, int]]] | None
    why: str
    span: Span


@dataclass(frozen=True, slots=True)
class GridOrder:
    """`order grid before -> grid after`."""

    before: int
    after: int
    span: Span
    programmatic: bool = False


@dataclass(frozen=True, slots=True)
class Test:
    """One litmus test. `observed`: what final states are over (format: states), in the order shown."""

    name: str
    description: tuple[str, ...]
    source: SourceFile
    columns: bool
    threads: tuple[Thread, ...]
    variables: Mapping[str, Variable]
    condition: Condition | None
    filter: Prop | None
    observed: tuple[Observable, ...]
    expectations: tuple[Expectation, ...] = ()
    grid_orders: tuple[GridOrder, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Remarks found while reading (shorthand that was filled in, …)."""
    __test__ = False  # not a pytest class

    def key(self, term: Observable) -> str:
        """The term as the JSON states and conditions write it: `P0:r1`, `x`, `x[1]`, `x[1] @ cta 1`."""
        if isinstance(term, RegisterTerm):
            return f"{self.threads[term.thread].name}:{term.name}"
        name = term.variable
        if self.variables[name].array:
            name += f"[{term.index}]"
        return name if term.cta is None else f"{name} @ cta {term.cta}"
