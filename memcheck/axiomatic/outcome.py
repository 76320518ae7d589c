"""What an engine finds for one structure under one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from memcheck.events.execution import Execution

State = tuple[int, ...]
"""Values of `test.observed`, in that order."""


VOIDING: Mapping[str, str] = {
    "mixed-size-race": "mixed-size-race",
    "readonly-write": "undefined-behaviour: a location read through the readonly proxy or .nc is written by the kernel",
    "mbarrier-bytes": "undefined-behaviour: the bytes of a live mbarrier are accessed as data",
    "exited-cta": "undefined-behaviour: shared memory of a CTA whose threads may all have exited",
    "barrier-rearrival": "undefined-behaviour: a warp arrives again before its generation is known to be over",
    "barrier-mismatch": "undefined-behaviour: operations that may meet on one barrier differ in count or mix red",
}
"""Flags of a model that void the verdict, with the text of the JSON `outside`."""


class Finding(NamedTuple):
    """A flag of the model (`name`, as the cat file says) with the events it is about, by index."""

    name: str
    events: tuple[int, ...]


class Hang(NamedTuple):
    """Threads that wait for ever in one consistent execution: indices into `structure.blocking`.

    `polled`: what the reads of the spins return at last, as far as it is known.
    """

    blocked: tuple[int, ...]
    polled: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """`states`: final states of ending, filtered executions, each with a witness where one was asked for.

    `flags` from ending executions, `hanging_flags` from those that hang, `outside`: rules that void the verdict.
    `bound_reached`: some consistent execution goes past a loop bound. `undecided`: why the answer is partial, or None.
    """

    states: Mapping[State, Execution | None]
    flags: tuple[Finding, ...] = ()
    hanging_flags: tuple[Finding, ...] = ()
    outside: tuple[Finding, ...] = ()
    hangs: tuple[Hang, ...] = ()
    bound_reached: bool = False
    undecided: str | None = None
    statistics: Mapping[str, int] = field(default_factory=dict)
