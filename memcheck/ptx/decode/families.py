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
    **dict.fromkeys((*elsewhere.ASYNCHRONOUS, *elsewhere.OTHER), elsewhere.analyse),
}

COLUMNS: dict[str, Analyser] = {"bar": barriers.analyse_peer, "red": atomics.analyse_peer}
"""What the columns layout reads in the peers' dialect."""
