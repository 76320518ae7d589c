"""Litmus texts for the tests whose state sets are worked out by hand.

Threads are in CTAs of their own on one GPU and everything starts at 0 unless a test says otherwise. "Any" in a
derivation means that nothing relates the accesses, so that a read returns the initial value or any overlapping write.
"""

from __future__ import annotations

from itertools import product


def litmus(*threads: str, init: str = "", end: str = "", places: tuple[str, ...] | None = None) -> str:
    """A test in blocks; `places` defaults to one CTA a thread."""
    heads = places or tuple(f"P{i} @ cta {i}, gpu 0" for i in range(len(threads)))
    blocks = "\n".join(f"{head} {{ {body} }}" for head, body in zip(heads, threads))
    return f"PTX hand\n{{ {init} }}\n{blocks}\n{end}"


def observing(*terms: str) -> str:
    """What the final states are over."""
    return f"locations [{'; '.join(terms)}]"


WRITER = "st.weak.u32 [x], 1; st.release.gpu.u32 [f], 1;"
READER = "ld.acquire.gpu.u32 r0, [f]; ld.weak.u32 r1, [x];"
MP = observing("P1:r0", "P1:r1")
ONE_CTA = ("P0 @ cta 0", "P1 @ cta 0")
R0 = observing("P1:r0")

SYNCHRONIZED = {(0, 0), (0, 1), (1, 1)}
"""MP's (flag, data) where the writer synchronizes with the reader.

If r0 = 1 the release pattern of P0 (8.8, release 1) synchronizes with the acquire pattern of P1 (acquire 1), since the
two flag accesses are morally strong. Then W x is causality-before R x (8.9.5) and R x cannot return W0, which is
coherence-before W x (8.10.6.2). If r0 = 0 nothing relates the x accesses: any.
"""
ANY = set(product((0, 1), repeat=2))
