"""Mutants that cannot change anything, each with the reason."""

from __future__ import annotations

_SC_PER_LOCATION = (
    "SC per location is implied: at one address program order, also after a morally strong reads-from, is causality "
    "(8.9.5), so that communication back against it breaks Causality (8.10.6) or Coherence (8.10.1); and so is each "
    "weaker, and each of these stronger, forms of it"
)
_BARRIER_WAIT = (
    "a wait that leads to an arrival of its own generation closes a cycle through syncbar: with a pattern in it it "
    "breaks Causality or Coherence where the pattern's read precedes its write, with a fence.sc Fence-SC, else "
    "No-thin-air; operations of one thread are in different generations (9.7.15.1)"
)
_WEAK_ENDS = (
    "a weak operation has no scope and is morally strong only within its thread (8.7), so observation leaves a weak "
    "write only through an atomic of that thread, whose own strong write makes the same pattern"
)
_RANGE = "what it is composed with, observation or a same-location step, has memory operations at that end already"
_RELAXED_ARRIVE = "clusterbar begins at arrives, and one that is not relaxed releases by itself (8.9.4 rule 3)"
_IN_CLUSTER = (
    "a cluster barrier, and an mbarrier and who waits for it, are in one cluster: the scope of "
    "each end includes the thread of the other"
)
_WEAK_ASYNCHRONOUS = (
    "an asynchronous operation is in no program order, so that a weak one is morally strong with nothing (8.7), and "
    "observation order neither begins nor ends there"
)
_ISSUED = "issue ends at events of asynchronous operations only"
_COMPLETED = "complete and grouped begin at accesses of asynchronous operations, complete ends at CT and AA"
_ASYNCHRONOUS_HEAD = (
    "of the events where issue ends only the writes of asynchronous releases are in REL, and they alone begin a "
    "pattern (8.8); a complete-tx releases by `notifies`"
)
_OWN_OBJECT = (
    "W0 is first in every order, and any other access of an mbarrier's bytes is in causality order with each write "
    "by operations on it, or the test is outside (flag mbarrier-bytes)"
)
_COUNTED = (
    "it begins at writes of operations on an mbarrier and ends at waits; an atomic on the bytes between them would be "
    "outside (flag mbarrier-bytes)"
)
_BEGINS_AT_FENCE = "its-memory and own-step both begin at the restricted release, and are used one behind the other"
_BEGINS_AT_PROXY_FENCE = "proxy-pair and its neighbours in rule-one-way name the same two fences"
_ONE_OBJECT = (
    "the two ends overlap (8.9.5), and a fence is for whole objects: where it is for the one end it is for the other"
)
_GRIDS_ANYWAY = (
    "acquired-by-proxy begins at PROXY_ACQ; behind a grid the async proxy needs no fence: rule-grids (8.9.4)"
)
_NO_COMMON_BYTES = (
    "what a release for the async proxy covers is shared memory, what an acquire for the tensormap proxy covers, global"
)
_READS_ONLY = "this proxy only reads, and no axiom and no race rests on how two reads are ordered (8.9.7, 8.7.1)"
_READONLY = "a location that is read through the readonly proxy and written at all is outside the model (ISA ld)"
_SCOPED = "only strong operations have a scope, but for fences that are no end of any pattern (8.5, 8.8)"
_FREE_CO = "co may leave pairs unordered, and an order that nothing asks for only forbids more (8.9.6)"
_CAUSAL_WRITES = (
    "only the order of overlapping writes is used, causality relates nothing that does not overlap, and a chain "
    "through reads is causality itself (8.9.5)"
)
_SAME_ATOMIC = (
    "the read and the write of an atomic have one thread, scope, proxy and address, so each filter does for both"
)
_SHARED_ENDS = "the two ends overlap (rules 1 to 3 of 8.9.5), so one is on shared memory if the other is"
_OVERLAP = "only memory operations overlap"
_ENDS_OVERLAP = "causality is used between overlapping operations only (8.9.6, 8.10.6, 8.7.1)"

IMPLIED: dict[str, str] = {
    "axiom Fence-SC": "a Fence-SC order against base causality only adds causality to that of an order along it, which "
    "always exists, as base causality without it has no cycle through a fence (8.9.3, 8.10.6)",
    "axiom SC-per-location": _SC_PER_LOCATION,
    "SC-per-location: without strong-communication": _SC_PER_LOCATION,
    "SC-per-location: without strong-communication; observes": _SC_PER_LOCATION,
    "strong-order: without M * M": _SC_PER_LOCATION,
    "strong-order: without strong-pair": _SC_PER_LOCATION,
    "strong-order: M * M with anything on its left": _SC_PER_LOCATION,
    "strong-order: M * M with anything on its right": _SC_PER_LOCATION,
    "strong-communication: without strong-pair": _SC_PER_LOCATION,
    "strong-communication: without from-read-order": _SC_PER_LOCATION,
    "strong-communication: without rf": _SC_PER_LOCATION,
    "strong-communication: without coherence": _SC_PER_LOCATION,
    "axiom Barrier-wait": _BARRIER_WAIT,
    "Barrier-wait: base-causality? never empty": _BARRIER_WAIT,
    "Barrier-wait: base-causality? always empty": _BARRIER_WAIT,
    "Barrier-wait: without [B]": "samegen relates barrier operations only",
    "fence: without PROXY_FENCE": "a proxy fence is in no set of .sem, nor in GEN, so in no pattern (8.8)",
    "release-fence: without ONE_WAY": "of the full fences only fence.release is in REL",
    "acquire-fence: without ONE_WAY": "of the full fences only fence.acquire is in ACQ",
    "strong-write: without W": _RANGE,
    "strong-write: without RLX | REL": _WEAK_ENDS,
    "strong-read: without R": _RANGE,
    "released-write: without [strong-write]": _WEAK_ENDS,
    "released-write: without W": _RANGE,
    "release-pattern: without [strong-write]": _WEAK_ENDS,
    "same-proxy: without RO * RO": _READS_ONLY,
    "same-proxy: without CON * CON": _READS_ONLY,
    "same-proxy: without TEX * TEX": _READS_ONLY,
    "same-proxy: RO * RO with anything on its left": _READONLY,
    "same-proxy: RO * RO with anything on its right": _READONLY,
    "morally-strong: without po^-1": "reads-from, coherence and from-read run along program order, or break Causality "
    "or Coherence; and a race's other direction is excused by causality",
    "morally-strong: without [strong]": _SCOPED,
    "morally-strong: without [strong] (2)": _SCOPED,
    "cluster-synchronizes: without [B & RLX]": _RELAXED_ARRIVE,
    "cluster-synchronizes: without B": _RELAXED_ARRIVE,
    "cluster-synchronizes: without RLX": _RELAXED_ARRIVE,
    "restricted-release: without F": "only fences are RESTRICTED",
    "restricted-acquire: without F": "only fences are RESTRICTED",
    "restricted-acquire: without RESTRICTED": "an acquire fence without restriction ends an acquire pattern anyway",
    "restricted-causality: without [SHARED]": _SHARED_ENDS,
    "restricted-causality: without [SHARED] (2)": _SHARED_ENDS,
    "alias-path: without [SHARED]": _SHARED_ENDS,
    "alias-path: without [SHARED] (2)": _SHARED_ENDS,
    "generic: without M": _OVERLAP,
    "own-fence: without [M]": _OVERLAP,
    "rule-3: without overlap": _ENDS_OVERLAP,
    "same-bytes: without overlap": _ENDS_OVERLAP,
    "rule-one-way: without overlap": _ENDS_OVERLAP,
    "rule-grids: without overlap": _ENDS_OVERLAP,
    "rule-grids: M * (M \\ TMAP) with anything on its left": _OVERLAP,
    "coherence: without strong-pair | IW * W": _FREE_CO,
    "coherence: IW * W with anything on its left": _FREE_CO,
    "coherence: IW * W with anything on its right": _FREE_CO,
    "coherence: W * W with anything on its left": _CAUSAL_WRITES,
    "coherence: W * W with anything on its right": _CAUSAL_WRITES,
    "coherence: without overlap": _CAUSAL_WRITES,
    "awaited: without [WAIT]": "syncbar, warpbar, clusterbar and exited all end at waits",
    "conflict: W * M with anything on its right": _OVERLAP,
    "race: without loc | of-copy": "a race of partly different bytes is outside the model and voids all flags (8.7.2)",
    "same-proxy: without TMAP * TMAP": _READS_ONLY,
    "same-proxy: TMAP * TMAP with anything on its right": "a copy that writes a tensor map is not supported, and what "
    "a generic write follows is the completion of the read, which rule-completion orders too",
    "mbarrier-operations: MBAR * MBAR with anything on its right": _OWN_OBJECT,
    "asynchronous-write: without ASYNCHRONOUS": _ISSUED,
    "asynchronous-write: without strong-write": _WEAK_ASYNCHRONOUS,
    "asynchronous-read: without \\ MBAR": _COMPLETED,
    "asynchronous-read: without ASYNCHRONOUS": _COMPLETED,
    "asynchronous-read: without strong-read": _WEAK_ASYNCHRONOUS,
    "acquire-pattern: without [asynchronous-read]": "observation ends at reads and at no weak asynchronous one, and "
    "complete and grouped begin at no operation on an mbarrier",
    "asynchronous-release: without [W & REL & ASYNCHRONOUS]": _ASYNCHRONOUS_HEAD,
    "asynchronous-release: without ASYNCHRONOUS": _ISSUED,
    "asynchronous-release: without W": _ASYNCHRONOUS_HEAD,
    "asynchronous-release: without REL": _ASYNCHRONOUS_HEAD,
    "not-first: LAUNCH * LAUNCH with anything on its left": "not-first is only taken from LAUNCH",
    "base-causality: without within": "the read and the write of an asynchronous atomic are in program order, and "
    "other events of one operation share no bytes: a copy into its own descriptor is not supported",
    "restricted-step: without ASYNCHRONOUS": _ISSUED,
    "restricted-step: without W": "an asynchronous operation's events in REL are writes",
    "restricted-notifies: without sr": _IN_CLUSTER,
    "restricted-notifies: without [CT | AA]": _COMPLETED,
    "own-step: without [strong-write]": _WEAK_ENDS,
    "own-step: without [restricted-release]": _BEGINS_AT_FENCE,
    "own-step: without [restricted-release] (2)": _BEGINS_AT_FENCE,
    "its-memory: without [restricted-release]": _BEGINS_AT_FENCE,
    "own-step: without sr": _IN_CLUSTER,
    "own-step: without [B & RLX]": _RELAXED_ARRIVE,
    "own-step: without B": _RELAXED_ARRIVE,
    "own-step: without RLX": _RELAXED_ARRIVE,
    "init-released: without [B & RLX]": _RELAXED_ARRIVE,
    "init-released: without B": _RELAXED_ARRIVE,
    "init-released: without RLX": _RELAXED_ARRIVE,
    "init-released: without [strong-write]": _WEAK_ENDS,
    "init-path: without [MBAR]": _OWN_OBJECT,
    "alias-path: without its-memory": _ONE_OBJECT,
    "alias-path: without its-memory^-1": _ONE_OBJECT,
    "async-fence: without PROXY_FENCE": "covers begins at fences",
    "for-own: without for-both": _ONE_OBJECT,
    "async-entering: without for-both": _ONE_OBJECT,
    "async-entering: without for-both^-1": _ONE_OBJECT,
    "proxy-synchronizes: without [strong-write]": _WEAK_ENDS,
    "proxy-synchronizes: without [B & RLX]": _RELAXED_ARRIVE,
    "proxy-synchronizes: without B": _RELAXED_ARRIVE,
    "proxy-synchronizes: without RLX": _RELAXED_ARRIVE,
    "proxy-synchronizes: without ASYNCHRONOUS": _ISSUED,
    "proxy-synchronizes: without W": "an asynchronous operation's events in REL are writes",
    "proxy-pair: without [PROXY_ACQ]": _BEGINS_AT_PROXY_FENCE,
    "proxy-pair: without [PROXY_REL]": _BEGINS_AT_PROXY_FENCE,
    "released-to-proxy: without [PROXY_REL]": _BEGINS_AT_PROXY_FENCE,
    "acquired-by-proxy: without [PROXY_ACQ]": _BEGINS_AT_PROXY_FENCE,
    "proxy-pair: ASYNC * ASYNC with anything on its right": _NO_COMMON_BYTES,
    "proxy-pair: TMAP * TMAP with anything on its left": _NO_COMMON_BYTES,
    "rule-one-way: without [PROXY_ACQ & TMAP]": _GRIDS_ANYWAY,
    "rule-one-way: without PROXY_ACQ": _GRIDS_ANYWAY,
    "rule-one-way: without TMAP (2)": _GRIDS_ANYWAY,
    "rule-completion: (ASYNC | TMAP) * GEN with anything on its left": "what is asynchronous and of neither proxy is "
    "generic, and rules 1 and 3 order that after the same paths",
    "rule-completion: without [SHARED]": _SHARED_ENDS,
    "rule-completion: without [SHARED] (2)": _SHARED_ENDS,
    "counted: without MBAR * MBAR": _COUNTED,
    "counted: MBAR * MBAR with anything on its left": _COUNTED,
    "counted: MBAR * MBAR with anything on its right": _COUNTED,
    "unheard: without AA": "cp.async.mbarrier.arrive is for an object of the own CTA, where all who wait for it are",
    "unheard: without ARRIVE": "of the operations on an mbarrier only arrivals are in REL",
    "happens-before: without grouped": "a copy that reads a remote store may as well read what was there before, "
    "unless the CTA that has the bytes depends on it, through what the copy wrote: within",
    "race-across-proxies: without \\ generic * generic & voverlap": "generic accesses of common bytes at one address "
    "that are in base causality are in causality, by rule 1, and so in no race",
    "RMW-atomicity: without strong-pair": _SAME_ATOMIC,
    "RMW-atomicity: without strong-pair (2)": _SAME_ATOMIC,
}
"""By description. A mutant listed here that some test notices is a fault, as is one that does not exist."""
