"""The asynchronous instructions: groups, mbarriers, copies that complete later, wgmma, launch control.

As in `instructions`: one frozen class a family, defaults filled in, legality checked. An `Address` that is an mbarrier
operand names the object; None there means that the operation completes by a group of its thread. Tensor copies are in
`tensors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.operands import Address, Operand, Register
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.types import ScalarType

# --- groups of a thread


class Group(Enum):
    """What commit and wait instructions gather: three kinds that know nothing of each other."""

    COPY = "cp.async"
    BULK = "cp.async.bulk"
    WARPGROUP = "wgmma"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitGroup(Instruction):
    """`cp.async.commit_group`, `cp.async.bulk.commit_group`, `wgmma.commit_group` (ISA 9.7.10.28, 9.7.17)."""

    group: Group


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitGroup(Instruction):
    """`….wait_group N`: until at most `pending` of the latest groups are pending. `read`: only their reads are done."""

    group: Group
    pending: int
    read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitAll(Instruction):
    """`cp.async.wait_all`: commits, then waits for every group of cp.async."""


# --- cp.async


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAsync(Instruction):
    """`cp.async.ca|cg`: `size` bytes of global to the CTA's shared memory (ISA 9.7.10.28.3).

    `level` is ca or cg. `source_size`: bytes that are read, zeros after them. `ignore`: a predicate, all zeros where
    it holds (where it does not, if `ignore_negated`).
    """

    destination: Address
    source: Address
    size: int
    level: str
    source_size: Operand | None = None
    ignore: Register | None = None
    ignore_negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyArrive(Instruction):
    """`cp.async.mbarrier.arrive{.noinc}`: an arrival once the thread's earlier cp.async are complete."""

    mbarrier: Address
    noinc: bool
    space: Space


# --- mbarrier (ISA 9.7.15.16)


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInit(Instruction):
    mbarrier: Address
    count: Operand
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierInval(Instruction):
    mbarrier: Address
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierTransaction(Instruction):
    """`mbarrier.expect_tx`, or with `complete` `mbarrier.complete_tx`; both relaxed. `amount` in bytes."""

    mbarrier: Address
    amount: Operand
    complete: bool
    scope: Scope
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierArrive(Instruction):
    """`mbarrier.arrive`, `arrive_drop` (`drop`), `.noComplete`; `expect`: bytes of `.expect_tx`, before the arrival.

    `state` receives the token of the phase, None where there is none. sem is RELEASE or RELAXED.
    """

    mbarrier: Address
    state: Register | None
    count: Operand
    expect: Operand | None
    drop: bool
    no_complete: bool
    sem: Sem
    scope: Scope
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierWait(Instruction):
    """`mbarrier.test_wait`, or `try_wait` (`suspends`); by `state` or by `parity`, of which one is None.

    `hint`: nanoseconds that try_wait may suspend. sem is ACQUIRE or RELAXED.
    """

    destination: Register
    mbarrier: Address
    state: Operand | None
    parity: Operand | None
    suspends: bool
    hint: Operand | None
    sem: Sem
    scope: Scope
    space: Space


@dataclass(frozen=True, slots=True, kw_only=True)
class MbarrierPendingCount(Instruction):
    destination: Register
    state: Operand


# --- bulk copies (ISA 9.7.10.28.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkCopy(Instruction):
    """`cp.async.bulk` in its four directions; `multimem`: to a multimem address.

    `size` in bytes. `mask`: CTAs of a multicast. Weak without scope, or RELAXED at a scope in elements of 16 bytes.
    """

    destination: Address
    source: Address
    size: Operand
    destination_space: Space
    source_space: Space
    mbarrier: Address | None
    mask: Operand | None
    sem: Sem
    scope: Scope | None
    multimem: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkReduce(Instruction):
    """`cp.reduce.async.bulk`: weak reads of shared memory, a relaxed atomic operation for each element."""

    destination: Address
    source: Address
    size: Operand
    destination_space: Space
    mbarrier: Address | None
    op: AtomOp
    type: ScalarType
    scope: Scope
    multimem: bool = False


# --- asynchronous stores and reductions (ISA 9.7.10.12, 9.7.15.7)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncStore(Instruction):
    """`st.async`: weak to the cluster's shared memory with an mbarrier, or RELEASE at a scope to global memory."""

    address: Address
    sources: tuple[Operand, ...]
    type: ScalarType
    mbarrier: Address | None
    sem: Sem
    scope: Scope | None
    space: Space
    mmio: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncReduce(Instruction):
    """`red.async`: RELAXED at the cluster with an mbarrier, or RELEASE at a scope on global memory."""

    address: Address
    op: AtomOp
    operand: Operand
    type: ScalarType
    mbarrier: Address | None
    sem: Sem
    scope: Scope
    space: Space
    mmio: bool = False


# --- the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpgroupFence(Instruction):
    """`wgmma.fence` (ISA 9.7.17)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpgroupMultiply(Instruction):
    """`wgmma.mma_async`: `shape` (M, N, K), `types` of D, A, B.

    A is shared memory (an address, or a register with a matrix descriptor) or registers; B is shared memory.
    `scales` and `transposes` are the immediates of A and B, as many as the form has.
    """

    shape: tuple[int, int, int]
    types: tuple[str, str, str]
    accumulators: tuple[Register, ...]
    a: Address | Register | tuple[Register, ...]
    b: Address | Register
    scale_d: Operand
    scale_negated: bool
    scales: tuple[int, ...]
    transposes: tuple[int, ...]
    saturates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TryCancel(Instruction):
    """`clusterlaunchcontrol.try_cancel`: 16 bytes of answer; `multicast` to every CTA of the cluster."""

    address: Address
    mbarrier: Address
    multicast: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDependency(Instruction):
    """`griddepcontrol.wait`, or `launch_dependents` (`launch`) (ISA 9.7.15.14)."""

    launch: bool
