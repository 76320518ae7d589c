"""A machine that runs litmus tests: threads, caches, barriers and copy engines, one step after another.

`Machine(test)` has an initial state and, for every state, the moves that are possible in it; each move gives the next
state. States are immutable values. What a thread does by itself, and nobody could forestall, is no move: `settle` does
it at once.

To add a unit:

1. Its own part of the state is an immutable, hashable value. A subclass of `units.Unit` gives the first one
   (`initial`), reads it (`part`) and replaces it (`State.with_unit`). `moves` lists what the unit can do by itself,
   `idle` says when nothing is left to do, `exited` what the exit of a thread brings about.
2. Instructions become `operations.Operation`s: a function (Lowering, instruction) that calls `lowering.source`,
   `target`, `address` for operands and `lowering.add` for each operation. `Operation.start` gives the state after the
   operation where it can be taken at once, or None; `Operation.moves` what can happen instead while the thread waits
   there. A `WindowOperation` puts an Entry into the thread's window and is performed later. `reads` and `writes` say
   which lines an operation may touch (-1: any); a unit's operations that start asynchronous accesses say -1.
3. `Memory` is the only way to memory: `read`, `write`, `update`, and for what is not a thread's `_put`. A move ends
   with `machine.settle(state, threads)` for the threads that may now go on.
4. `parts` has the tables: LOWERINGS, SIZES, UNITS.
"""

from memcheck.machine.explore import Reached, Runs, runs, simulate
from memcheck.machine.trace import TraceStep, trace

__all__ = ["Reached", "Runs", "TraceStep", "runs", "simulate", "trace"]
