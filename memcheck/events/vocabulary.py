"""The base sets and relations that a cat file may name: one table for the cat checker, the engines and the docs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from memcheck.relations.expression import ExprKind


class Source(Enum):
    """What decides a base set or relation. In an execution all of them hold between executed events only."""

    PROGRAM = "program"
    """The event structure alone."""
    ADDRESS = "address"
    """The addresses of the events (constant in most tests)."""
    VALUE = "value"
    """What reads return."""
    CHOICE = "choice"
    """A choice of the execution."""


@dataclass(frozen=True, slots=True)
class Name:
    """One base name. `meaning` is a sentence for docs/model.md."""

    kind: ExprKind
    source: Source
    meaning: str


_SET, _REL = ExprKind.SET, ExprKind.RELATION
_P, _A, _V, _C = Source.PROGRAM, Source.ADDRESS, Source.VALUE, Source.CHOICE

VOCABULARY: dict[str, Name] = {
    "_": Name(_SET, _P, "all events"),
    "W": Name(_SET, _P, "writes, the initial write W0 among them"),
    "R": Name(_SET, _P, "reads"),
    "M": Name(_SET, _P, "memory operations: R | W"),
    "F": Name(_SET, _P, "fences: memory fences and proxy fences"),
    "B": Name(_SET, _P, "barrier operations: bar, barrier.cluster, bar.warp.sync"),
    "WAIT": Name(_SET, _P, "barrier operations that wait: bar.sync, bar.red, barrier.cluster.wait, bar.warp.sync"),
    "IW": Name(_SET, _P, "the initial write W0"),
    "RMW": Name(_SET, _P, "the reads and writes of atomics"),
    "RED": Name(_SET, _P, "the reads and writes of reductions (red), subset of RMW"),
    "WEAK": Name(_SET, _P, "weak memory operations"),
    "RLX": Name(_SET, _P, "relaxed operations: memory operations, and barrier.cluster.arrive.relaxed"),
    "ACQ": Name(_SET, _P, "acquire reads, acquire fences (fence.acquire), barrier.cluster.wait"),
    "REL": Name(_SET, _P, "release writes, release fences (fence.release), barrier.cluster.arrive.release"),
    "ACQ_REL": Name(_SET, _P, "fence.acq_rel (an atom.acq_rel is an ACQ read and a REL write)"),
    "SC": Name(_SET, _P, "fence.sc; not in ACQ_REL"),
    "CTA": Name(_SET, _P, "operations of scope .cta"),
    "CLUSTER": Name(_SET, _P, "operations of scope .cluster"),
    "GPU": Name(_SET, _P, "operations of scope .gpu"),
    "SYS": Name(_SET, _P, "operations of scope .sys"),
    "GEN": Name(_SET, _P, "generic proxy: memory operations and memory fences; not W0"),
    "TEX": Name(_SET, _P, "texture proxy: accesses and fence.proxy.texture"),
    "SUR": Name(_SET, _P, "surface proxy: accesses and fence.proxy.surface"),
    "CON": Name(_SET, _P, "constant proxy: accesses and fence.proxy.constant"),
    "ALIAS": Name(_SET, _P, "fence.proxy.alias"),
    "RO": Name(_SET, _P, "reads through the readonly proxy, and ld.global.nc"),
    "PROXY_FENCE": Name(_SET, _P, "all proxy fences"),
    "ONE_WAY": Name(_SET, _P, "memory fences of one direction: fence.acquire, fence.release"),
    "RESTRICTED": Name(_SET, _P, "fences with .sync_restrict"),
    "MBARRIER_INIT": Name(_SET, _P, "fence.mbarrier_init"),
    "VOLATILE": Name(_SET, _P, "volatile operations, which are also RLX and SYS"),
    "MMIO": Name(_SET, _P, "mmio operations"),
    "ASYNC": Name(_SET, _P, "async proxy: accesses and fence.proxy.async of every form"),
    "TMAP": Name(_SET, _P, "tensormap proxy: reads of tensor maps by copies, and fence.proxy.tensormap"),
    "PROXY_REL": Name(_SET, _P, "proxy fences that only release: fence.proxy.…::generic.release"),
    "PROXY_ACQ": Name(_SET, _P, "proxy fences that only acquire: fence.proxy.…::generic.acquire"),
    "ASYNCHRONOUS": Name(_SET, _P, "all events of asynchronous operations, which are in no program order (8.9.1.1)"),
    "PIECE": Name(_SET, _P, "accesses of weak copies, which are as many as anyone can tell apart"),
    "MBAR": Name(_SET, _P, "reads and writes of operations on mbarriers"),
    "INIT": Name(_SET, _P, "the writes of mbarrier.init"),
    "INVAL": Name(_SET, _P, "the writes of mbarrier.inval"),
    "TEST": Name(_SET, _P, "the reads of mbarrier.test_wait and try_wait"),
    "ARRIVE": Name(_SET, _P, "the writes of operations that arrive on an mbarrier"),
    "CT": Name(_SET, _P, "the writes of the complete-tx that are part of asynchronous operations"),
    "AA": Name(_SET, _P, "the writes of the arrive-on of cp.async.mbarrier.arrive"),
    "GROUP_WAIT": Name(_SET, _P, "waits for groups: cp.async.wait_group and wait_all, of cp.async.bulk, of wgmma"),
    "NO_GROUP": Name(_SET, _P, "those of them before which the thread commits no group"),
    "GRID_WAIT": Name(_SET, _P, "griddepcontrol.wait"),
    "LAUNCH": Name(_SET, _P, "griddepcontrol.launch_dependents"),
    "TRUE": Name(_SET, _V, "test_wait and try_wait that return true"),
    "FLIP": Name(_SET, _V, "writes to an mbarrier that complete its phase"),
    "LAPPED": Name(_SET, _V, "test_wait and try_wait that find their phase two phases behind"),
    "UNENDED": Name(_SET, _C, "events of threads that never end"),
    "REMOTE": Name(_SET, _A, "memory operations on the shared memory of a CTA that is not the executing thread's"),
    "SHARED": Name(_SET, _A, "memory operations on shared memory, of whatever CTA"),
    "po": Name(
        _REL,
        _P,
        "program order, transitive, within a thread; not of vector elements of one access, nor of asynchronous events",
    ),
    "rmw": Name(_REL, _P, "the read of an atomic to its write"),
    "id": Name(_REL, _P, "identity"),
    "int": Name(_REL, _P, "events of the same thread (W0 is in none)"),
    "ext": Name(_REL, _P, "events of different threads; W0 is external to all"),
    "sr": Name(_REL, _P, "both have a scope that includes the thread of the other; not W0"),
    "scta": Name(_REL, _P, "executed in the same CTA, or asynchronously on shared memory of it; not W0"),
    "issue": Name(_REL, _P, "what precedes an asynchronous operation in its thread, to each event of the operation"),
    "within": Name(_REL, _P, "the order inside one operation: a read and the write of what it read"),
    "complete": Name(_REL, _P, "an asynchronous access to the write of the complete-tx or arrive-on that reports it"),
    "grouped": Name(_REL, _V, "an asynchronous access to a wait that covers its group; a .read covers only reads"),
    "grid": Name(
        _REL,
        _P,
        "events in program order of a grid to all of a grid that starts after it has ended; "
        "all events of a grid to the griddepcontrol.wait of a dependent one",
    ),
    "launch": Name(_REL, _P, "griddepcontrol.launch_dependents to the events of the dependent grids"),
    "dependents": Name(_REL, _P, "events of a grid to those of the grids that depend on it programmatically"),
    "covers": Name(_REL, _A, "a fence to the memory operations on objects that it is for: of its space, of its bytes"),
    "home": Name(_REL, _A, "REMOTE operations to the events in program order of threads of the CTA that has the bytes"),
    "addr": Name(_REL, _P, "syntactic address dependency, from a read"),
    "data": Name(_REL, _P, "syntactic data dependency, from a read to a write"),
    "ctrl": Name(_REL, _P, "syntactic control dependency, from a read to all that follows a branch on it"),
    "dep": Name(
        _REL,
        _P,
        "semantic dependency (8.10.4): a write or barrier whose address, value or execution really changes "
        "over the values that the read can have",
    ),
    "loc": Name(_REL, _A, "memory operations on exactly the same bytes; W0 with every memory operation"),
    "vloc": Name(_REL, _A, "loc, and at the same virtual address; W0 with every memory operation"),
    "overlap": Name(_REL, _A, "memory operations that share a byte; W0 with every memory operation"),
    "voverlap": Name(_REL, _A, "memory operations that share a byte at the same virtual address; W0 with every one"),
    "po-loc": Name(_REL, _A, "po & loc"),
    "rf": Name(_REL, _C, "a write to a read that returns a byte of it"),
    "co": Name(
        _REL, _C, "a strict partial order between overlapping writes, W0 first: any two of them may be unordered"
    ),
    "fr": Name(_REL, _C, "from-read(co)"),
    "sync_fence": Name(_REL, _C, "a total order of all fence.sc, restricted to those in sr or of one thread"),
    "syncbar": Name(_REL, _C, "CTA barriers: an arrival to each other operation that waits for its generation"),
    "warpbar": Name(_REL, _C, "bar.warp.sync: each to every other of its generation"),
    "clusterbar": Name(_REL, _C, "barrier.cluster: an arrive to each wait of its generation"),
    "bar-before": Name(_REL, _C, "barrier operations on one barrier, the first of an earlier generation"),
    "exited": Name(
        _REL,
        _C,
        "events in program order of a thread that a generation did not count, as it had exited, to its waits",
    ),
    "rearrive": Name(_REL, _C, "bar.arrive to the next operation on the same CTA barrier by the same warp"),
    "mismatch": Name(
        _REL,
        _C,
        "operations of different threads that may be on one CTA barrier with different counts, or one of them a "
        "bar.red and the other none; both ways",
    ),
    "samegen": Name(_REL, _C, "two operations of one generation of a CTA barrier, either way, and each to itself"),
}
