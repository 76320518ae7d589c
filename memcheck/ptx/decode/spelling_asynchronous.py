"""The spelling of asynchronous instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memcheck.ptx.asynchronous import (
    AsyncReduce,
    AsyncStore,
    BulkCopy,
    BulkReduce,
    CommitGroup,
    CopyArrive,
    CopyAsync,
    GridDependency,
    Group,
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPendingCount,
    MbarrierTransaction,
    MbarrierWait,
    TryCancel,
    WaitAll,
    WaitGroup,
    WarpgroupFence,
    WarpgroupMultiply,
)
from memcheck.ptx.decode.pieces import address, joined, line, literal, literals, negated, operand, space_word, word
from memcheck.ptx.instructions import AtomOp, Instruction
from memcheck.ptx.operands import Address, Operand, Register
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.tensors import TensorLoad, TensormapCopy, TensormapReplace, TensorMode, TensorReduce, TensorStore

_COUNTED = "mbarrier::complete_tx::bytes"


def _list(values: Iterable[Operand]) -> str:
    return "{" + ", ".join(map(operand, values)) + "}"


def _given(*values: Operand | None) -> list[str]:
    """Those that are there."""
    return [operand(value) for value in values if value is not None]


# --- groups and cp.async


def _aligned(group: Group) -> str | None:
    return "sync.aligned" if group is Group.WARPGROUP else None


def _commit(i: CommitGroup) -> str:
    return joined(i.group.value, "commit_group", _aligned(i.group))


def _wait_group(i: WaitGroup) -> str:
    opcode = joined(i.group.value, "wait_group", "read" if i.read else None, _aligned(i.group))
    return line(opcode, str(i.pending))


def _wait_all(_: WaitAll) -> str:
    return "cp.async.wait_all"


def _copy(i: CopyAsync) -> str:
    operands = [address(i.destination), address(i.source), str(i.size), *_given(i.source_size)]
    if i.ignore is not None:
        operands.append(negated(i.ignore, i.ignore_negated))
    return line(joined("cp", "async", i.level, "shared::cta", "global"), *operands)


def _copy_arrive(i: CopyArrive) -> str:
    noinc = "noinc" if i.noinc else None
    return line(joined("cp.async.mbarrier.arrive", noinc, space_word(i.space), "b64"), address(i.mbarrier))


# --- mbarrier


def _init(i: MbarrierInit) -> str:
    return line(joined("mbarrier.init", space_word(i.space), "b64"), address(i.mbarrier), operand(i.count))


def _inval(i: MbarrierInval) -> str:
    return line(joined("mbarrier.inval", space_word(i.space), "b64"), address(i.mbarrier))


def _transaction(i: MbarrierTransaction) -> str:
    name = "complete_tx" if i.complete else "expect_tx"
    opcode = joined("mbarrier", name, "relaxed", i.scope.value, space_word(i.space), "b64")
    return line(opcode, address(i.mbarrier), operand(i.amount))


def _arrive(i: MbarrierArrive) -> str:
    name = "arrive_drop" if i.drop else "arrive"
    part = "noComplete" if i.no_complete else "expect_tx" if i.expect is not None else None
    opcode = joined("mbarrier", name, part, i.sem.value, i.scope.value, space_word(i.space), "b64")
    last = i.count if i.expect is None else i.expect
    return line(opcode, operand(i.state), address(i.mbarrier), operand(last))


def _wait(i: MbarrierWait) -> str:
    name = "try_wait" if i.suspends else "test_wait"
    parity = None if i.parity is None else "parity"
    opcode = joined("mbarrier", name, parity, i.sem.value, i.scope.value, space_word(i.space), "b64")
    return line(opcode, operand(i.destination), address(i.mbarrier), *_given(i.state, i.parity, i.hint))


def _pending(i: MbarrierPendingCount) -> str:
    return line("mbarrier.pending_count.b64", operand(i.destination), operand(i.state))


# --- bulk copies


def _mechanism(object: Address | None) -> str:
    return "bulk_group" if object is None else _COUNTED


def _objects(object: Address | None) -> list[str]:
    return [] if object is None else [address(object)]


def _multicast(mask: Operand | None) -> str | None:
    return None if mask is None else "multicast::cluster"


def _bulk_copy(i: BulkCopy) -> str:
    opcode = joined(
        "multimem" if i.multimem else None,
        "cp.async.bulk",
        i.sem.value,
        word(i.scope),
        i.destination_space.value,
        i.source_space.value,
        _mechanism(i.mbarrier),
        _multicast(i.mask),
        "b128" if i.sem is Sem.RELAXED else None,
    )
    ends = [address(i.destination), address(i.source), operand(i.size)]
    return line(opcode, *ends, *_objects(i.mbarrier), *_given(i.mask))


def _bulk_reduce(i: BulkReduce) -> str:
    default = i.scope is Scope.SYS and i.destination_space is not Space.GLOBAL  # cannot be written there
    opcode = joined(
        "multimem" if i.multimem else None,
        "cp.reduce.async.bulk",
        None if default else f"relaxed.{i.scope.value}",
        i.destination_space.value,
        "shared::cta",
        _mechanism(i.mbarrier),
        i.op.value,
        "noftz" if i.op is AtomOp.ADD and i.type.name in ("f16", "bf16") else None,
        i.type.name,
    )
    return line(opcode, address(i.destination), address(i.source), operand(i.size), *_objects(i.mbarrier))


# --- tensors


def _tensor(map: Address, coordinates: Iterable[Operand]) -> str:
    return f"[{address(map)[1:-1]}, {_list(coordinates)}]"


def _tensor_load(i: TensorLoad) -> str:
    opcode = joined(
        f"cp.async.bulk.tensor.{i.dimensions}d",
        i.destination_space.value,
        "global",
        i.mode.value,
        _COUNTED,
        _multicast(i.mask),
        f"cta_group::{i.cta_group}" if i.cta_group != 1 else None,
    )
    offsets = [_list(i.offsets)] if i.offsets else []
    place = [address(i.destination), _tensor(i.map, i.coordinates), address(i.mbarrier)]
    return line(opcode, *place, *offsets, *_given(i.mask))


def _store_opcode(name: str, dimensions: int, op: AtomOp | None, mode: TensorMode) -> str:
    op_word = None if op is None else op.value
    return joined(f"{name}.{dimensions}d", "global.shared::cta", op_word, mode.value, "bulk_group")


def _tensor_store(i: TensorStore) -> str:
    opcode = _store_opcode("cp.async.bulk.tensor", i.dimensions, None, i.mode)
    return line(opcode, _tensor(i.map, i.coordinates), address(i.source))


def _tensor_reduce(i: TensorReduce) -> str:
    opcode = _store_opcode("cp.reduce.async.bulk.tensor", i.dimensions, i.op, i.mode)
    return line(opcode, _tensor(i.map, i.coordinates), address(i.source))


def _replace(i: TensormapReplace) -> str:
    type = "b64" if i.field.wide else "b32"
    opcode = joined("tensormap.replace.tile", i.field.value, space_word(i.space), "b1024", type)
    ordinal = [] if i.ordinal is None else [str(i.ordinal)]
    return line(opcode, address(i.address), *ordinal, operand(i.value))


def _tensormap_copy(i: TensormapCopy) -> str:
    opcode = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
    return line(f"{opcode}.{i.scope.value}.sync.aligned", address(i.destination), address(i.source), "128")


# --- the rest


def _async(i: AsyncStore | AsyncReduce, name: str, *words: str | None) -> str:
    mechanism = None if i.mbarrier is None else _COUNTED
    mmio = "mmio" if i.mmio else None
    return joined(name, "async", mmio, i.sem.value, word(i.scope), space_word(i.space), mechanism, *words)


def _async_store(i: AsyncStore) -> str:
    vector = f"v{len(i.sources)}" if len(i.sources) > 1 else None
    opcode = _async(i, "st", vector, i.type.name)
    return line(opcode, address(i.address), literals(i.sources, i.type), *_objects(i.mbarrier))


def _async_reduce(i: AsyncReduce) -> str:
    opcode = _async(i, "red", i.op.value, i.type.name)
    return line(opcode, address(i.address), literal(i.operand, i.type), *_objects(i.mbarrier))


def _fence(_: WarpgroupFence) -> str:
    return "wgmma.fence.sync.aligned"


def _matrix(value: Address | Register | tuple[Register, ...]) -> str:
    if isinstance(value, tuple):
        return _list(value)
    return address(value) if isinstance(value, Address) else operand(value)


def _multiply(i: WarpgroupMultiply) -> str:
    m, n, k = i.shape
    opcode = joined(
        "wgmma.mma_async.sync.aligned",
        f"m{m}n{n}k{k}",
        *i.types,
        "satfinite" if i.saturates else None,
        "and.popc" if i.types[1] == "b1" else None,
    )
    numbers = map(str, (*i.scales, *i.transposes))
    scale = negated(i.scale_d, i.scale_negated)
    return line(opcode, _list(i.accumulators), _matrix(i.a), _matrix(i.b), scale, *numbers)


def _cancel(i: TryCancel) -> str:
    opcode = joined(
        "clusterlaunchcontrol.try_cancel.async.shared::cta",
        _COUNTED,
        "multicast::cluster::all" if i.multicast else None,
        "b128",
    )
    return line(opcode, address(i.address), address(i.mbarrier))


def _grid(i: GridDependency) -> str:
    return joined("griddepcontrol", "launch_dependents" if i.launch else "wait")


SPELLERS: dict[type[Instruction], Callable[[Any], str]] = {
    CommitGroup: _commit,
    WaitGroup: _wait_group,
    WaitAll: _wait_all,
    CopyAsync: _copy,
    CopyArrive: _copy_arrive,
    MbarrierInit: _init,
    MbarrierInval: _inval,
    MbarrierTransaction: _transaction,
    MbarrierArrive: _arrive,
    MbarrierWait: _wait,
    MbarrierPendingCount: _pending,
    BulkCopy: _bulk_copy,
    BulkReduce: _bulk_reduce,
    TensorLoad: _tensor_load,
    TensorStore: _tensor_store,
    TensorReduce: _tensor_reduce,
    TensormapReplace: _replace,
    TensormapCopy: _tensormap_copy,
    AsyncStore: _async_store,
    AsyncReduce: _async_reduce,
    WarpgroupFence: _fence,
    WarpgroupMultiply: _multiply,
    TryCancel: _cancel,
    GridDependency: _grid,
}
