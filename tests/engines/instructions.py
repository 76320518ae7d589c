"""Hypothesis strategies for instructions of one thread: accesses, atomics, fences, barriers, control."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

SCOPES = st.sampled_from(("cta", "gpu", "sys", "cluster"))
SMALL = st.integers(0, 2)
NUMBERS = st.sampled_from((1, 1, 2))
PATTERNS = st.sampled_from((1, 2, 0x0201, 0x01020304))
"""Values whose bytes differ, for accesses of several sizes."""


@dataclass(slots=True)
class Writer:
    """One thread as it is written: its lines, the registers that loads filled, and what the program declares."""

    features: frozenset[str]
    lines: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    """32-bit registers with what a memory operation or arithmetic on it returned."""
    count: int = 0

    def register(self, prefix: str = "r") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"L{self.count}"


@dataclass(frozen=True, slots=True)
class Target:
    """What an access names: its address, its space's qualifier."""

    address: str
    space: str


@st.composite
def targets(draw: st.DrawFn, features: frozenset[str]) -> Target:
    names = ["x", "x", "y"]
    if "alias" in features:
        names += ["z", "z"]
    if "shared" in features:
        names += ["s", "s"]
    name = draw(st.sampled_from(names))
    return Target(f"[{name}]", "shared" if name == "s" else "global")


def read_semantics(draw: st.DrawFn) -> str:
    """The qualifiers of a load between its mnemonic and its space."""
    kind = draw(st.sampled_from(("weak", "relaxed", "relaxed", "acquire", "acquire", "volatile", "mmio")))
    return _scoped(draw, kind)


def write_semantics(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(("weak", "relaxed", "relaxed", "release", "release", "volatile", "mmio")))
    return _scoped(draw, kind)


def _scoped(draw: st.DrawFn, kind: str) -> str:
    if kind == "mmio":
        return "mmio.relaxed.sys"
    return kind if kind in ("weak", "volatile") else f"{kind}.{draw(SCOPES)}"


def _semantics(draw: st.DrawFn, read: bool, space: str) -> str:
    text = read_semantics(draw) if read else write_semantics(draw)
    return "relaxed.sys" if space == "shared" and text.startswith("mmio") else text


# ---- memory operations


def load(draw: st.DrawFn, writer: Writer) -> None:
    target = draw(targets(writer.features))
    sem = _semantics(draw, True, target.space)
    if "sizes" in writer.features and target.address == "[x]":
        _sized_load(draw, writer, sem)
        return
    register = writer.register()
    writer.lines.append(f"ld.{sem}.{target.space}.b32 {register}, {target.address};")
    writer.loaded.append(register)


def store(draw: st.DrawFn, writer: Writer) -> None:
    target = draw(targets(writer.features))
    sem = _semantics(draw, False, target.space)
    if "sizes" in writer.features and target.address == "[x]":
        _sized_store(draw, writer, sem)
        return
    value = draw(st.sampled_from(writer.loaded)) if writer.loaded and draw(st.integers(0, 3)) == 0 else draw(NUMBERS)
    writer.lines.append(f"st.{sem}.{target.space}.b32 {target.address}, {value};")


_WIDE = st.sampled_from(("b8 0", "b8 1", "b8 4", "b16 0", "b16 2", "b32 0", "b32 0", "b32 4", "b64 0", "b64 0", "v2 0"))


def _sized_load(draw: st.DrawFn, writer: Writer, sem: str) -> None:
    """Of some bytes of the 8 of x."""
    type_, offset = draw(_WIDE).split()
    if type_ == "v2" and sem.startswith("mmio"):
        type_ = "b32"
    if type_ == "v2":
        first, second = writer.register(), writer.register()
        writer.lines.append(f"ld.{sem}.global.v2.b32 {{{first}, {second}}}, [x];")
        writer.loaded.append(second)
    else:
        register = writer.register("rd" if type_ == "b64" else "r")
        writer.lines.append(f"ld.{sem}.global.{type_} {register}, [x+{offset}];")
        if type_ != "b64":
            writer.loaded.append(register)


def _sized_store(draw: st.DrawFn, writer: Writer, sem: str) -> None:
    type_, offset = draw(_WIDE).split()
    if type_ == "v2" and sem.startswith("mmio"):
        type_ = "b32"
    if type_ == "v2":
        writer.lines.append(f"st.{sem}.global.v2.b32 [x], {{{draw(NUMBERS)}, {draw(NUMBERS)}}};")
    else:
        number = draw(PATTERNS)
        number = number & 0xFF if type_ == "b8" else number & 0xFFFF if type_ == "b16" else number
        number = number << 32 | draw(NUMBERS) if type_ == "b64" and draw(st.booleans()) else number
        writer.lines.append(f"st.{sem}.global.{type_} [x+{offset}], {number};")


_OPERATIONS = st.sampled_from(
    ("add.u32", "add.u32", "exch.b32", "exch.b32", "cas.b32", "cas.b32", "inc.u32", "dec.u32")
    + ("min.u32", "max.s32", "and.b32", "or.b32", "xor.b32")
)
_REDUCTIONS = st.sampled_from(
    ("add.u32", "add.u32", "inc.u32", "dec.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32")
)


def atomic(draw: st.DrawFn, writer: Writer) -> None:
    target = draw(targets(writer.features))
    sem, scope = draw(st.sampled_from(("relaxed", "acquire", "release", "acq_rel"))), draw(SCOPES)
    head = f"atom.{sem}.{scope}.{target.space}"
    if "sizes" in writer.features and target.address == "[x]" and draw(st.booleans()):
        wide = draw(st.sampled_from(("add.u64", "exch.b64", "cas.b16")))
        register = writer.register("rs" if wide == "cas.b16" else "rd")
        operands = f"{draw(SMALL)}, {draw(NUMBERS)}" if wide == "cas.b16" else f"{draw(PATTERNS)}"
        writer.lines.append(f"{head}.{wide} {register}, [x], {operands};")
        return
    op = draw(_OPERATIONS)
    operands = f"{draw(SMALL)}, {draw(NUMBERS)}" if op.startswith("cas") else f"{draw(NUMBERS)}"
    if draw(st.integers(0, 7)) == 0:
        writer.lines.append(f"{head}.{op} _, {target.address}, {operands};")
        return
    register = writer.register()
    writer.lines.append(f"{head}.{op} {register}, {target.address}, {operands};")
    writer.loaded.append(register)


def reduction(draw: st.DrawFn, writer: Writer) -> None:
    target = draw(targets(writer.features))
    sem, scope = draw(st.sampled_from(("relaxed", "release"))), draw(SCOPES)
    op = draw(_REDUCTIONS)
    writer.lines.append(f"red.{sem}.{scope}.{target.space}.{op} {target.address}, {draw(NUMBERS)};")


def proxy_access(draw: st.DrawFn, writer: Writer) -> None:
    """Through the texture, surface and constant views of x, the read-only path of y, or a constant."""
    kind = draw(st.sampled_from(["tld", "suld", "cold", "sust", "sust", "suatom", "sured", "nc", "const"]))
    if kind in ("sust", "sured"):
        op = ".relaxed.gpu.add.u32" if kind == "sured" else ".weak"
        writer.lines.append(f"{kind}{op} [su], {draw(NUMBERS)};")
        return
    register = writer.register()
    writer.loaded.append(register)
    match kind:
        case "tld" | "suld" | "cold":
            name = {"tld": "te", "suld": "su", "cold": "co"}[kind]
            writer.lines.append(f"{kind}.weak {register}, [{name}];")
        case "suatom":
            writer.lines.append(f"suatom.relaxed.gpu.add.u32 {register}, [su], {draw(NUMBERS)};")
        case "nc":
            writer.lines.append(f"ld.global.nc.b32 {register}, [{draw(st.sampled_from(('n', 'n', 'x')))}];")
        case _:
            writer.lines.append(f"ld.const.b32 {register}, [k];")


# ---- fences


def fence(draw: st.DrawFn, writer: Writer) -> None:
    kinds = ["sc", "sc", "acq_rel", "acq_rel", "acquire", "release"]
    if "alias" in writer.features:
        kinds += ["alias"] * 4
    if "proxies" in writer.features:
        kinds += ["texture", "surface", "surface", "constant"]
    if "restricted" in writer.features:
        kinds += ["from", "to", "from", "to", "init", "tensormap"]
    kind = draw(st.sampled_from(kinds))
    match kind:
        case "alias" | "texture" | "surface" | "constant":
            writer.lines.append(f"fence.proxy.{kind};")
        case "from":
            writer.lines.append("fence.release.sync_restrict::shared::cta.cluster;")
        case "to":
            writer.lines.append("fence.acquire.sync_restrict::shared::cluster.cluster;")
        case "init":
            writer.lines.append("fence.mbarrier_init.release.cluster;")
        case "tensormap":
            writer.lines.append("fence.proxy.tensormap::generic.release.gpu;")
        case _:
            writer.lines.append(f"fence.{kind}.{draw(SCOPES)};")


# ---- arithmetic, control


def arithmetic(draw: st.DrawFn, writer: Writer) -> None:
    """On a register that a load filled; some forget its value."""
    source, register = draw(st.sampled_from(writer.loaded)), writer.register()
    other = draw(st.sampled_from(writer.loaded))
    forms = ["add.u32 {d}, {a}, 1", "sub.u32 {d}, {a}, {a}", "xor.b32 {d}, {a}, {b}", "and.b32 {d}, {a}, 1"]
    forms += ["mul.lo.u32 {d}, {a}, 2", "min.u32 {d}, {a}, 1", "mov.u32 {d}, {a}", "shl.b32 {d}, {a}, 8"]
    form = draw(st.sampled_from(forms))
    writer.lines.append(form.format(d=register, a=source, b=other) + ";")
    writer.loaded.append(register)


def _simple(draw: st.DrawFn, writer: Writer) -> None:
    draw(st.sampled_from((load, store, store, store, atomic, reduction)))(draw, writer)


def _condition(draw: st.DrawFn, writer: Writer) -> str:
    predicate = writer.register("p")
    compare = draw(st.sampled_from(("eq", "ne", "lt", "ge")))
    source = draw(st.sampled_from(writer.loaded))
    writer.lines.append(f"setp.{compare}.u32 {predicate}, {source}, {draw(NUMBERS)};")
    return predicate


def guarded(draw: st.DrawFn, writer: Writer) -> None:
    """One access, fence or barrier under a predicate."""
    predicate = _condition(draw, writer)
    mark = len(writer.lines)
    if "barriers" in writer.features and draw(st.booleans()):
        barrier(draw, writer)
    else:
        draw(st.sampled_from((_simple, _simple, fence)))(draw, writer)
    writer.lines[mark:] = [
        f"@{draw(st.sampled_from(('', '!')))}{predicate} {writer.lines[mark]}",
        *writer.lines[mark + 1 :],
    ]


def branch(draw: st.DrawFn, writer: Writer) -> None:
    """One side or both of a branch that joins, or an exit."""
    predicate, other = _condition(draw, writer), writer.label()
    kind = draw(st.sampled_from(("if", "else", "else", "same", "exit")))
    if kind == "exit":
        writer.lines.append(f"@{predicate} exit;")
        return
    writer.lines.append(f"@{predicate} bra {other};")
    known = list(writer.loaded)
    mark = len(writer.lines)
    _simple(draw, writer)
    if kind == "if":
        writer.lines.append(f"{other}:")
    else:
        end = writer.label()
        taken = writer.lines[mark:]
        writer.lines += [f"bra {end};", f"{other}:"]
        writer.loaded = known
        if kind == "same":
            writer.lines += taken
        else:
            _simple(draw, writer)
        writer.lines.append(f"{end}:")
    writer.loaded = known


def spin(draw: st.DrawFn, writer: Writer) -> None:
    """Wait for a value: with a load, or with a cas that fails until it comes."""
    label, register, predicate = writer.label(), writer.register(), writer.register("p")
    name = draw(st.sampled_from(("x", "y")))
    name = "y" if "sizes" in writer.features else name
    wanted = draw(st.sampled_from((1, 1, 1, 2)))
    if draw(st.integers(0, 3)) == 0:
        sem = draw(st.sampled_from(("relaxed", "acquire")))
        poll = f"atom.{sem}.{draw(SCOPES)}.global.cas.b32 {register}, [{name}], {wanted}, {draw(NUMBERS)};"
        compare = "ne"
    else:
        poll = f"ld.{read_semantics(draw)}.global.b32 {register}, [{name}];"
        compare = draw(st.sampled_from(("ne", "ne", "lt")))
    between = [f"fence.{draw(st.sampled_from(('acquire', 'acq_rel', 'sc')))}.{draw(SCOPES)};"] * draw(st.integers(0, 1))
    writer.lines += [f"{label}:", poll, *between]
    writer.lines += [f"setp.{compare}.u32 {predicate}, {register}, {wanted};", f"@{predicate} bra {label};"]
    writer.loaded.append(register)


def loop(draw: st.DrawFn, writer: Writer) -> None:
    """No spin: its body writes, so that it goes round to a bound."""
    label, register, predicate = writer.label(), writer.register(), writer.register("p")
    wanted = draw(NUMBERS)
    body = f"atom.relaxed.{draw(SCOPES)}.global.add.u32 {register}, [y], 1;"
    writer.lines += [f"{label}:", body, f"setp.lt.u32 {predicate}, {register}, {wanted};", f"@{predicate} bra {label};"]
    writer.loaded.append(register)


def pointer(draw: st.DrawFn, writer: Writer) -> None:
    """An access whose address is in a register: one of two variables or of two elements, as a load says."""
    if not writer.loaded:
        load(draw, writer)
    if not writer.loaded:
        return
    address = writer.register("rd")
    if draw(st.booleans()):
        predicate = _condition(draw, writer)
        writer.lines.append(f"selp.b64 {address}, rd90, rd91, {predicate};")
    else:
        index, offset = writer.register(), writer.register("rd")
        writer.lines.append(f"and.b32 {index}, {draw(st.sampled_from(writer.loaded))}, 1;")
        writer.lines.append(f"mul.wide.u32 {offset}, {index}, 4;")
        writer.lines.append(f"add.u64 {address}, rd92, {offset};")
    if draw(st.booleans()):
        register = writer.register()
        writer.lines.append(f"ld.{read_semantics(draw)}.global.b32 {register}, [{address}];")
        writer.loaded.append(register)
    else:
        writer.lines.append(f"st.{write_semantics(draw)}.global.b32 [{address}], {draw(NUMBERS)};")


def element(draw: st.DrawFn, writer: Writer) -> None:
    """An access of an element of the array that pointers go to."""
    place = draw(st.sampled_from(("[a]", "[a+4]")))
    if draw(st.booleans()):
        register = writer.register()
        writer.lines.append(f"ld.{read_semantics(draw)}.global.b32 {register}, {place};")
        writer.loaded.append(register)
    else:
        writer.lines.append(f"st.{write_semantics(draw)}.global.b32 {place}, {draw(NUMBERS)};")


# ---- barriers


def barrier(draw: st.DrawFn, writer: Writer) -> None:
    """bar, barrier.cta: with the whole CTA or a count, sometimes with an id that a load returned."""
    forms = ["bar.sync 0", "bar.sync 0", "barrier.cta.sync 1", "bar.sync 1, 64", "bar.sync 1, 64", "bar.sync 1, 96"]
    forms += ["bar.arrive 1, 64", "bar.arrive 1, 64", "bar.arrive 1, 96", "bar.sync 1, 32", "red"]
    forms += ["named"] if writer.loaded else []
    form = draw(st.sampled_from(forms))
    if form == "red":
        register, predicate = writer.register(), "p0"
        if writer.loaded and draw(st.booleans()):
            predicate = _condition(draw, writer)
        form = f"bar.red.popc.u32 {register}, {draw(st.sampled_from(('0', '1, 64')))}, {predicate}"
        writer.loaded.append(register)
    elif form == "named":
        form = f"bar.sync {draw(st.sampled_from(writer.loaded))}, 64"
    writer.lines.append(f"{form};")


def cluster_barrier(draw: st.DrawFn, writer: Writer) -> None:
    """barrier.cluster: mostly an arrive and its wait, with something between them."""
    arrive = draw(st.sampled_from(("barrier.cluster.arrive;", "barrier.cluster.arrive.relaxed;")))
    kind = draw(st.integers(0, 8))
    if kind != 0:
        writer.lines.append(arrive)
    if kind in (2, 3, 4):
        draw(st.sampled_from((_simple, fence)))(draw, writer)
    if kind != 1:
        writer.lines.append("barrier.cluster.wait;")


def warp_barrier(draw: st.DrawFn, writer: Writer) -> None:
    """bar.warp.sync, or a collective of lanes 0 and 1."""
    kind = draw(st.sampled_from(("bar", "bar", "bar", "bar", "vote", "shfl")))
    if kind == "bar" or not writer.loaded:
        writer.lines.append(f"bar.warp.sync {draw(st.sampled_from(('0x3', '0x3', '0x3', '0x7', '0x1', '0x6')))};")
    elif kind == "vote":
        predicate, result = _condition(draw, writer), writer.register("p")
        writer.lines.append(f"vote.sync.any.pred {result}, {predicate}, 0x3;")
    else:
        register = writer.register()
        source = draw(st.sampled_from(writer.loaded))
        writer.lines.append(f"shfl.sync.bfly.b32 {register}, {source}, 1, 31, 0x3;")
        writer.loaded.append(register)
