"""Instructions of PTX that are legal and not decided: some asynchronous, some without a part in litmus tests."""

from __future__ import annotations

from typing import NoReturn

from memcheck.ptx.decode.words import LaterError, Words

ASYNCHRONOUS = {
    "tcgen05": 2,
    "fabric": 2,
}
"""Mnemonic -> how many leading words name the instruction."""

_OTHER = """
    addc alloca bfi bfind bmsk brkpt brx call clmad cnot copysign cos createpolicy discard dp2a dp4a ex2
    fma fns getctarank istypep ldmatrix ldu lg2 lop3 mad24 madc mma mul24 movmatrix pmevent prmt rcp rsqrt sad
    setmaxnreg shf sin slct spcompress spdecompress sqrt stackrestore stacksave stmatrix subc suq szext tanh testp
    tex tld4 trap txq vabsdiff vadd vmad vmax vmin vset vshl vshr vsub wmma
"""
OTHER = frozenset(_OTHER.split())


def analyse(words: Words) -> NoReturn:
    """Always raises LaterError."""
    raise LaterError(".".join(words[: ASYNCHRONOUS.get(words[0], 1)]))


def asynchronous(words: Words) -> str | None:
    """`st.bulk`, `multimem.st.async`, `multimem.red.async`, whose mnemonic is also another instruction's."""
    if words[0] == "st" and "bulk" in words:
        return "st.bulk"
    if words[0] == "multimem" and words[1:2] in (("st",), ("red",)) and "async" in words:
        return f"multimem.{words[1]}.async"
    return None
