"""What instructions on tensors and matrices do, by class; apart from `asynchronous`, as few tests have such."""

from __future__ import annotations

from memcheck.events import tensormaps, tensors, warpgroups
from memcheck.events.draft import Handler
from memcheck.ptx.asynchronous import WarpgroupFence, WarpgroupMultiply
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.tensors import TensorLoad, TensormapCopy, TensormapReplace, TensorReduce, TensorStore

HANDLERS: dict[type[Instruction], Handler] = {
    TensorLoad: tensors.load,
    TensorStore: tensors.store,
    TensorReduce: tensors.reduce,
    TensormapReplace: tensormaps.replace,
    TensormapCopy: tensormaps.copy,
    WarpgroupFence: warpgroups.fence,
    WarpgroupMultiply: warpgroups.multiply,
}
