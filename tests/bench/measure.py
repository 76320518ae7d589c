"""CPU time, how it is printed, and what counts as asynchronous."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from memcheck.events.structure import Structure

BOUND = 4
_ASYNCHRONOUS = {"MBAR", "GROUP_WAIT", "GRID_WAIT", "LAUNCH"}


def cpu(work: Callable[[Any], object], argument: object) -> float:
    gc.collect()
    gc.freeze()  # what stays is not looked at again: a collection would cost more than most of what is measured
    started = time.process_time()
    work(argument)
    return time.process_time() - started


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def is_asynchronous(structure: Structure) -> bool:
    """Whether it has asynchronous operations, mbarriers, waits for groups or grids in an order."""
    return bool(structure.operations or structure.grids) or any(
        event.tags & _ASYNCHRONOUS for event in structure.events
    )
