"""One table from mnemonic to family, and the way from a raw instruction to an Instruction."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.errors import SourceError, UnsupportedError
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
    nearest,
)
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Words
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.raw import Names, RawInstruction
from memcheck.source import Span

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

LIMIT = 4096
"""Opcodes kept; far more than any corpus has, and a bound for fuzzed ones."""

_FORMS: dict[tuple[Words, bool], Form] = {}


def decode(raw: RawInstruction, names: Names) -> Instruction:
    """The instruction with its defaults; SourceError where it is illegal, UnsupportedError where it is not decided."""
    key = (raw.words, names.columns)
    form = _FORMS.get(key)
    if form is None:
        try:
            form = analyse(raw.words, names.columns)
        except FormError as refused:
            raise _located(refused, raw, names.columns) from None
        if len(_FORMS) >= LIMIT:
            _FORMS.clear()
        _FORMS[key] = form
    return form.build(Reader(raw, names))


def analyse(words: Words, columns: bool) -> Form:
    """What the words say, without operands; raises FormError."""
    family = COLUMNS.get(words[0]) if columns else None
    family = family or FAMILIES.get(words[0])
    if family is None:
        raise FormError(f"PTX has no instruction {words[0]}", 0)
    later = elsewhere.asynchronous(words)
    if later is not None:
        raise LaterError(later)
    return family(words)


def _legal(words: Words, columns: bool) -> bool:
    try:
        analyse(words, columns)
    except FormError:
        return False
    return True


def _located(refused: FormError, raw: RawInstruction, columns: bool) -> SourceError:
    span = _opcode(raw) if refused.at is None else raw.spans[min(refused.at, len(raw.spans) - 1)]
    if isinstance(refused, LaterError):
        return UnsupportedError(f"{refused.message} is not supported yet.", span)
    if raw.words[0] not in FAMILIES:
        near = nearest.mnemonic(raw.words[0], FAMILIES)
        return SourceError(f"{refused.message}.", span, None if near is None else f"nearest: {near}")
    forms = nearest.forms(raw.words, lambda words: _legal(words, columns))
    return SourceError(f"{refused.message}.", span, f"nearest: {', '.join(forms)}" if forms else None)


def _opcode(raw: RawInstruction) -> Span:
    """The whole opcode."""
    first, last = raw.spans[0], raw.spans[-1]
    if first.line != last.line:
        return first
    return Span(first.source, first.line, first.column, last.column + last.length - first.column)
