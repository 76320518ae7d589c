"""What decoded asynchronous instructions say: defaults, operands, reasons; and that all of them have events."""

from __future__ import annotations

import pytest

from memcheck.errors import SourceError
from memcheck.events.walk import handler_of
from memcheck.language.load import parse_test
from memcheck.language.printer import print_test
from memcheck.ptx import asynchronous as a
from memcheck.ptx import tensors as t
from memcheck.ptx.instructions import AtomOp, Instruction, Nop
from memcheck.ptx.operands import Address, AddressOf, Immediate, Register
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.source import SourceFile
from tests.ptx.reading import read
from tests.ptx.test_forms import forms

S, X = Address(AddressOf("s")), Address(AddressOf("x"))
R0, R1, RD0, RS0, P0 = (
    Register("r0", 32),
    Register("r1", 32),
    Register("rd0", 64),
    Register("rs0", 16),
    Register("p0", 1),
)
TO_CTA = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"


def fields(instruction: Instruction, *names: str) -> tuple[object, ...]:
    return tuple(getattr(instruction, name) for name in names)


class TestMbarriers:
    @pytest.mark.parametrize(
        ("text", "sem", "scope", "space"),
        [
            ("mbarrier.arrive.b64 rd0, [s]", Sem.RELEASE, Scope.CTA, Space.GENERIC),
            ("mbarrier.arrive.shared::cluster.b64 _, [s]", Sem.RELEASE, Scope.CTA, Space.SHARED_CLUSTER),
            ("mbarrier.arrive_drop.relaxed.cluster.shared.b64 _, [s]", Sem.RELAXED, Scope.CLUSTER, Space.SHARED_CTA),
            ("mbarrier.arrive.expect_tx.shared.b64 _, [s], 16", Sem.RELEASE, Scope.CTA, Space.SHARED_CTA),
            ("mbarrier.arrive.noComplete.shared.b64 rd0, [s], 2", Sem.RELEASE, Scope.CTA, Space.SHARED_CTA),
            ("mbarrier.test_wait.shared.b64 p0, [s], rd0", Sem.ACQUIRE, Scope.CTA, Space.SHARED_CTA),
            ("mbarrier.try_wait.parity.b64 p0, [s], 1", Sem.ACQUIRE, Scope.CTA, Space.GENERIC),
            ("mbarrier.try_wait.relaxed.cluster.b64 p0, [s], rd0", Sem.RELAXED, Scope.CLUSTER, Space.GENERIC),
        ],
    )
    def test_defaults(self, text: str, sem: Sem, scope: Scope, space: Space) -> None:
        assert fields(read(text), "sem", "scope", "space", "mbarrier") == (sem, scope, space, S)

    def test_arrivals(self) -> None:
        plain = read("mbarrier.arrive.shared.b64 rd0, [s], 3")
        assert fields(plain, "state", "count", "expect", "drop", "no_complete") == (
            RD0,
            Immediate(3),
            None,
            False,
            False,
        )
        expecting = read("mbarrier.arrive_drop.expect_tx.shared.b64 _, [s], r1")
        assert fields(expecting, "state", "count", "expect", "drop") == (None, Immediate(1), R1, True)
        assert fields(read("mbarrier.arrive.noComplete.b64 _, [s], 1"), "no_complete") == (True,)

    def test_waits(self) -> None:
        by_state = read("mbarrier.test_wait.shared.b64 p0, [s], rd0")
        assert fields(by_state, "destination", "state", "parity", "suspends", "hint") == (P0, RD0, None, False, None)
        by_parity = read("mbarrier.try_wait.parity.shared.b64 p0, [s], 1, r0")
        assert fields(by_parity, "state", "parity", "suspends", "hint") == (None, Immediate(1), True, R0)

    def test_transactions(self) -> None:
        expect, complete = read("mbarrier.expect_tx.b64 [s], 16"), read("mbarrier.complete_tx.b64 [s], r0")
        assert isinstance(expect, a.MbarrierTransaction)
        assert fields(expect, "complete", "amount", "scope") == (False, Immediate(16), Scope.CTA)
        assert fields(complete, "complete", "amount", "scope") == (True, R0, Scope.CTA)
        assert isinstance(read("mbarrier.inval.b64 [s]"), a.MbarrierInval)
        assert fields(read("mbarrier.init.b64 [s], 2"), "count") == (Immediate(2),)
        assert fields(read("mbarrier.pending_count.b64 r0, rd0"), "destination", "state") == (R0, RD0)


class TestCopies:
    def test_sizes(self) -> None:
        copy = read("cp.async.ca.shared.global [s], [x], 8, 4")
        assert fields(copy, "destination", "source", "size", "level", "source_size", "ignore") == (
            S,
            X,
            8,
            "ca",
            Immediate(4),
            None,
        )
        ignoring = read("cp.async.cg.shared.global.L2::cache_hint [s], [x], 16, !p0, rd0")
        assert fields(ignoring, "source_size", "ignore", "ignore_negated", "level") == (None, P0, True, "cg")

    def test_groups(self) -> None:
        for name, group in (("cp.async", a.Group.COPY), ("cp.async.bulk", a.Group.BULK)):
            assert fields(read(f"{name}.commit_group"), "group") == (group,)
            assert fields(read(f"{name}.wait_group 2"), "group", "pending", "read") == (group, 2, False)
        assert fields(read("cp.async.bulk.wait_group.read 0"), "pending", "read") == (0, True)
        assert fields(read("wgmma.wait_group.sync.aligned 1"), "group", "pending") == (a.Group.WARPGROUP, 1)
        assert isinstance(read("cp.async.wait_all"), a.WaitAll)
        assert fields(read("cp.async.mbarrier.arrive.noinc.b64 [s]"), "noinc", "mbarrier") == (True, S)
        assert fields(read("cp.async.mbarrier.arrive.b64 [s]"), "noinc") == (False,)

    @pytest.mark.parametrize(
        ("way", "operands", "destination", "source", "counted"),
        [
            ("shared::cta.global.mbarrier::complete_tx::bytes", "[s], [x], 16, [s]", "shared::cta", "global", True),
            (
                "shared::cluster.global.mbarrier::complete_tx::bytes",
                "[s], [x], 16, [s]",
                "shared::cluster",
                "global",
                True,
            ),
            (
                "shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
                "[s], [s], 16, [s]",
                "shared::cluster",
                "shared::cta",
                True,
            ),
            ("global.shared::cta.bulk_group", "[x], [s], 16", "global", "shared::cta", False),
        ],
    )
    def test_directions(self, way: str, operands: str, destination: str, source: str, counted: bool) -> None:
        copy = read(f"cp.async.bulk.{way} {operands}")
        assert fields(copy, "destination_space", "source_space", "sem", "scope", "mask") == (
            Space(destination),
            Space(source),
            Sem.WEAK,
            None,
            None,
        )
        assert fields(copy, "mbarrier") == (S if counted else None,)
        relaxed = read(f"cp.async.bulk.relaxed.cta.{way}.b128 {operands}")
        assert fields(relaxed, "sem", "scope") == (Sem.RELAXED, Scope.CTA)

    def test_multicast(self) -> None:
        opcode = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
        assert fields(read(f"{opcode} [s], [x], 16, [s], rs0, rd0"), "mask", "size") == (RS0, Immediate(16))

    def test_reductions(self) -> None:
        to_global = read("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [x], [s], r0")
        assert fields(to_global, "op", "scope", "mbarrier", "size") == (AtomOp.ADD, Scope.SYS, None, R0)
        to_shared = "cp.reduce.async.bulk.relaxed.cluster.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        assert fields(read(f"{to_shared}.inc.u32 [s], [s], 16, [s]"), "op", "scope", "mbarrier") == (
            AtomOp.INC,
            Scope.CLUSTER,
            S,
        )
        assert fields(read("multimem.cp.async.bulk.global.shared::cta.bulk_group [x], [s], 16"), "multimem") == (True,)

    def test_prefetches_are_hints(self) -> None:
        assert isinstance(read("cp.async.bulk.prefetch.L2.global [x], 16"), Nop)
        assert isinstance(read("cp.async.bulk.prefetch.tensor.1d.L2.global [x, {r0}]"), Nop)


class TestTensors:
    def test_loads(self) -> None:
        opcode = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        load = read(f"{opcode}.multicast::cluster.cta_group::2 [s], [x, {{r0, -1, 2}}], [s], {{rs0}}, 3")
        assert isinstance(load, t.TensorLoad)
        assert fields(load, "map", "dimensions", "coordinates") == (X, 3, (R0, Immediate(-1), Immediate(2)))
        assert fields(load, "mode", "offsets", "mask", "cta_group") == (t.TensorMode.IM2COL, (RS0,), Immediate(3), 2)

    def test_gathers_have_five_coordinates(self) -> None:
        rows = "{r0, r1, r2, r3, r4}"
        store = read(f"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [x, {rows}], [s]")
        assert fields(store, "mode", "dimensions") == (t.TensorMode.SCATTER4, 2)
        assert isinstance(store, t.TensorStore)
        assert len(store.coordinates) == 5

    def test_reductions(self) -> None:
        reduce = read("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.bulk_group [rd0, {r0}], [s]")
        assert fields(reduce, "op", "map", "mode") == (AtomOp.MIN, Address(RD0), t.TensorMode.TILE)

    def test_maps(self) -> None:
        replace = read("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [s], 1, 64")
        assert fields(replace, "field", "ordinal", "value", "space") == (
            t.TensormapField.BOX_DIM,
            1,
            Immediate(64),
            Space.SHARED_CTA,
        )
        copy = read(
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [x], [s], 128"
        )
        assert fields(copy, "destination", "source", "scope") == (X, S, Scope.GPU)


class TestOthers:
    def test_stores(self) -> None:
        weak = read("st.async.mbarrier::complete_tx::bytes.v2.b32 [s], {r0, 1}, [s]")
        assert fields(weak, "sem", "scope", "mbarrier", "sources") == (Sem.WEAK, None, S, (R0, Immediate(1)))
        release = read("st.async.mmio.release.sys.global.b32 [x], r0")
        assert fields(release, "sem", "scope", "mbarrier", "mmio") == (Sem.RELEASE, Scope.SYS, None, True)

    def test_reductions(self) -> None:
        relaxed = read("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.and.b32 [s], r0, [s]", columns=True)
        assert fields(relaxed, "op", "sem", "scope") == (AtomOp.AND, Sem.RELAXED, Scope.CLUSTER)
        release = read("red.async.release.gpu.add.s64 [x], rd0")
        assert fields(release, "sem", "scope", "mbarrier") == (Sem.RELEASE, Scope.GPU, None)

    def test_matrices(self) -> None:
        opcode = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
        multiply = read(f"{opcode} {{r0, r1, r2, r3}}, [s], rd0, p0, 1, -1, 0, 1")
        assert isinstance(multiply, a.WarpgroupMultiply)
        assert fields(multiply, "shape", "a", "b", "scale_d") == ((64, 8, 16), S, RD0, P0)
        assert fields(multiply, "scales", "transposes") == ((1, -1), (0, 1))
        fragments = read(f"{opcode} {{r0, r1, r2, r3}}, {{r0, r1, r2, r3}}, s, 1, 1, 1, 0")
        assert fields(fragments, "b", "scale_d", "transposes") == (S, Immediate(1), (0,))

    def test_launches(self) -> None:
        cancel = "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"
        assert fields(read(f"{cancel} [s], [s]"), "multicast", "mbarrier") == (True, S)
        assert fields(read("griddepcontrol.wait"), "launch") == (False,)
        assert fields(read("griddepcontrol.launch_dependents"), "launch") == (True,)


@pytest.mark.parametrize(
    ("text", "at", "hint"),
    [
        ("mbarrier.arrive.release.gpu.shared.b64 rd0, [s]", "gpu", "nearest: mbarrier.arrive.release.cta.shared.b64"),
        ("mbarrier.arrive.shared::cluster.b64 rd0, [s]", "rd0", "write _"),
        ("mbarrier.init.shared [s], 1", "mbarrier.init.shared", "nearest: mbarrier.init.shared.b64"),
        ("mbarrier.try_wait.acquire.shared.b64 p0, [s], rd0", "acquire", "nearest: mbarrier.try_wait.acquire.cta"),
        ("cp.async.cg.shared.global [s], [x], 4", "4", "write 16"),
        ("cp.async.shared.global [s], [x], 4", "cp.async.shared.global", "nearest: cp.async.shared.global.ca"),
        (f"{TO_CTA} [s], [x], 20, [s]", "20", "write 32"),
        (TO_CTA.replace("cta", "cta.shared") + " [s], [x], 16, [s]", "shared", "nearest: cp.async.bulk"),
        ("cp.async.bulk.global.shared::cta.bulk_group.b128 [x], [s], 16", "b128", "nearest: cp.async.bulk.global"),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [x, {r0}], [s]",
            "{r0}",
            "write {r0, r1}",
        ),
        ("st.async.relaxed.gpu.b32 [x], r0", "relaxed", "nearest: st.async.release.gpu.b32"),
        (
            "red.async.cluster.mbarrier::complete_tx::bytes.add.u32 [s], r0, [s]",
            "red.async.cluster.mbarrier::complete_tx::bytes.add.u32",
            "nearest: red.async.relaxed.cluster",
        ),
        ("griddepcontrol.wait 0", "0", "write griddepcontrol.wait alone"),
    ],
)
def test_refusals_name_the_place_and_what_to_write(text: str, at: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(text)
    error = caught.value
    assert text[error.span.column - 1 :][: error.span.length] == at
    assert error.hint is not None
    assert error.hint.startswith(hint)


def whole(body: str) -> str:
    declared = ".global .align 16 .b32 x[64]; .shared .align 16 .b32 s[64]; .const .align 16 .b32 c[64]"
    return f"PTX T {{ {declared} }} P0 {{ .reg .f32 %f<10>; .reg .f64 %fd<10>; {body}; }} exists (true)"


def one_of_each() -> list[str]:
    """A form for every asynchronous class."""
    found: dict[type, str] = {}
    for form in forms("accepted"):
        instruction = read(form)
        if type(instruction).__module__ in (a.__name__, t.__name__):
            found.setdefault(type(instruction), form)
    return list(found.values())


def test_every_class_has_a_form() -> None:
    classes = [
        c
        for module in (a, t)
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Instruction) and c.__module__ == module.__name__
    ]
    assert len(one_of_each()) == len(classes)


@pytest.mark.parametrize("form", one_of_each())
def test_read_and_printed_and_decided(form: str) -> None:
    test = parse_test(SourceFile("t.litmus", whole(form)))
    again = parse_test(SourceFile("t.litmus", print_test(test)))
    assert print_test(again) == print_test(test)
    assert handler_of(type(test.threads[0].body[0])) is not None
