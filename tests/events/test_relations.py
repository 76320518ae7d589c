"""Base relations of the program and of addresses."""

from dataclasses import replace

from memcheck.events.relations import address_relation, address_set, program_relation, program_set
from memcheck.events.structure import Kind
from memcheck.events.unfold import unfold
from memcheck.events.vocabulary import VOCABULARY, Source
from memcheck.ptx import instructions as ptx
from memcheck.ptx.qualifiers import FenceProxy, Proxy, Scope, Sem, Space
from memcheck.relations.expression import ExprKind
from tests.events.building import SPAN, atom, bar, build, fence, ld, red, st, var
from tests.events.copying import structure as copying

ASYNCHRONOUS = """
  cp.async.wait_group 0;
  cp.async.ca.shared::cta.global [s], [x], 4;
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [m];
  cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [s], [tm, {0}], [m];
  mbarrier.test_wait.parity.shared::cta.b64 p0, [m], 0;
  mbarrier.inval.shared::cta.b64 [m];
  mbarrier.init.shared::cta.b64 [m], 1;
  fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
"""


def pairs(structure, name):
    return {(i, j) for i, row in enumerate(program_relation(structure, name)) for j in range(99) if row >> j & 1}


def test_every_program_name_is_there():
    structure = unfold(build([st("x", 1), ld("r0", "x")]))
    for name, entry in VOCABULARY.items():
        if entry.source is Source.PROGRAM:
            if entry.kind is ExprKind.SET:
                assert program_set(structure, name) < 8
            else:
                assert len(program_relation(structure, name)) == 3
    assert program_set(structure, "_") == 0b111
    assert program_set(structure, "IW") == 1
    assert program_set(structure, "W") == 0b11
    assert program_set(structure, "GEN") == 0b110


def test_every_program_set_has_a_member():
    fences = [
        ptx.Fence(text="", span=SPAN, sem=Sem.ACQUIRE, scope=Scope.CLUSTER, restriction=ptx.Restriction.SHARED_CLUSTER),
        ptx.Fence(text="", span=SPAN, sem=Sem.RELEASE, scope=Scope.CLUSTER, restriction=ptx.Restriction.MBARRIER_INIT),
        *(ptx.ProxyFence(text="", span=SPAN, proxy=p) for p in FenceProxy),
    ]
    accesses = [
        *(ld("r0", "x", proxy=p) for p in (Proxy.TEXTURE, Proxy.SURFACE, Proxy.CONSTANT, Proxy.NONCOHERENT)),
        red("add", "x", 1, sem=Sem.RELEASE, scope=Scope.SYS),
        replace(ld("r0", "x", Sem.RELAXED, Scope.SYS), volatile=True),
        replace(ld("r0", "x", Sem.RELAXED, Scope.SYS), mmio=True),
        ld("r0", "x", Sem.ACQUIRE, Scope.CTA),
    ]
    structure = unfold(build([*fences, *accesses, fence(Sem.SC), fence(), bar("sync", 0), bar("arrive", 1, 32)]))
    later = copying(ASYNCHRONOUS, more=".const .tensormap tm = { base = x, type = .u32, dims = {4}, box = {4} };")
    names = [n for n, e in VOCABULARY.items() if e.kind is ExprKind.SET and e.source is Source.PROGRAM]
    assert [name for name in names if not program_set(structure, name) | program_set(later, name)] == []
    assert program_set(structure, "B").bit_count() == 2
    assert program_set(structure, "WAIT").bit_count() == 1
    assert program_set(structure, "F").bit_count() == 2 + len(FenceProxy) + 2
    assert program_set(structure, "PROXY_FENCE").bit_count() == len(FenceProxy)
    assert program_set(structure, "ONE_WAY") == program_set(structure, "RESTRICTED") | program_set(
        structure, "MBARRIER_INIT"
    )
    assert [program_set(structure, name).bit_count() for name in ("TEX", "SUR", "CON", "ALIAS", "RO")] == [
        2,
        2,
        2,
        1,
        1,
    ]


def test_program_order_leaves_out_the_elements_of_a_vector():
    body = [ld(["r0", "r1"], "x"), fence(), atom("add", "r2", "y", 0, type="f16x2")]
    structure = unfold(build(body, [fence()], variables=[var("x", init=(0, 0), align=8), var("y")]))
    assert [e.kind for e in structure.events[1:]] == [
        Kind.READ, Kind.READ, Kind.FENCE, Kind.READ, Kind.WRITE, Kind.READ, Kind.WRITE, Kind.FENCE,
    ]  # fmt: skip
    within = {(4, 5), (6, 7)}
    outside = {(i, j) for i in range(1, 8) for j in range(i + 1, 8)}
    unordered = {(1, 2)} | {(i, j) for i in range(4, 8) for j in range(4, 8)}
    assert pairs(structure, "po") == (outside - unordered) | within
    assert pairs(structure, "rmw") == within


def test_threads_scopes_and_ctas():
    gpu, cta = (Sem.RELAXED, Scope.GPU), (Sem.RELAXED, Scope.CTA)
    places = [{"cta": 0}, {"cta": 0}, {"cta": 1}, {"cta": 2, "gpu": 1}]
    bodies = [[st("x", 1, *cta), st("x", 2)], [st("x", 3, *gpu)], [st("x", 4, *gpu)], [st("x", 5, *gpu)]]
    structure = unfold(build(*bodies, places=places))
    assert pairs(structure, "sr") == {(a, b) for a, b in [
        (1, 1), (3, 3), (4, 4), (5, 5), (1, 3), (3, 1), (3, 4), (4, 3),
    ]}  # fmt: skip
    assert pairs(structure, "int") == {(i, j) for i in (1, 2) for j in (1, 2)} | {(i, i) for i in (3, 4, 5)}
    assert pairs(structure, "scta") == {(i, j) for i in (1, 2, 3) for j in (1, 2, 3)} | {(4, 4), (5, 5)}
    everything = {(i, j) for i in range(6) for j in range(6)}
    assert pairs(structure, "ext") == everything - pairs(structure, "int") - {(0, 0)}


def test_bytes_decide_addresses():
    variables = [var("x", "b64"), var("y", "b64", aliases="x")]
    memory = unfold(build([], variables=variables)).memory
    x, y = (memory.instance(v).base for v in ("x", "y"))
    cases = {
        "loc": [1, 1, 0, 0, 0],
        "vloc": [1, 0, 0, 0, 0],
        "overlap": [1, 1, 1, 1, 0],
        "voverlap": [1, 0, 1, 0, 0],
    }
    others = [(x, 4), (y, 4), (x, 8), (y + 2, 4), (x + 4, 4)]
    for name, expected in cases.items():
        assert [int(address_relation(memory, name, (x, 4), other)) for other in others] == expected, name
        assert [int(address_relation(memory, name, other, (x, 4))) for other in others] == expected, name


def test_bytes_decide_address_sets():
    variables = [var("x"), var("s", space=Space.SHARED_CTA)]
    places = [{"cta": 0, "cluster": 0}, {"cta": 1, "cluster": 0}]
    structure = unfold(build([ld("r0", "x")], [ld("r0", "x")], variables=variables, places=places))
    x, s, peer = (structure.memory.instance(v, c).base for v, c in (("x", None), ("s", 0), ("s", 1)))
    read = structure.events[1]
    assert [address_set(structure, "SHARED", read, address) for address in (x, s, peer)] == [False, True, True]
    assert [address_set(structure, "REMOTE", read, address) for address in (x, s, peer)] == [False, False, True]
