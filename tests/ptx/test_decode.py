"""What decoded instructions say: defaults, shorthand, dialects, reasons and hints."""

from __future__ import annotations

import pytest

from memcheck.errors import SourceError, UnsupportedError
from memcheck.ptx.decode import decode
from memcheck.ptx.decode.spelling import spell
from memcheck.ptx.instructions import (
    Arithmetic,
    Atom,
    AtomOp,
    Barrier,
    BarrierKind,
    Branch,
    ClusterBarrier,
    Collective,
    Exit,
    Fence,
    Load,
    Multimem,
    MultimemKind,
    Nop,
    ProxyFence,
    Restriction,
    Store,
    WarpBarrier,
)
from memcheck.ptx.operands import Address, AddressOf, Guard, Immediate, Register
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.ptx.types import TYPES
from tests.ptx.reading import TestNames, bare, raw, read


def refusal(text: str, columns: bool = False) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(text, columns)
    return caught.value


def place(error: SourceError) -> str:
    """The text under the carets."""
    line = error.span.source.text
    return line[error.span.column - 1 :][: error.span.length]


R0, R1, RD0, RD1 = Register("r0", 32), Register("r1", 32), Register("rd0", 64), Register("rd1", 64)
P0, P1 = Register("p0", 1), Register("p1", 1)


class TestLoadsAndStores:
    @pytest.mark.parametrize(
        ("text", "sem", "scope", "space"),
        [
            ("ld r0, x", Sem.WEAK, None, Space.GENERIC),
            ("ld.weak r0, [x]", Sem.WEAK, None, Space.GENERIC),
            ("ld.acquire.cta r0, x", Sem.ACQUIRE, Scope.CTA, Space.GENERIC),
            ("ld.relaxed.cluster.shared::cluster.b32 r0, [r1]", Sem.RELAXED, Scope.CLUSTER, Space.SHARED_CLUSTER),
            ("ld.volatile.shared.u32 r0, [s]", Sem.RELAXED, Scope.SYS, Space.SHARED_CTA),
            ("ld.mmio.acquire.sys.global.u32 r0, [x]", Sem.ACQUIRE, Scope.SYS, Space.GLOBAL),
            ("ld.global.gpu.acquire.u32 r0, [x]", Sem.ACQUIRE, Scope.GPU, Space.GLOBAL),
        ],
    )
    def test_semantics_of_loads(self, text: str, sem: Sem, scope: Scope | None, space: Space) -> None:
        load = read(text)
        assert isinstance(load, Load)
        assert (load.sem, load.scope, load.space) == (sem, scope, space)
        assert load.volatile == ("volatile" in text)
        assert load.mmio == ("mmio" in text)
        assert load.type.bits == 32

    def test_old_order_of_qualifiers(self) -> None:
        store = read("st.global.relaxed.sys.u32 [x], 1")
        assert bare(store) == bare(read("st.relaxed.sys.global.u32 [x], 1"))

    @pytest.mark.parametrize(
        ("operand", "address"),
        [
            ("x", Address(AddressOf("x"))),
            ("[x]", Address(AddressOf("x"))),
            ("[x+4]", Address(AddressOf("x"), 4)),
            ("[x+-4]", Address(AddressOf("x"), -4)),
            ("r1", Address(R1)),
            ("[r1+8]", Address(R1, 8)),
            ("[%rd1]", Address(RD1)),
        ],
    )
    def test_addresses(self, operand: str, address: Address) -> None:
        load = read(f"ld.weak r0, {operand}")
        assert isinstance(load, Load)
        assert load.address == address
        store = read(f"st.weak {operand}, 7")
        assert isinstance(store, Store)
        assert store.address == address
        assert store.sources == (Immediate(7),)

    def test_vectors_and_sinks(self) -> None:
        load = read("ld.global.v2.b64 {rd0, _}, [x]")
        assert isinstance(load, Load)
        assert load.destinations == (RD0, None)
        store = read("st.global.v4.b64 [x], {rd0, _, 3, _}")
        assert isinstance(store, Store)
        assert store.sources == (RD0, None, Immediate(3), None)

    def test_untyped_accesses_have_32_bits_even_with_wide_registers(self) -> None:
        load = read("ld.relaxed.gpu rd0, [x]")
        assert isinstance(load, Load)
        assert load.type is TYPES["b32"]
        assert place(refusal("ld.weak rs0, x")) == "rs0"

    def test_a_loaded_number_is_moved(self) -> None:
        move = read("ld r0, 2")
        assert isinstance(move, Arithmetic)
        assert (move.op, move.destinations, move.sources) == ("mov", (R0,), (Immediate(2),))
        assert place(refusal("ld.weak r0, 2")) == "2"
        assert place(refusal("st 2, r0")) == "2"

    @pytest.mark.parametrize(
        ("text", "proxy"),
        [
            ("tld.weak r0, x", Proxy.TEXTURE),
            ("suld.weak r0, x", Proxy.SURFACE),
            ("cold.weak r0, c", Proxy.CONSTANT),
            ("ld.global.nc.u32 r0, [x]", Proxy.NONCOHERENT),
            ("ld.proxy::readonly.u32 r0, [x]", Proxy.READONLY),
            ("ld.weak r0, x", Proxy.GENERIC),
        ],
    )
    def test_proxies_of_loads(self, text: str, proxy: Proxy) -> None:
        load = read(text)
        assert isinstance(load, Load)
        assert load.proxy is proxy
        assert load.sem is Sem.WEAK
        assert bare(read(spell(load))) == bare(load)

    def test_surface_stores(self) -> None:
        store = read("sust.weak s, 42", columns=True)
        assert isinstance(store, Store)
        assert (store.proxy, store.sources) == (Proxy.SURFACE, (Immediate(42),))
        assert spell(store) == "sust.weak.b32 [s], 42"
        assert place(refusal("tld.acquire.gpu r0, x")) == "acquire"

    def test_a_variable_is_no_value(self) -> None:
        error = refusal("st.weak x, s")
        assert place(error) == "s"
        assert error.hint is not None
        assert "mov" in error.hint

    def test_a_constant_has_64_bits_at_most(self) -> None:
        number = str(2**64)
        assert place(refusal(f"st.weak.b64 [x], {number}")) == number
        assert place(refusal(f"mov.u64 rd0, -{2**63 + 1}")) == f"-{2**63 + 1}"
        store = read(f"st.weak.b64 [x], {2**64 - 1}")
        assert isinstance(store, Store)
        assert store.sources == (Immediate(2**64 - 1),)

    def test_a_register_named_as_memory(self) -> None:
        assert "%x" in (refusal("ld.weak x, s").hint or "")


class TestAtomics:
    @pytest.mark.parametrize(
        ("text", "op", "sem", "scope", "type"),
        [
            ("atom.add r0, x, 1", AtomOp.ADD, Sem.RELAXED, Scope.GPU, "u32"),
            ("atom.acquire.add.u32 r0, [x], 1", AtomOp.ADD, Sem.ACQUIRE, Scope.GPU, "u32"),
            ("atom.cta.add.u32 r0, [x], 1", AtomOp.ADD, Sem.RELAXED, Scope.CTA, "u32"),
            ("atom.relaxed.gpu.cas r0, x, 0, 1", AtomOp.CAS, Sem.RELAXED, Scope.GPU, "b32"),
            ("atom.acq_rel.sys.sub r0, x, 1", AtomOp.SUB, Sem.ACQ_REL, Scope.SYS, "u32"),
            ("atom.global.gpu.release.exch.b32 r0, [x], 1", AtomOp.EXCH, Sem.RELEASE, Scope.GPU, "b32"),
        ],
    )
    def test_defaults(self, text: str, op: AtomOp, sem: Sem, scope: Scope, type: str) -> None:
        atom = read(text)
        assert isinstance(atom, Atom)
        assert (atom.op, atom.sem, atom.scope, atom.type.name) == (op, sem, scope, type)
        assert not atom.is_red

    def test_inc_without_a_bound(self) -> None:
        atom = read("atom.sys.inc.u32 %r0, [x]")
        assert isinstance(atom, Atom)
        assert atom.operands == ((Immediate(0xFFFFFFFF),),)
        bound = read("atom.sys.inc.u32 %r0, [x], 4")
        assert isinstance(bound, Atom)
        assert bound.operands == ((Immediate(4),),)

    def test_compare_then_swap(self) -> None:
        atom = read("atom.cas.b32 _, [x], r0, r1")
        assert isinstance(atom, Atom)
        assert atom.destinations == (None,)
        assert atom.operands == ((R0, R1),)
        assert not atom.is_red

    def test_vector(self) -> None:
        atom = read("atom.global.add.v2.f32 {f0, _}, [x], {f1, f2}")
        assert isinstance(atom, Atom)
        assert atom.destinations == (Register("f0", 32), None)
        assert atom.operands == ((Register("f1", 32),), (Register("f2", 32),))
        red = read("red.global.add.v2.f32 [x], {f1, f2}")
        assert isinstance(red, Atom)
        assert red.destinations == (None, None)

    def test_red(self) -> None:
        red = read("red.release.cluster.max.s32 [x], -1")
        assert isinstance(red, Atom)
        assert red.is_red
        assert (red.sem, red.scope, red.operands) == (Sem.RELEASE, Scope.CLUSTER, ((Immediate(-1),),))

    @pytest.mark.parametrize(("word", "sem"), [("acq_rel", Sem.ACQ_REL), ("acquire", Sem.ACQUIRE)])
    def test_peers_reductions_only_in_columns(self, word: str, sem: Sem) -> None:
        red = read(f"red.{word}.sys.sub x, 1", columns=True)
        assert isinstance(red, Atom)
        assert (red.sem, red.is_red, red.op) == (sem, True, AtomOp.SUB)
        assert bare(read(spell(red), columns=True)) == bare(red)
        error = refusal(f"red.{word}.sys.add x, 1")
        assert place(error) == word
        assert "red.release.sys.add" in (error.hint or "")

    def test_surface_atomics(self) -> None:
        atom = read("suatom.relaxed.gpu.add r0, s, 1")
        assert isinstance(atom, Atom)
        assert atom.proxy is Proxy.SURFACE
        red = read("sured.add s, 1")
        assert isinstance(red, Atom)
        assert (red.proxy, red.is_red) == (Proxy.SURFACE, True)
        for instruction in (atom, red):
            assert bare(read(spell(instruction))) == bare(instruction)

    def test_a_wide_register_needs_a_type(self) -> None:
        error = refusal("atom.add rd0, x, 1")
        assert place(error) == "rd0"
        assert error.hint == "write atom.add.u64"

    def test_a_missing_destination(self) -> None:
        assert "red" in (refusal("atom.add.u32 [x], 1").hint or "")


class TestMultimem:
    def test_defaults(self) -> None:
        load = read("multimem.ld_reduce.add.u32 r0, [x]")
        store = read("multimem.st.b32 [x], 1")
        red = read("multimem.red.add.u32 [x], 1")
        assert isinstance(load, Multimem)
        assert isinstance(store, Multimem)
        assert isinstance(red, Multimem)
        assert (load.kind, load.sem, load.scope, load.op) == (MultimemKind.LD_REDUCE, Sem.WEAK, None, AtomOp.ADD)
        assert (store.kind, store.sem, store.scope, store.op) == (MultimemKind.ST, Sem.WEAK, None, None)
        assert (red.kind, red.sem, red.scope, red.op) == (MultimemKind.RED, Sem.RELAXED, Scope.SYS, AtomOp.ADD)


class TestFences:
    @pytest.mark.parametrize(
        ("text", "sem", "scope", "restriction"),
        [
            ("fence.gpu", Sem.ACQ_REL, Scope.GPU, None),
            ("fence.sc.cluster", Sem.SC, Scope.CLUSTER, None),
            ("fence.sys.release", Sem.RELEASE, Scope.SYS, None),
            ("membar.cta", Sem.SC, Scope.CTA, None),
            ("membar.gl", Sem.SC, Scope.GPU, None),
            ("membar.sys", Sem.SC, Scope.SYS, None),
            (
                "fence.acquire.sync_restrict::shared::cluster.cluster",
                Sem.ACQUIRE,
                Scope.CLUSTER,
                Restriction.SHARED_CLUSTER,
            ),
            ("fence.release.sync_restrict::shared::cta.cluster", Sem.RELEASE, Scope.CLUSTER, Restriction.SHARED_CTA),
            ("fence.mbarrier_init.release.cluster", Sem.RELEASE, Scope.CLUSTER, Restriction.MBARRIER_INIT),
        ],
    )
    def test_thread_fences(self, text: str, sem: Sem, scope: Scope, restriction: Restriction | None) -> None:
        fence = read(text)
        assert isinstance(fence, Fence)
        assert (fence.sem, fence.scope, fence.restriction) == (sem, scope, restriction)

    @pytest.mark.parametrize("kind", ["alias", "async", "texture", "surface", "constant"])
    def test_two_sided_proxy_fences(self, kind: str) -> None:
        for mnemonic in ("fence", "membar"):
            fence = read(f"{mnemonic}.proxy.{kind}")
            assert isinstance(fence, ProxyFence)
            assert (fence.proxy, fence.sem, fence.scope) == (FenceProxy(kind), None, None)

    def test_async_in_one_space(self) -> None:
        fence = read("fence.proxy.async.shared::cta")
        assert isinstance(fence, ProxyFence)
        assert fence.space is Space.SHARED_CTA

    def test_tensormap(self) -> None:
        fence = read("fence.proxy.tensormap::generic.acquire.sys [x], 128")
        assert isinstance(fence, ProxyFence)
        assert (fence.sem, fence.scope, fence.size) == (Sem.ACQUIRE, Scope.SYS, 128)
        assert fence.address == Address(AddressOf("x"))
        assert place(refusal("fence.proxy.tensormap::generic.acquire.sys [x], 64")) == "64"

    def test_one_sided_async(self) -> None:
        fence = read("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster")
        assert isinstance(fence, ProxyFence)
        assert (fence.proxy, fence.sem, fence.restriction) == (
            FenceProxy.ASYNC_GENERIC,
            Sem.ACQUIRE,
            Restriction.SHARED_CLUSTER,
        )


class TestBarriers:
    @pytest.mark.parametrize("text", ["bar.sync 1", "bar.cta.sync 1", "barrier.cta.sync.aligned 1", "barrier.sync 1"])
    def test_whole_cta(self, text: str) -> None:
        barrier = read(text)
        assert isinstance(barrier, Barrier)
        assert (barrier.kind, barrier.id, barrier.count, barrier.peer) == (
            BarrierKind.SYNC,
            Immediate(1),
            None,
            False,
        )

    def test_arrive_and_reduce(self) -> None:
        arrive = read("bar.arrive 2, 64")
        assert isinstance(arrive, Barrier)
        assert (arrive.id, arrive.count) == (Immediate(2), Immediate(64))
        reduce = read("bar.red.and.pred p0, 3, 64, !p1")
        assert isinstance(reduce, Barrier)
        assert (reduce.reduction, reduce.destination, reduce.id) == ("and", P0, Immediate(3))
        assert (reduce.count, reduce.source, reduce.negated) == (Immediate(64), P1, True)

    @pytest.mark.parametrize(
        ("text", "operands"),
        [
            ("bar.cta.sync 1", (1, None, None)),
            ("bar.cta.sync 1, 20", (1, 20, None)),
            ("bar.cta.sync 1, 1, 4", (1, 1, 4)),
            ("bar.cta.arrive 1", (1, None, None)),
        ],
    )
    def test_the_peers_dialect(self, text: str, operands: tuple[int | None, ...]) -> None:
        barrier = read(text, columns=True)
        assert isinstance(barrier, Barrier)
        wanted = tuple(None if n is None else Immediate(n) for n in operands)
        assert (barrier.instance, barrier.id, barrier.count) == wanted
        assert barrier.peer
        assert spell(barrier) == text

    def test_a_register_as_the_peers_barrier(self) -> None:
        barrier = read("bar.cta.sync 1, r0", columns=True)
        assert isinstance(barrier, Barrier)
        assert barrier.id == R0

    def test_columns_also_have_ptx_barriers(self) -> None:
        for text in ("bar.sync 1, 64", "barrier.cta.sync 1, 64", "bar.cta.red.popc.u32 r0, 1, p0"):
            barrier = read(text, columns=True)
            assert isinstance(barrier, Barrier)
            assert not barrier.peer

    def test_counts_are_whole_warps(self) -> None:
        error = refusal("bar.sync 0, 33")
        assert place(error) == "33"
        assert error.hint == "write 64"
        assert place(refusal("bar.sync 0, 0")) == "0"

    def test_cluster_and_warp(self) -> None:
        arrive, wait = read("barrier.cluster.arrive"), read("barrier.cluster.wait.aligned")
        assert isinstance(arrive, ClusterBarrier)
        assert isinstance(wait, ClusterBarrier)
        assert (arrive.arrive, arrive.sem, wait.arrive, wait.sem) == (True, Sem.RELEASE, False, Sem.ACQUIRE)
        warp = read("bar.warp.sync 3")
        assert isinstance(warp, WarpBarrier)
        assert warp.mask == Immediate(3)


class TestCollectives:
    def test_shuffle(self) -> None:
        shuffle = read("shfl.sync.bfly.b32 r0|p0, r1, 1, 0x1f, -1")
        assert isinstance(shuffle, Collective)
        assert (shuffle.op, shuffle.destinations) == ("shfl.bfly", (R0, P0))
        assert shuffle.sources == (R1, Immediate(1), Immediate(31))
        assert shuffle.mask == Immediate(-1)

    def test_vote_match_redux_elect(self) -> None:
        vote = read("vote.sync.any.pred p0, !p1, 3")
        match = read("match.all.sync.b64 r0|p0, rd1, 3")
        redux = read("redux.sync.min.s32 r0, r1, 3")
        elect = read("elect.sync _|p0, 3")
        for instruction, op in ((vote, "vote.any"), (match, "match.all"), (redux, "redux.min"), (elect, "elect")):
            assert isinstance(instruction, Collective)
            assert (instruction.op, instruction.mask) == (op, Immediate(3))
        assert isinstance(vote, Collective)
        assert vote.negated
        assert isinstance(elect, Collective)
        assert elect.destinations == (None, P0)


class TestArithmetic:
    @pytest.mark.parametrize(
        ("text", "op", "type"),
        [
            ("add r1, r0, 1", "add", "u32"),
            ("add rd1, rd0, 4", "add", "u64"),
            ("mul r1, r0, 2", "mul.lo", "u32"),
            ("and p0, p1, p2", "and", "pred"),
            ("mov p0, 1", "mov", "pred"),
            ("mov rd0, x", "mov", "b64"),
            ("mov r0, -1", "mov", "b32"),
            ("neg r0, r1", "neg", "s32"),
            ("popc r0, rd1", "popc", "b64"),
            ("shr r0, r1, 1", "shr", "u32"),
            ("selp rd0, 1, 2, p0", "selp", "b64"),
        ],
    )
    def test_short_forms(self, text: str, op: str, type: str) -> None:
        instruction = read(text)
        assert isinstance(instruction, Arithmetic)
        assert (instruction.op, instruction.type.name) == (op, type)

    def test_short_comparisons(self) -> None:
        setp = read("setp.eq p0|_, rd0, 1")
        assert isinstance(setp, Arithmetic)
        assert (setp.op, setp.type.name, setp.destinations) == ("setp.eq", "u64", (P0, None))

    def test_addresses_as_values(self) -> None:
        for text, value in (
            ("mov.u64 rd0, x", AddressOf("x")),
            ("mov.u64 rd0, x+4", AddressOf("x", 4)),
            ("cvta.shared.u64 rd0, s", AddressOf("s")),
            ("mapa.u64 rd0, s, 1", AddressOf("s")),
        ):
            move = read(text)
            assert isinstance(move, Arithmetic)
            assert move.sources[0] == value
        assert place(refusal("mov.u64 rd0, [x+4]")) == "[x+4]"
        assert place(refusal("add.u64 rd0, rd1, x")) == "x"
        assert place(refusal("cvta.global.u64 rd0, s")) == "s"

    def test_special_registers_are_numbers(self) -> None:
        move = read("mov.u32 r0, %laneid")
        assert isinstance(move, Arithmetic)
        assert move.sources == (Immediate(3),)
        assert place(refusal("mov.u32 %laneid, r0")) == "%laneid"

    def test_conversions(self) -> None:
        cvt = read("cvt.u64.s32 rd0, r1")
        assert isinstance(cvt, Arithmetic)
        assert (cvt.type.name, cvt.source_type) == ("u64", TYPES["s32"])
        there, back = read("cvta.shared.u64 rd0, rd1"), read("cvta.to.shared.u64 rd0, rd1")
        assert isinstance(there, Arithmetic)
        assert isinstance(back, Arithmetic)
        assert (there.op, back.op, there.space) == ("cvta", "cvta.to", Space.SHARED_CTA)

    def test_set_has_the_type_of_what_it_compares(self) -> None:
        comparison = read("set.lt.u32.s64 r0, rd0, rd1")
        assert isinstance(comparison, Arithmetic)
        assert (comparison.op, comparison.type.name, comparison.destinations) == ("set.lt", "s64", (R0,))
        assert spell(comparison) == "set.lt.u32.s64 %r0, %rd0, %rd1"

    def test_shift_amounts_have_32_bits(self) -> None:
        assert place(refusal("shl.b64 rd0, rd1, rd2")) == "rd2"


class TestControl:
    def test_branches(self) -> None:
        plain, short, compare = read("bra L"), read("goto LC00"), read("beq r0, 1, LC00")
        for branch, target in ((plain, "L"), (short, "LC00"), (compare, "LC00")):
            assert isinstance(branch, Branch)
            assert branch.target == target
        assert isinstance(compare, Branch)
        assert compare.compare == ("eq", R0, Immediate(1))

    def test_an_unknown_label(self) -> None:
        error = refusal("bra LC0")
        assert place(error) == "LC0"
        assert error.hint == "nearest: LC00"

    def test_guards(self) -> None:
        branch = read("@!%p1 bra L")
        assert branch.guard == Guard(P1, negated=True)
        assert spell(branch) == "@!%p1 bra L"
        assert place(refusal("@r0 bra L")) == "@r0"

    def test_ends_and_hints(self) -> None:
        assert isinstance(read("ret"), Exit)
        assert isinstance(read("exit"), Exit)
        assert isinstance(read("nanosleep.u32 100"), Nop)
        hint = read("@%p0 prefetch.global.L1 [x]")
        assert isinstance(hint, Nop)
        assert spell(hint) == "@%p0 prefetch.global.L1 [x]"


@pytest.mark.parametrize(
    ("text", "word", "near"),
    [
        ("ld.relaxed.global.u32 r0, [x]", "relaxed", "ld.relaxed.gpu.global.u32"),
        ("st.acquire.gpu.b32 [x], r0", "acquire", "st.release.gpu.b32"),
        ("ld.relxed.gpu.u32 r0, [x]", "relxed", "ld.relaxed.gpu.u32"),
        ("atom.exch.u32 r0, [x], 1", "u32", "atom.exch.b32"),
        ("atom.add.s64 rd0, [x], 1", "s64", "atom.add.u64"),
        ("red.cas.b32 [x], 0, 1", "cas", "atom.cas.b32"),
        ("fence.sc", "fence.sc", "fence.sc.gpu"),
        ("fence.sc.gl", "gl", "fence.sc.gpu"),
        ("membar.gpu", "gpu", "membar.gl"),
        ("mul.u32 r0, r1, r2", "u32", "mul.lo.u32"),
        ("setp.lt.b32 p0, r0, r1", "lt", "setp.lt.s32"),
        ("barrier.cluster.wait.relaxed", "relaxed", "barrier.cluster.wait"),
        ("shfl.up.b32 r0, r1, 1, 0, -1", "shfl.up.b32", "shfl.sync.up.b32"),
        ("ldd.weak r0, [x]", "ldd", "ld"),
    ],
)
def test_refusals_name_the_word_and_the_nearest_form(text: str, word: str, near: str) -> None:
    error = refusal(text)
    assert place(error) == word
    assert error.hint is not None
    assert near in error.hint.removeprefix("nearest: ").split(", ")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("st.bulk.shared::cta [s], 8, 0", "st.bulk"),
        ("multimem.red.async.release.gpu.add.u32 [x], r0", "multimem.red.async"),
        ("tcgen05.commit.cta_group::1.b64 [x]", "tcgen05.commit"),
        ("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p0, rq0", "clusterlaunchcontrol.query_cancel"),
        ("fabric.submit", "fabric.submit"),
    ],
)
def test_undecided_instructions_are_named(text: str, name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(text)
    assert caught.value.message == f"{name} is not supported yet."


def test_an_opcode_is_analysed_once() -> None:
    names = TestNames()
    first, second = decode(raw("ld.acquire.gpu.b32 r0, [x]"), names), decode(raw("ld.acquire.gpu.b32 r1, [s]"), names)
    assert isinstance(first, Load)
    assert isinstance(second, Load)
    assert (first.sem, first.scope, first.type) == (second.sem, second.scope, second.type)
    assert (first.destinations, second.destinations) == ((R0,), (R1,))


def test_an_endless_opcode_is_refused_at_once() -> None:
    error = refusal("ld." + ".".join(["relaxed", "gpux"] * 2000) + " r0, [x]")
    assert place(error) == "gpux"
    assert error.hint is None
