"""One table from mnemonic to the family that reads it."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.ptx.decode import (
    arithmetic,
    atomics,
    barriers,
    collectives,
    comparisons,
    control,
    elsewhere,
    fences,
    memory,
    multimem,
)
from memcheck.ptx.decode.operands import Form
from memcheck.ptx.decode.words import Words

Analyser = Callable[[Words], Form]


def _cp(words: Words) -> Form:
    from memcheck.ptx.decode import copies

    return copies.analyse(words)


def _mbarrier(words: Words) -> Form:
    from memcheck.ptx.decode import mbarriers

    return mbarriers.analyse(words)


def _tensormap(words: Words) -> Form:
    from memcheck.ptx.decode import tensormaps

    return tensormaps.analyse(words)


def _wgmma(words: Words) -> Form:
    from memcheck.ptx.decode import matrices

    return matrices.analyse(words)


def _cancel(words: Words) -> Form:
    from memcheck.ptx.decode import launches

    return launches.analyse_cancel(words)


def _grid(words: Words) -> Form:
    from memcheck.ptx.decode import launches

    return launches.analyse_grid(words)


def _stores(words: Words) -> Form:
    from memcheck.ptx.decode import stores

    return stores.analyse(words)


FAMILIES: dict[str, Analyser] = {
    **dict.fromkeys(("ld", "st"), memory.analyse),
    **dict.fromkeys((*memory.ABSTRACT_LOADS, *memory.ABSTRACT_STORES), memory.analyse_abstract),
    **dict.fromkeys(("atom", "red", "suatom", "sured"), atomics.analyse),
    "multimem": multimem.analyse,
    **dict.fromkeys(("fence", "membar"), fences.analyse),
    **dict.fromkeys(("bar", "barrier"), barriers.analyse),
    **dict.fromkeys(collectives.WORDS, collectives.analyse),
    **dict.fromkeys((name for name in arithmetic.ROWS if "." not in name), arithmetic.analyse),
    "mad": arithmetic.analyse,
    "setp": comparisons.analyse_setp,
    "set": comparisons.analyse_set,
    "cvt": comparisons.analyse_cvt,
    "isspacep": comparisons.analyse_isspacep,
    **dict.fromkeys(("bra", "goto", *control.COMPARES), control.analyse_branch),
    **dict.fromkeys(("ret", "exit"), control.analyse_exit),
    "nanosleep": control.analyse_sleep,
    **dict.fromkeys(control.HINTS, control.analyse_hint),
    "cp": _cp,
    "mbarrier": _mbarrier,
    "tensormap": _tensormap,
    "wgmma": _wgmma,
    "clusterlaunchcontrol": _cancel,
    "griddepcontrol": _grid,
    **dict.fromkeys((*elsewhere.ASYNCHRONOUS, *elsewhere.OTHER), elsewhere.analyse),
}
"""Asynchronous families are imported when a test has one."""

ASYNC: dict[str, Analyser] = {"st": _stores, "red": _stores}
"""What `.async` behind the mnemonic makes another instruction."""

COLUMNS: dict[str, Analyser] = {"bar": barriers.analyse_peer, "red": atomics.analyse_peer}
"""What the columns layout reads in the peers' dialect."""
