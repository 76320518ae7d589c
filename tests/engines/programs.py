"""Hypothesis strategies for small litmus tests: a few threads, a few features of the language each."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.engines import instructions as it
from tests.engines.instructions import Writer

Step = Callable[[st.DrawFn, Writer], None]

FEATURES: dict[str, tuple[Step, ...]] = {
    "sizes": (),
    "alias": (),
    "proxies": (it.proxy_access, it.proxy_access, it.proxy_access),
    "shared": (),
    "restricted": (),
    "barriers": (it.barrier, it.barrier, it.barrier),
    "clusters": (it.cluster_barrier, it.cluster_barrier),
    "warps": (it.warp_barrier, it.warp_barrier),
    "branches": (it.guarded, it.guarded, it.branch),
    "spins": (it.spin, it.spin),
    "loops": (it.loop,),
    "pointers": (it.pointer, it.pointer, it.element, it.element),
    "arithmetic": (it.arithmetic, it.arithmetic),
    "devices": (),
}
"""What a program may have beside loads, stores, atomics and fences, with the steps that it adds."""

_BASIC: tuple[Step, ...] = (it.load, it.load, it.store, it.store, it.atomic, it.reduction, it.fence, it.fence)
_NEEDS_LOADED = (it.guarded, it.branch, it.arithmetic)


@st.composite
def _places(draw: st.DrawFn, count: int, features: frozenset[str]) -> list[str]:
    """Of each thread where it is. One CTA where threads meet at a barrier, mostly."""
    if "warps" in features:
        return [f"cta 0, warp {0 if lane < 2 or draw(st.booleans()) else 1}, lane {lane}" for lane in range(count)]
    together = features & {"barriers", "shared"} and draw(st.integers(0, 3)) != 0
    ctas = [0 if together else draw(st.integers(0, 1 if count == 2 else 2)) for _ in range(count)]
    one_cluster = "clusters" in features or "restricted" in features or draw(st.booleans())
    result = []
    for cta in ctas:
        cluster = 0 if one_cluster else cta
        gpu = cluster if "devices" in features and not one_cluster else 0
        result.append(f"gpu {gpu}, cluster {cluster}, cta {cta}")
    return result


@st.composite
def _bodies(draw: st.DrawFn, length: int, features: frozenset[str]) -> list[str]:
    writer = Writer(features)
    steps: tuple[Step, ...] = _BASIC
    for feature in sorted(features):
        steps += FEATURES[feature]
    for _ in range(draw(st.integers(min(2, length), length))):
        step = draw(st.sampled_from(steps))
        if step in _NEEDS_LOADED and not writer.loaded:
            step = it.load
        step(draw, writer)
    return writer.lines


def _declarations(features: frozenset[str]) -> list[str]:
    lines = [".global .align 8 .b64 x = 0;" if "sizes" in features else ".global .u32 x = 0;", ".global .u32 y = 0;"]
    if "alias" in features:
        lines.append(".global .b64 z aliases x;" if "sizes" in features else ".global .u32 z aliases x;")
    if "shared" in features or "restricted" in features:
        lines.append(".shared .u32 s = 0;")
    if "proxies" in features:
        lines += ["te @ texture aliases x;", "su @ surface aliases x;", "co @ constant aliases x;"]
        lines += [".global .u32 n = 3;", ".const .u32 k = 4;"]
    if "pointers" in features:
        lines.append(".global .u32 a[2] = {0, 0};")
    return lines


@st.composite
def programs(draw: st.DrawFn, length: int = 4, features: frozenset[str] | None = None) -> str:
    """The text of a litmus test without a condition, so that all registers and variables are observed.

    `length`: steps of each of two threads, one fewer of each of three. `features`: None draws up to three.
    """
    if features is None:
        features = frozenset(draw(st.lists(st.sampled_from(sorted(FEATURES)), max_size=3)))
    if "restricted" in features:
        features |= {"shared"}
    if "sizes" in features:
        features -= {"proxies"}
    count = draw(st.sampled_from((2, 2, 3)))
    places = draw(_places(count, features))
    lines = ["PTX generated", "{", *(f"  {line}" for line in _declarations(features))]
    if "pointers" in features:
        for thread in range(count):
            lines += [f"  P{thread}:rd90 = &x; P{thread}:rd91 = &y; P{thread}:rd92 = &a;"]
    lines.append("}")
    for thread, place in enumerate(places):
        body = draw(_bodies(length if count == 2 else length - 1, features))
        lines += [f"P{thread} @ {place} {{", *(f"  {line}" for line in body), "}"]
    return "\n".join(lines) + "\n"
