"""What the asynchronous instructions do, by class; a module of its own, as most tests have none."""

from __future__ import annotations

from memcheck.events import bulk, copies, grids, groups, launches, mbarriers, stores
from memcheck.events.draft import Handler
from memcheck.ptx import asynchronous as ptx
from memcheck.ptx.instructions import Instruction

HANDLERS: dict[type[Instruction], Handler] = {
    ptx.MbarrierInit: mbarriers.init,
    ptx.MbarrierInval: mbarriers.inval,
    ptx.MbarrierTransaction: mbarriers.transaction,
    ptx.MbarrierArrive: mbarriers.arrive,
    ptx.MbarrierWait: mbarriers.wait,
    ptx.MbarrierPendingCount: mbarriers.pending_count,
    ptx.CommitGroup: groups.commit,
    ptx.WaitGroup: groups.wait,
    ptx.WaitAll: groups.wait_all,
    ptx.GridDependency: grids.dependency,
    ptx.CopyAsync: copies.copy,
    ptx.CopyArrive: copies.arrive,
    ptx.BulkCopy: bulk.copy,
    ptx.BulkReduce: bulk.reduce,
    ptx.AsyncStore: stores.store,
    ptx.AsyncReduce: stores.reduce,
    ptx.TryCancel: launches.cancel,
}
