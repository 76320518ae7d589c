"""The instructions, one frozen class a family, defaults filled in and legality already checked.

A qualifier that the page of the instruction lets one omit is stored with its default
(`atom` without a scope has Scope.GPU). `None` for a destination is the sink `_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.ptx.operands import Address, Guard, Operand, Register
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.ptx.types import ScalarType
from memcheck.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What all have: `text` as written (one line, no `;`), its place, its guard."""

    text: str
    span: Span
    guard: Guard | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Instruction):
    """`ld`, and the abstract `tld suld cold` by proxy (ISA 9.7.10.8). One destination a vector element.

    A weak load has no scope. `volatile` and `mmio` loads are RELAXED (or ACQUIRE) at SYS.
    """

    destinations: tuple[Register | None, ...]
    address: Address
    type: ScalarType
    sem: Sem
    scope: Scope | None
    space: Space
    proxy: Proxy = Proxy.GENERIC
    volatile: bool = False
    mmio: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Instruction):
    """`st`, and the abstract `sust` by proxy (ISA 9.7.10.11). A `None` source writes nothing there."""

    address: Address
    sources: tuple[Operand | None, ...]
    type: ScalarType
    sem: Sem
    scope: Scope | None
    space: Space
    proxy: Proxy = Proxy.GENERIC
    volatile: bool = False
    mmio: bool = False


class AtomOp(Enum):
    """Operations of atom and red (ISA 9.7.15.5); SUB is the peers' shorthand."""

    ADD = "add"
    SUB = "sub"
    INC = "inc"
    DEC = "dec"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCH = "exch"
    CAS = "cas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom(Instruction):
    """`atom`, `red` and the abstract `suatom sured`: an atomic read-modify-write (ISA 9.7.15.5, .6).

    `is_red`: a reduction, whose read is in no acquire pattern (ISA 8.11.1); `destinations` are then None.
    `operands`: one tuple a vector element: (b,) or for cas (compare, swap); for inc and dec the bound.
    """

    op: AtomOp
    destinations: tuple[Register | None, ...]
    address: Address
    operands: tuple[tuple[Operand, ...], ...]
    type: ScalarType
    sem: Sem
    scope: Scope
    space: Space
    is_red: bool
    proxy: Proxy = Proxy.GENERIC


class MultimemKind(Enum):
    LD_REDUCE = "ld_reduce"
    ST = "st"
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Multimem(Instruction):
    """`multimem.ld_reduce|st|red` on a multimem address (ISA 9.7.10.15): one access to each location behind it.

    `op` reduces (None for st). `destinations` for ld_reduce, `sources` for st and red.
    """

    kind: MultimemKind
    op: AtomOp | None
    destinations: tuple[Register | None, ...]
    sources: tuple[Operand, ...]
    address: Address
    type: ScalarType
    sem: Sem
    scope: Scope | None


class Restriction(Enum):
    """`.sync_restrict` spaces and `fence.mbarrier_init` (ISA 9.7.15.4)."""

    SHARED_CTA = "sync_restrict::shared::cta"
    SHARED_CLUSTER = "sync_restrict::shared::cluster"
    MBARRIER_INIT = "mbarrier_init"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(Instruction):
    """`fence`, `membar` (ISA 9.7.15.4). sem is ACQUIRE, RELEASE, ACQ_REL or SC."""

    sem: Sem
    scope: Scope
    restriction: Restriction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFence(Instruction):
    """`fence.proxy.*` (ISA 9.7.15.4). `space` limits fence.proxy.async; sem and scope: one-directional forms."""

    proxy: FenceProxy
    space: Space | None = None
    sem: Sem | None = None
    scope: Scope | None = None
    address: Address | None = None
    size: int | None = None
    restriction: Restriction | None = None


class BarrierKind(Enum):
    SYNC = "sync"
    ARRIVE = "arrive"
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier(Instruction):
    """`bar`, `barrier{.cta}` (ISA 9.7.15.1).

    PTX: `id` 0..15, `count` in threads (a multiple of 32) or None for the whole CTA.
    `peer` (the columns layout's `bar.cta.*`): `instance` is the first operand, `id` optional, `count` in threads.
    `reduction` is popc, and, or for RED, with `destination`, `source`, `negated`.
    """

    kind: BarrierKind
    id: Operand | None
    count: Operand | None
    peer: bool = False
    instance: Operand | None = None
    reduction: str | None = None
    destination: Register | None = None
    source: Operand | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBarrier(Instruction):
    """`barrier.cluster.arrive|wait` (ISA 9.7.15.3). sem: RELEASE or RELAXED (arrive), ACQUIRE (wait)."""

    arrive: bool
    sem: Sem


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpBarrier(Instruction):
    """`bar.warp.sync mask` (ISA 9.7.15.2)."""

    mask: Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective(Instruction):
    """shfl, vote, match, redux, elect, activemask: values among lanes, no memory ordering (ISA 9.7.15.10 ff).

    `op` is the mnemonic without `.sync` and type: shfl.up shfl.down shfl.bfly shfl.idx vote.all vote.any vote.uni
    vote.ballot match.any match.all redux.add (min max and or xor) elect activemask.
    `destinations`: (d,) or (d, p). `sources` in PTX order without the mask.
    """

    op: str
    type: ScalarType
    destinations: tuple[Register | None, ...]
    sources: tuple[Operand, ...]
    mask: Operand
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic(Instruction):
    """Register instructions. `op` with its modifiers, types split off:

    mov add sub mul.lo mul.hi mul.wide mad.lo mad.hi mad.wide div rem neg abs min max and or xor not shl shr
    setp.OP (eq ne lt le gt ge lo ls hi hs) set.OP setp.OP.BOOL selp cvt cvta mapa popc clz brev bfe isspacep nop.
    `type` is the operation's; cvt converts from `source_type`. setp has one or two predicate destinations.
    """

    op: str
    type: ScalarType
    destinations: tuple[Register | None, ...]
    sources: tuple[Operand, ...]
    source_type: ScalarType | None = None
    space: Space | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Instruction):
    """`bra`, `goto` and the short forms `beq r0, 1, L`: compare is (op, left, right, width) or None."""

    target: str
    compare: tuple[str, Operand, Operand] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit(Instruction):
    """`ret`, `exit`: the thread has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nop(Instruction):
    """No event and no value: nanosleep, prefetch, applypriority and other hints."""
