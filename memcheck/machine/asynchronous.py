"""The tables of the asynchronous instructions, as in `parts`."""

from __future__ import annotations

from memcheck.machine import bulk, copies, descriptors, mbarriers, proxies, staleness, tensors
from memcheck.machine.engine import Engine
from memcheck.machine.instructions import Sizes
from memcheck.machine.lowering import Lower
from memcheck.machine.machine import Machine
from memcheck.ptx import asynchronous as ptx
from memcheck.ptx import tensors as tensor
from memcheck.ptx.instructions import Instruction, ProxyFence

TRANSFERS: dict[type[Instruction], Lower] = {
    ptx.CopyAsync: copies.copy,
    ptx.CopyArrive: copies.arrive,
    ptx.BulkCopy: bulk.copy,
    ptx.BulkReduce: bulk.reduce,
    ptx.AsyncStore: bulk.store,
    ptx.AsyncReduce: bulk.red,
    ptx.TryCancel: bulk.cancel,
    tensor.TensorLoad: tensors.load,
    tensor.TensorStore: tensors.store,
    tensor.TensorReduce: tensors.reduce,
}
"""What starts commands of the engine."""

LOWERINGS: dict[type[Instruction], Lower] = {
    **TRANSFERS,
    ptx.CommitGroup: copies.commit,
    ptx.WaitGroup: copies.wait,
    ptx.WaitAll: copies.wait_all,
    ptx.MbarrierInit: mbarriers.init,
    ptx.MbarrierInval: mbarriers.inval,
    ptx.MbarrierTransaction: mbarriers.transaction,
    ptx.MbarrierArrive: mbarriers.arrive,
    ptx.MbarrierPendingCount: mbarriers.pending_count,
    ptx.WarpgroupFence: descriptors.nothing,
    ptx.WarpgroupMultiply: descriptors.nothing,
    tensor.TensormapReplace: descriptors.replace,
    tensor.TensormapCopy: descriptors.copy,
    ProxyFence: proxies.fence,
    **staleness.LOWERINGS,
}

SIZES: dict[type[Instruction], Sizes] = {
    **dict.fromkeys(LOWERINGS, mbarriers.sizes),
    ptx.BulkCopy: bulk.sizes,
    ptx.BulkReduce: bulk.sizes,
    ptx.AsyncStore: bulk.sizes,
    ptx.AsyncReduce: bulk.sizes,
    tensor.TensorLoad: tensors.sizes,
    tensor.TensorStore: tensors.sizes,
    tensor.TensorReduce: tensors.sizes,
    tensor.TensormapReplace: descriptors.sizes,
    tensor.TensormapCopy: descriptors.sizes,
}


def engine(machine: Machine) -> Engine | None:
    """The unit, for a test with copies that complete later."""
    some = any(type(i) in TRANSFERS for t in machine.test.threads for i in t.body)
    return Engine(machine) if some else None
