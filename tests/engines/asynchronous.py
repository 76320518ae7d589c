"""Hypothesis strategies for small tests with asynchronous copies, mbarriers, clusters and grids.

Two or three threads; `s` and `t` are shared, `g` and `o` global, `bar` is an mbarrier, `x` an ordinary word. Bodies are
short, as brute force takes part; what a step needs (a phase to wait for, bytes expected) is mostly there, not always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

SMALL = st.sampled_from((1, 2))
SIZES = {"s": "shared", "t": "shared", "g": "global", "o": "global"}


@dataclass(slots=True)
class Body:
    """One thread as it is written. `peer`: the number of another CTA of its cluster, None where there is none."""

    features: frozenset[str]
    thread: int
    peer: int | None
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def add(self, *lines: str) -> None:
        self.lines += lines

    def mapped(self, name: str) -> str:
        """A register with the peer's address of a shared variable."""
        register = self.new("r4")
        self.add(f"mapa.shared::cluster.u32 {register}, {name}, {self.peer};")
        return register


Step = Callable[[st.DrawFn, Body], None]


# ---- ordinary accesses and fences


def load(draw: st.DrawFn, body: Body) -> None:
    name, sem = draw(_memory(body)), draw(st.sampled_from(("weak", "weak", "weak", "relaxed.gpu", "acquire.cluster")))
    body.add(f"ld.{sem}.{SIZES[name]}.u32 {body.new('r')}, [{name}];")


def store(draw: st.DrawFn, body: Body) -> None:
    name, sem = draw(_memory(body)), draw(st.sampled_from(("weak", "weak", "weak", "relaxed.gpu", "release.cluster")))
    body.add(f"st.{sem}.{SIZES[name]}.u32 [{name}], {draw(SMALL)};")


@st.composite
def _memory(draw: st.DrawFn, body: Body) -> str:
    names = ["s", "s", "s", "g"]
    if "stores" in body.features:
        names += ["o", "o"]
    if "remote" in body.features:
        names += ["t"]
    return draw(st.sampled_from(names))


def flag_store(draw: st.DrawFn, body: Body) -> None:
    body.add(f"st.{draw(st.sampled_from(('relaxed', 'release')))}.gpu.global.u32 [x], 1;")


def flag_load(draw: st.DrawFn, body: Body) -> None:
    body.add(f"ld.{draw(st.sampled_from(('relaxed', 'acquire')))}.gpu.global.u32 {body.new('r')}, [x];")


def fence(draw: st.DrawFn, body: Body) -> None:
    kinds = ["fence.acq_rel.gpu;", "fence.sc.cluster;"]
    if body.features & {"bulk", "stores"}:
        kinds += ["fence.proxy.async;"] * 2 + ["fence.proxy.async.shared::cta;"] * 2 + ["fence.proxy.async.global;"]
    body.add(draw(st.sampled_from(kinds)))


def meeting(draw: st.DrawFn, body: Body) -> None:
    """A barrier of the CTA, or of the cluster."""
    if body.peer is None:
        body.add("bar.sync 0;")
        return
    body.add(
        draw(st.sampled_from(("barrier.cluster.arrive;", "barrier.cluster.arrive.relaxed;"))), "barrier.cluster.wait;"
    )


# ---- mbarriers


def arrive(draw: st.DrawFn, body: Body) -> None:
    forms = [
        "mbarrier.arrive.shared::cta.b64 _, [bar];",
        "mbarrier.arrive.shared::cta.b64 _, [bar];",
        "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];",
        "mbarrier.arrive.release.cluster.shared::cta.b64 _, [bar];",
        "mbarrier.arrive.shared::cta.b64 _, [bar], 2;",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;",
        "mbarrier.arrive_drop.shared::cta.b64 _, [bar];",
    ]
    if body.features & {"bulk", "remote"}:
        forms += [forms[5]] * 6
    body.add(draw(st.sampled_from(forms)))


def transactions(draw: st.DrawFn, body: Body) -> None:
    kind, count = draw(st.sampled_from(("expect_tx", "expect_tx", "complete_tx"))), draw(st.sampled_from((4, 16, 16)))
    body.add(f"mbarrier.{kind}.relaxed.cta.shared::cta.b64 [bar], {count};")


def wait(draw: st.DrawFn, body: Body) -> None:
    """A spin, mostly, for a parity or a state."""
    sem = draw(st.sampled_from(("", "", "", ".relaxed.cta", ".acquire.cluster", ".acquire.cluster")))
    kind, parity = draw(st.integers(0, 5)), draw(st.sampled_from((0, 0, 0, 1)))
    predicate = body.new("p")
    if kind == 0:
        body.add(f"mbarrier.test_wait.parity{sem}.shared::cta.b64 {predicate}, [bar], {parity};")
        if draw(st.booleans()):
            mark = len(body.lines)
            draw(st.sampled_from((load, store, arrive)))(draw, body)
            body.lines[mark] = f"@{predicate} {body.lines[mark]}"
        return
    if kind == 1:
        state = body.new("rd")
        body.add(f"mbarrier.arrive.shared::cta.b64 {state}, [bar];")
        if draw(st.booleans()):
            body.add(f"mbarrier.test_wait{sem}.shared::cta.b64 {predicate}, [bar], {state};")
            return
        form, operand = "", state
    else:
        form, operand = ".parity", str(parity)
    label = body.new("L")
    body.add(
        f"{label}:",
        f"mbarrier.try_wait{form}{sem}.shared::cta.b64 {predicate}, [bar], {operand};",
        f"@!{predicate} bra {label};",
    )


def lifetime(draw: st.DrawFn, body: Body) -> None:
    """inval, init, and the fence that may publish it."""
    body.add("mbarrier.inval.shared::cta.b64 [bar];")
    if draw(st.booleans()):
        body.add(f"mbarrier.init.shared::cta.b64 [bar], {draw(SMALL)};")
        if draw(st.booleans()):
            body.add("fence.mbarrier_init.release.cluster;")


# ---- copies


def copy(draw: st.DrawFn, body: Body) -> None:
    """cp.async: a group's, or reported to the mbarrier."""
    kind = draw(st.integers(0, 4)) if "mbarrier" in body.features else draw(st.integers(2, 4))
    place = draw(st.sampled_from(("s", "s", "s+4")))
    body.add(f"cp.async.ca.shared.global [{place}], [g], 4;")
    match kind:
        case 0:
            body.add("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];")
        case 1:
            body.add("cp.async.mbarrier.arrive.shared::cta.b64 [bar];")
        case 2:
            body.add("cp.async.commit_group;")


def copy_wait(draw: st.DrawFn, body: Body) -> None:
    forms = ["cp.async.wait_group 0;", "cp.async.wait_group 0;", "cp.async.wait_group 1;", "cp.async.wait_all;"]
    body.add(draw(st.sampled_from(forms)))


def bulk(draw: st.DrawFn, body: Body) -> None:
    """From global to shared memory, reported to the mbarrier, which mostly expects it."""
    if draw(st.integers(0, 2)) != 0:
        body.add("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;")
    sem, type_ = draw(st.sampled_from((("", ""), ("", ""), ("", ""), (".relaxed.gpu", ".b128"))))
    complete = "mbarrier::complete_tx::bytes"
    if body.peer is None or draw(st.booleans()):
        body.add(f"cp.async.bulk{sem}.shared::cta.global.{complete}{type_} [s], [g], 16, [bar];")
    elif draw(st.booleans()):
        mask = draw(st.sampled_from((3, 3, 1 << body.peer)))
        body.add(f"cp.async.bulk.shared::cluster.global.{complete}.multicast::cluster [s], [g], 16, [bar], {mask};")
    else:
        target, bar = body.mapped("s"), body.mapped("bar")
        body.add(f"cp.async.bulk.shared::cluster.global.{complete} [{target}], [g], 16, [{bar}];")


def bulk_store(draw: st.DrawFn, body: Body) -> None:
    """From shared to global memory, in a group, perhaps with the commit and the wait."""
    form = draw(st.sampled_from(("copy", "copy", "copy", "relaxed", "add")))
    match form:
        case "copy":
            body.add("cp.async.bulk.global.shared::cta.bulk_group [o], [s], 16;")
        case "relaxed":
            body.add("cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [o], [s], 16;")
        case _:
            body.add("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [o], [s], 16;")
    if draw(st.integers(0, 4)) != 0:
        body.add("cp.async.bulk.commit_group;")


def bulk_wait(draw: st.DrawFn, body: Body) -> None:
    forms = ["cp.async.bulk.wait_group 0;"] * 3 + ["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 1;"]
    body.add(draw(st.sampled_from(forms)))


# ---- the peer CTA


def remote(draw: st.DrawFn, body: Body) -> None:
    """An access to the peer's memory, an arrival on its mbarrier, st.async, red.async, a copy into it."""
    kind = draw(st.sampled_from(("store", "load", "arrive", "arrive", "st.async", "st.async", "red.async", "copy")))
    complete = "mbarrier::complete_tx::bytes"
    if kind == "arrive":
        sem = draw(st.sampled_from(("", ".release.cluster", ".release.cluster", ".relaxed.cluster")))
        body.add(f"mbarrier.arrive{sem}.shared::cluster.b64 _, [{body.mapped('bar')}];")
        return
    place = body.mapped("s" if kind == "copy" else draw(st.sampled_from(("s", "t"))))
    match kind:
        case "store":
            sem = draw(st.sampled_from(("weak", "relaxed.cluster", "release.cluster")))
            body.add(f"st.{sem}.shared::cluster.u32 [{place}], {draw(SMALL)};")
        case "load":
            sem = draw(st.sampled_from(("weak", "relaxed.cluster", "acquire.cluster")))
            body.add(f"ld.{sem}.shared::cluster.u32 {body.new('r')}, [{place}];")
        case "st.async":
            body.add(f"st.async.shared::cluster.{complete}.u32 [{place}], {draw(SMALL)}, [{body.mapped('bar')}];")
        case "red.async":
            head = f"red.async.relaxed.cluster.shared::cluster.{complete}.add.u32"
            body.add(f"{head} [{place}], {draw(SMALL)}, [{body.mapped('bar')}];")
        case _:
            bar = body.mapped("bar")
            body.add(f"cp.async.bulk.shared::cluster.shared::cta.{complete} [{place}], [s], 16, [{bar}];")


# ---- grids


def dependency(draw: st.DrawFn, body: Body) -> None:
    body.add(
        draw(st.sampled_from(("griddepcontrol.wait;", "griddepcontrol.wait;", "griddepcontrol.launch_dependents;")))
    )


FEATURES: dict[str, tuple[Step, ...]] = {
    "mbarrier": (arrive, arrive, wait, wait, wait, transactions),
    "lifetime": (arrive, wait, lifetime),
    "copies": (copy, copy, copy_wait),
    "bulk": (bulk, bulk, bulk, wait, wait),
    "stores": (bulk_store, bulk_store, bulk_wait, bulk_wait),
    "remote": (remote, remote, remote, wait, wait),
    "grids": (dependency, store, load),
}
"""What a test may have besides loads, stores, fences and barriers, with the steps that it adds."""

_BASIC: tuple[Step, ...] = (load, load, store, store, fence, fence, flag_store, flag_load, meeting)


@st.composite
def asynchronous_programs(draw: st.DrawFn, length: int = 3, features: frozenset[str] | None = None) -> str:
    """The text of a test. `length`: steps of a thread; `features`: None draws one or two."""
    if features is None:
        features = frozenset(draw(st.lists(st.sampled_from(sorted(FEATURES)), min_size=1, max_size=2, unique=True)))
    if features & {"lifetime", "remote"}:
        features |= {"mbarrier"}
    steps = _BASIC
    for feature in sorted(features):
        steps += FEATURES[feature] * 2
    count = draw(st.sampled_from((2, 2, 2, 3)))
    apart = "remote" in features or draw(st.integers(0, 3)) == 0
    places = [f"grid {t % 2}, cta {t % 2}" if "grids" in features else "cta 0, cluster 0" for t in range(count)]
    if apart and "grids" not in features:
        places = [f"cta {t % 2}, cluster 0" for t in range(count)]
    lines = ["PTX generated", "{", *_declarations(draw, features), "}"]
    for thread, place in enumerate(places):
        peer = 1 - thread % 2 if apart and "grids" not in features else None
        body = Body(features, thread, peer)
        for _ in range(draw(st.integers(1, length if count == 2 else length - 1))):
            draw(st.sampled_from(steps))(draw, body)
        lines += [f"P{thread} @ {place} {{", *(f"  {line}" for line in body.lines), "}"]
    return "\n".join(lines) + "\n"


def _declarations(draw: st.DrawFn, features: frozenset[str], count: int | None = None) -> list[str]:
    lines = [
        "  .global .u32 x = 0;",
        "  .global .align 16 .b32 g[4] = {3, 3, 3, 3};",
        "  .global .align 16 .b32 o[4];",
        "  .shared .align 16 .b32 s[4];",
        "  .shared .align 16 .b32 t[4];",
        f"  .shared .mbarrier bar = {count or draw(st.sampled_from((1, 1, 1, 2)))};",
    ]
    if count is not None:
        lines.append("  .shared .mbarrier own = 1;")
    if "grids" in features:
        lines.append(f"  order grid 0 -> grid 1{draw(st.sampled_from(('', ' programmatic', ' programmatic')))};")
    return lines


# ---- exchanges: one thread does something, tells another, and this one does something else


def _spin(body: Body, sem: str = "", parity: int = 0) -> None:
    label, predicate = body.new("L"), body.new("p")
    body.add(
        f"{label}:",
        f"mbarrier.try_wait.parity{sem}.shared::cta.b64 {predicate}, [bar], {parity};",
        f"@!{predicate} bra {label};",
    )


def _fenced(draw: st.DrawFn, body: Body) -> None:
    if draw(st.booleans()):
        kinds = ("fence.proxy.async;", "fence.proxy.async.shared::cta;", "fence.proxy.async.global;")
        body.add(draw(st.sampled_from((*kinds, "fence.acq_rel.cta;", "fence.acq_rel.cluster;"))))


def _do(draw: st.DrawFn, body: Body) -> None:
    """An access of `s` or `o`, ordinary or asynchronous, with its completion perhaps."""
    kind = draw(
        st.sampled_from(("store", "store", "load", "load", "store o", "load o", "copy", "bulk", "bulk", "out", "add"))
    )
    match kind:
        case "store":
            body.add(f"st.shared.u32 [s], {draw(SMALL)};")
        case "load":
            body.add(f"ld.shared.u32 {body.new('r')}, [s];")
        case "store o":
            body.add(f"st.global.u32 [o], {draw(SMALL)};")
        case "load o":
            body.add(f"ld.global.u32 {body.new('r')}, [o];")
        case "copy":
            body.add("cp.async.ca.shared.global [s], [g], 4;")
            if draw(st.booleans()):
                body.add("cp.async.wait_all;")
        case "bulk":
            # reported to a second mbarrier, which its thread may wait for
            body.add("mbarrier.arrive.expect_tx.shared::cta.b64 _, [own], 16;")
            body.add("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [own];")
            if draw(st.booleans()):
                body.add(f"mbarrier.test_wait.parity.shared::cta.b64 {body.new('p')}, [own], 0;")
        case _:
            op, type_ = ("reduce.", ".add.u32") if kind == "add" else ("", "")
            body.add(f"cp.{op}async.bulk.global.shared::cta.bulk_group{type_} [o], [s], 16;")
            waits = (
                "",
                "cp.async.bulk.wait_group 0;",
                "cp.async.bulk.wait_group 0;",
                "cp.async.bulk.wait_group.read 0;",
            )
            wait_for = draw(st.sampled_from(waits))
            if wait_for:
                body.add("cp.async.bulk.commit_group;", wait_for)


def _do_for_peer(draw: st.DrawFn, body: Body) -> bool:
    """An access of the peer's `s`; whether it tells the peer's mbarrier by itself."""
    complete, target, bar = "mbarrier::complete_tx::bytes", body.mapped("s"), body.mapped("bar")
    kind = draw(st.sampled_from(("store", "st.async", "red.async", "copy", "multicast")))
    match kind:
        case "store":
            body.add(f"st.shared::cluster.u32 [{target}], 1;")
        case "st.async":
            body.add(f"st.async.shared::cluster.{complete}.u32 [{target}], 1, [{bar}];")
        case "red.async":
            body.add(f"red.async.relaxed.cluster.shared::cluster.{complete}.add.u32 [{target}], 1, [{bar}];")
        case "copy":
            body.add(f"cp.async.bulk.shared::cluster.shared::cta.{complete} [{target}], [s], 16, [{bar}];")
        case _:
            mask = 1 << (body.peer or 0)
            body.add(f"cp.async.bulk.shared::cluster.global.{complete}.multicast::cluster [s], [g], 16, [bar], {mask};")
    return kind != "store"


@st.composite
def exchanges(draw: st.DrawFn) -> str:
    """The text of a test in which one thread tells another of what it did, well or badly."""
    how = draw(st.sampled_from(("mbarrier", "mbarrier", "completion", "flag", "meeting", "peer", "peer", "grid")))
    places = {"peer": ["cta 0, cluster 0", "cta 1, cluster 0"], "grid": ["grid 0, cta 0", "grid 1, cta 1"]}
    first, second = Body(frozenset(), 0, 1), Body(frozenset(), 1, 0)
    told = False
    if how == "peer":
        told = _do_for_peer(draw, first)
    elif how == "completion":
        first.add("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;")
        first.add("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [bar];")
    else:
        _do(draw, first)
    _fenced(draw, first)
    match how:
        case "mbarrier":
            arrivals = ("arrive", "arrive", "arrive.relaxed.cta", "arrive.release.cluster")
            arrival = draw(st.sampled_from(arrivals))
            if draw(st.integers(0, 5)) == 0:
                first.add("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];")
            else:
                first.add(f"mbarrier.{arrival}.shared::cta.b64 _, [bar];")
            _spin(second, draw(st.sampled_from(("", "", ".relaxed.cta", ".acquire.cluster"))))
        case "completion":
            _spin(second, draw(st.sampled_from(("", "", ".relaxed.cta", ".acquire.cluster"))))
        case "flag":
            first.add(f"st.{draw(st.sampled_from(('relaxed', 'release', 'release')))}.cta.global.u32 [x], 1;")
            register, predicate = second.new("r"), second.new("p")
            second.add(f"ld.{draw(st.sampled_from(('relaxed', 'acquire', 'acquire')))}.cta.global.u32 {register}, [x];")
            second.add(f"setp.eq.u32 {predicate}, {register}, 0;", f"@{predicate} exit;")
        case "meeting":
            first.add("bar.sync 0;")
            second.add("bar.sync 0;")
        case "peer":
            if told:
                size = 16 if "bulk" in first.lines[-1] or (len(first.lines) > 1 and "bulk" in first.lines[-2]) else 4
                second.add(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};")
            else:
                sem = draw(st.sampled_from(("", ".release.cluster", ".release.cluster")))
                first.add(f"mbarrier.arrive{sem}.shared::cluster.b64 _, [{first.mapped('bar')}];")
            _spin(second, draw(st.sampled_from(("", ".acquire.cluster", ".acquire.cluster"))))
        case _:
            if draw(st.booleans()):
                first.add("griddepcontrol.launch_dependents;")
            if draw(st.booleans()):
                second.add("griddepcontrol.wait;")
    _fenced(draw, second)
    _do(draw, second)
    lines = ["PTX exchange", "{", *_declarations(draw, frozenset({"grids"} if how == "grid" else ()), count=1), "}"]
    for number, body in enumerate((first, second)):
        place = places.get(how, ["cta 0, cluster 0"] * 2)[number]
        lines += [f"P{number} @ {place} {{", *(f"  {line}" for line in body.lines), "}"]
    return "\n".join(lines) + "\n"
