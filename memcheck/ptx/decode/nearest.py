"""Known forms, and those nearest to a spelling that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import SequenceMatcher, get_close_matches

from memcheck.ptx.decode.words import SCOPES, SPACES, VECTORS, Words
from memcheck.ptx.types import TYPES

FORMS: dict[str, str] = {
    "ld": """
        ld.weak.b32 ld.relaxed.gpu.b32 ld.acquire.gpu.b32 ld.volatile.b32 ld.mmio.relaxed.sys.b32
        ld.relaxed.gpu.global.v2.b32 ld.global.nc.b32 ld.proxy::readonly.b32 ld.acquire.cta.shared::cta.b32
        ld.shared::cluster.b32 ld.const.b32 ld.weak.global.v4.b32 ld.relaxed.sys.b128 ld.acquire.cluster.b64
    """,
    "st": """
        st.weak.b32 st.relaxed.gpu.b32 st.release.gpu.b32 st.volatile.b32 st.mmio.relaxed.sys.b32
        st.relaxed.gpu.global.v2.b32 st.release.cta.shared::cta.b32 st.shared::cluster.b32 st.weak.global.v4.b32
        st.relaxed.sys.b128 st.release.cluster.b64
    """,
    "atom": """
        atom.relaxed.gpu.add.u32 atom.acquire.gpu.cas.b32 atom.release.gpu.exch.b32 atom.acq_rel.gpu.add.u64
        atom.relaxed.gpu.inc.u32 atom.relaxed.gpu.dec.u32 atom.relaxed.gpu.min.s32 atom.relaxed.gpu.max.u64
        atom.relaxed.gpu.and.b32 atom.relaxed.gpu.or.b32 atom.relaxed.gpu.xor.b64 atom.relaxed.cta.shared::cta.add.u32
        atom.relaxed.gpu.global.add.v2.f32 atom.relaxed.gpu.add.noftz.f16x2 atom.relaxed.sys.exch.b128
    """,
    "red": """
        red.relaxed.gpu.add.u32 red.release.gpu.add.u32 red.release.gpu.or.b32 red.relaxed.gpu.inc.u32
        red.relaxed.gpu.max.s32 red.relaxed.gpu.global.add.v2.f32 red.relaxed.gpu.add.noftz.f16x2
    """,
    "multimem": """
        multimem.ld_reduce.weak.global.add.u32 multimem.ld_reduce.acquire.sys.global.add.u32
        multimem.st.relaxed.sys.global.b32 multimem.st.weak.global.b32 multimem.red.release.sys.global.add.u32
        multimem.cp.async.bulk.global.shared::cta.bulk_group
        multimem.cp.async.bulk.relaxed.sys.global.shared::cta.bulk_group.b128
        multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32
    """,
    "fence": """
        fence.sc.gpu fence.acq_rel.gpu fence.acquire.gpu fence.release.gpu fence.acq_rel.cta fence.sc.sys
        fence.acquire.sync_restrict::shared::cluster.cluster fence.release.sync_restrict::shared::cta.cluster
        fence.mbarrier_init.release.cluster fence.proxy.alias fence.proxy.async fence.proxy.async.global
        fence.proxy.async.shared::cta fence.proxy.async.shared::cluster fence.proxy.texture fence.proxy.surface
        fence.proxy.constant fence.proxy.tensormap::generic.release.gpu fence.proxy.tensormap::generic.acquire.gpu
        fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
        fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
    """,
    "membar": "membar.cta membar.gl membar.sys membar.proxy.alias membar.proxy.async",
    "bar": """
        bar.sync bar.arrive bar.red.popc.u32 bar.red.and.pred bar.red.or.pred bar.cta.sync bar.cta.arrive
        bar.warp.sync
    """,
    "barrier": """
        barrier.cta.sync barrier.cta.arrive barrier.cta.red.popc.u32 barrier.cta.red.and.pred
        barrier.cluster.arrive barrier.cluster.arrive.relaxed barrier.cluster.wait barrier.cta.sync.aligned
    """,
    "cp": """
        cp.async.ca.shared::cta.global cp.async.cg.shared::cta.global cp.async.commit_group cp.async.wait_group
        cp.async.wait_all cp.async.mbarrier.arrive.noinc.shared::cta.b64 cp.async.mbarrier.arrive.shared::cta.b64
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
        cp.async.bulk.global.shared::cta.bulk_group
        cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128
        cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128
        cp.async.bulk.commit_group cp.async.bulk.wait_group cp.async.bulk.wait_group.read
        cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32
        cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32
        cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
        cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
        cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes
        cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
        cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group
        cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
        cp.async.bulk.prefetch.L2.global cp.async.bulk.prefetch.tensor.2d.L2.global.tile
    """,
    "mbarrier": """
        mbarrier.init.shared::cta.b64 mbarrier.inval.shared::cta.b64
        mbarrier.arrive.shared::cta.b64 mbarrier.arrive.release.cta.shared::cta.b64
        mbarrier.arrive.release.cluster.shared::cluster.b64 mbarrier.arrive.relaxed.cta.shared::cta.b64
        mbarrier.arrive.expect_tx.shared::cta.b64 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64
        mbarrier.arrive.noComplete.shared::cta.b64 mbarrier.arrive_drop.shared::cta.b64
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 mbarrier.complete_tx.relaxed.cta.shared::cta.b64
        mbarrier.expect_tx.shared::cta.b64 mbarrier.test_wait.shared::cta.b64
        mbarrier.test_wait.parity.shared::cta.b64 mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
        mbarrier.try_wait.shared::cta.b64 mbarrier.try_wait.parity.shared::cta.b64
        mbarrier.try_wait.acquire.cluster.shared::cta.b64 mbarrier.pending_count.b64
    """,
    "tensormap": """
        tensormap.replace.tile.global_address.global.b1024.b64 tensormap.replace.tile.rank.global.b1024.b32
        tensormap.replace.tile.box_dim.shared::cta.b1024.b32 tensormap.replace.tile.global_dim.global.b1024.b32
        tensormap.replace.tile.global_stride.global.b1024.b64
        tensormap.replace.tile.element_stride.global.b1024.b32 tensormap.replace.tile.elemtype.global.b1024.b32
        tensormap.replace.tile.interleave_layout.global.b1024.b32
        tensormap.replace.tile.swizzle_mode.global.b1024.b32
        tensormap.replace.tile.swizzle_atomicity.global.b1024.b32
        tensormap.replace.tile.fill_mode.global.b1024.b32
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
    """,
    "wgmma": """
        wgmma.fence.sync.aligned wgmma.commit_group.sync.aligned wgmma.wait_group.sync.aligned
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
        wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2
        wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8
    """,
    "clusterlaunchcontrol": """
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
    """,
    "griddepcontrol": "griddepcontrol.wait griddepcontrol.launch_dependents",
    "st.async": """
        st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32
        st.async.release.gpu.global.b32 st.async.mmio.release.sys.global.b32
    """,
    "red.async": """
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32
        red.async.release.gpu.global.add.u32 red.async.mmio.release.sys.global.add.u32
    """,
    "shfl": "shfl.sync.up.b32 shfl.sync.down.b32 shfl.sync.bfly.b32 shfl.sync.idx.b32",
    "vote": "vote.sync.all.pred vote.sync.any.pred vote.sync.uni.pred vote.sync.ballot.b32",
    "match": "match.any.sync.b32 match.all.sync.b32 match.any.sync.b64",
    "redux": "redux.sync.add.u32 redux.sync.min.s32 redux.sync.max.u32 redux.sync.or.b32",
    "elect": "elect.sync",
    "activemask": "activemask.b32",
    "tld": "tld.weak.b32",
    "suld": "suld.weak.b32",
    "cold": "cold.weak.b32",
    "sust": "sust.weak.b32",
    "suatom": "suatom.relaxed.gpu.add.u32",
    "sured": "sured.relaxed.gpu.add.u32",
    "mov": "mov.b32 mov.u64 mov.pred",
    "add": "add.u32 add.s32 add.u64",
    "sub": "sub.u32 sub.s32 sub.u64",
    "mul": "mul.lo.u32 mul.hi.u32 mul.wide.u32",
    "mad": "mad.lo.u32 mad.wide.u32",
    "div": "div.u32 div.s32",
    "rem": "rem.u32 rem.s32",
    "abs": "abs.s32",
    "neg": "neg.s32",
    "min": "min.u32 min.s32",
    "max": "max.u32 max.s32",
    "popc": "popc.b32",
    "clz": "clz.b32",
    "brev": "brev.b32",
    "bfe": "bfe.u32",
    "and": "and.b32 and.pred",
    "or": "or.b32 or.pred",
    "xor": "xor.b32 xor.pred",
    "not": "not.b32 not.pred",
    "shl": "shl.b32",
    "shr": "shr.u32 shr.s32 shr.b32",
    "selp": "selp.b32 selp.b64",
    "setp": "setp.eq.u32 setp.ne.u32 setp.lt.s32 setp.ge.u64 setp.eq.and.u32",
    "set": "set.eq.u32.u32",
    "cvt": "cvt.u64.u32 cvt.u32.u64 cvt.s64.s32",
    "cvta": "cvta.global.u64 cvta.to.shared.u64",
    "mapa": "mapa.u64 mapa.shared::cluster.u32",
    "isspacep": "isspacep.global isspacep.shared",
    "bra": "bra bra.uni",
    "goto": "goto",
    "beq": "beq",
    "bne": "bne",
    "blt": "blt",
    "ble": "ble",
    "bgt": "bgt",
    "bge": "bge",
    "ret": "ret",
    "exit": "exit",
    "nanosleep": "nanosleep.u32",
    "prefetch": "prefetch.global.L1 prefetch.global.L2 prefetch.tensormap",
    "prefetchu": "prefetchu.L1",
    "applypriority": "applypriority.global.L2::evict_normal",
}
"""Typical forms of each mnemonic, and the words that its suggestions are made of."""

SWAPS = {"red": "atom", "bar": "barrier", "barrier": "bar", "fence": "membar", "membar": "fence"}
SHOWN = 3
LONGEST = 12
"""Words of an opcode beyond which no near form is looked for: none has more."""

_VOCABULARY = {
    name: sorted({w for form in forms.split() for w in form.split(".")[1:]} | set(extra.split()))
    for name, forms in FORMS.items()
    for extra in [
        "cta cluster gpu sys global shared::cta shared::cluster u32 s32 u64 b64 b16 b128"
        if name in ("ld", "st", "atom", "red", "multimem", "fence")
        else "cta cluster gpu sys u32 s32 u64 b64"
        if name in ("cp", "mbarrier", "st.async", "red.async")
        else "u16 s16 u32 s32 u64 s64 b16 b32 b64"
    ]
}
_RANK = (
    dict.fromkeys(("weak", "relaxed", "acquire", "release", "acq_rel", "sc", "volatile"), 1)
    | dict.fromkeys((*SCOPES, "gl"), 2)
    | dict.fromkeys(SPACES, 3)
    | dict.fromkeys(VECTORS, 5)
    | dict.fromkeys(TYPES, 6)
)


def mnemonic(word: str, known: Iterable[str]) -> str | None:
    """The known mnemonic nearest to `word`."""
    near = get_close_matches(word, list(known), 1, 0.6)
    return near[0] if near else None


def forms(words: Words, legal: Callable[[Words], bool]) -> list[str]:
    """The legal forms nearest to `words`: one word away if there are such, else the likest of FORMS.

    A form that keeps all words comes first, one that loses a word last; of scopes to add, .gpu comes first.
    """
    if len(words) > LONGEST:
        return []
    text = ".".join(words)
    candidates: dict[frozenset[str], tuple[int, Words]] = {}
    for cost, candidate in _one_away(words):
        candidates.setdefault(frozenset(candidate), (cost, candidate))
    near = sorted(
        (cost, bool(set(SCOPES) & set(candidate).difference(words) - {"gpu"}), -_likeness(form, text), form)
        for cost, candidate in candidates.values()
        if legal(candidate)
        for form in [".".join(candidate)]
    )
    if near:
        return [form for *_, form in near[:SHOWN]]
    known = [f for f in FORMS[_name(words)].split() if f != text] if _name(words) in FORMS else []
    return sorted(known, key=lambda form: -_likeness(form, text))[:SHOWN]


def _name(words: Words) -> str:
    """The key of FORMS: the mnemonic, with `.async` where that makes another instruction."""
    name = ".".join(words[:2])
    return name if name in FORMS else words[0]


def _likeness(form: str, text: str) -> float:
    return SequenceMatcher(None, form, text).ratio()


def _ordered(words: tuple[str, ...]) -> Words:
    """Words after the mnemonic in the order of the ISA manual; names of sub-operations stay in front."""
    bound = _BOUND.union(_PARTS.get(words[0], "").split())
    return words[:1] + tuple(sorted(words[1:], key=lambda w: _RANK.get(w, 0 if w in bound else 4)))


_BOUND = frozenset(
    ("proxy", "mmio", "lo", "hi", "wide", "to", "ld_reduce", "st", "red", "warp", "sync", "async", "proxy::readonly")
)
"""Words that stay directly behind the mnemonic."""

_PARTS = {
    "cp": "reduce bulk tensor prefetch commit_group wait_group wait_all mbarrier arrive noinc 1d 2d 3d 4d 5d",
    "multimem": "cp reduce bulk",
    "mbarrier": """
        init inval arrive arrive_drop expect_tx complete_tx noComplete pending_count test_wait try_wait parity
    """,
    "tensormap": "replace tile cp_fenceproxy",
    "wgmma": "fence commit_group wait_group mma_async",
    "clusterlaunchcontrol": "try_cancel",
}
"""And those that do behind one mnemonic."""


def _one_away(words: Words) -> Iterable[tuple[int, Words]]:
    """Words one edit away, with its cost."""
    vocabulary = [word for word in _VOCABULARY.get(_name(words), ()) if word not in words]
    for word in vocabulary:
        yield 0, _ordered((*words, word))
    swap = SWAPS.get(words[0])
    if swap is not None:
        yield 1, (swap, *words[1:])
    for at in range(1, len(words)):
        for word in vocabulary:
            alike = words[at] not in _RANK or _RANK.get(word) == _RANK[words[at]]
            yield 1 if alike else 2, (*words[:at], word, *words[at + 1 :])
        yield 2, (*words[:at], *words[at + 1 :])
