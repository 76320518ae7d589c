"""The parts of the machine: which instruction becomes what, and which units there are.

A part adds the classes of its instructions to LOWERINGS, those that access memory by themselves to SIZES (their
addresses and the bytes that are never torn), and a function that makes its unit, or None for a test without it, to
UNITS.
"""

from __future__ import annotations

from collections.abc import Callable

from memcheck.language.test import Variable, VariableKind
from memcheck.machine import asynchronous as later
from memcheck.machine import barriers, clusters, collectives, grids, instructions, mbarriers, registers, staleness
from memcheck.machine.convergence import Convergence
from memcheck.machine.instructions import Sizes
from memcheck.machine.lowering import Lower
from memcheck.machine.machine import Machine
from memcheck.machine.stack import Stack
from memcheck.machine.units import Unit
from memcheck.machine.warps import INDEPENDENT, STACK
from memcheck.ptx import asynchronous
from memcheck.ptx import instructions as ptx

LOWERINGS: dict[type[ptx.Instruction], Lower] = {
    ptx.Load: instructions.load,
    ptx.Store: instructions.store,
    ptx.Atom: instructions.atom,
    ptx.Multimem: instructions.multimem,
    ptx.Barrier: barriers.barrier,
    ptx.WarpBarrier: barriers.warp_barrier,
    ptx.Collective: collectives.collective,
    asynchronous.GridDependency: grids.dependency,
    ptx.Arithmetic: registers.compute,
    ptx.Branch: registers.branch,
    ptx.Exit: registers.leave,
    ptx.Nop: registers.nop,
    **later.LOWERINGS,
}

SIZES: dict[type[ptx.Instruction], Sizes] = {
    ptx.Load: instructions.scalar,
    ptx.Store: instructions.scalar,
    ptx.Atom: instructions.scalar,
    ptx.Multimem: instructions.scalar,
    **later.SIZES,
}


def warps(machine: Machine) -> Unit | None:
    """How the lanes of a warp go on, for a test in which they could part."""
    unit = {INDEPENDENT: Convergence, STACK: Stack}[machine.scheduling](machine) if machine.scheduling else None
    return unit if unit is not None and unit.matters else None


UNITS: list[Callable[[Machine], Unit | None]] = [
    barriers.barriers,
    clusters.cluster_barriers,
    collectives.collectives,
    grids.grids,
    warps,
    later.engine,
    staleness.early,
]


def word(variable: Variable, number: int) -> int:
    """The initial value of one element of a variable, from the number in its declaration."""
    if variable.kind is VariableKind.MBARRIER:
        return mbarriers.Word(number, number).encode()
    return number
