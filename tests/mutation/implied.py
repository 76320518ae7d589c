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
    "rule-3: without overlap": "causality is used between overlapping operations only (8.9.6, 8.10.6, 8.7.1)",
    "coherence: without strong-pair | IW * W": _FREE_CO,
    "coherence: IW * W with anything on its left": _FREE_CO,
    "coherence: IW * W with anything on its right": _FREE_CO,
    "coherence: without W * W": _CAUSAL_WRITES,
    "coherence: W * W with anything on its left": _CAUSAL_WRITES,
    "coherence: W * W with anything on its right": _CAUSAL_WRITES,
    "coherence: without overlap": _CAUSAL_WRITES,
    "awaited: without [WAIT]": "syncbar, warpbar, clusterbar and exited all end at waits",
    "conflict: W * M with anything on its right": _OVERLAP,
    "race: without loc": "a race of partly different bytes is outside the model, which voids all flags (8.7.2)",
    "RMW-atomicity: without strong-pair": _SAME_ATOMIC,
    "RMW-atomicity: without strong-pair (2)": _SAME_ATOMIC,
}
"""By description. A mutant listed here that some test notices is a fault, as is one that does not exist."""
