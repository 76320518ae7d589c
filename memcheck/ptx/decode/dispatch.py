"""The way from a raw instruction to an Instruction."""

from __future__ import annotations

from collections.abc import Callable

from memcheck.errors import SourceError, UnsupportedError
from memcheck.ptx.decode import elsewhere, memory
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, LaterError, Words
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.raw import Names, RawInstruction
from memcheck.source import Span

Analyser = Callable[[Words], Form]

USUAL: dict[str, Analyser] = {"ld": memory.analyse, "st": memory.analyse}
"""What most tests have; the whole table, with all families, is imported for others."""

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
    is_async = words[1:2] == ("async",)
    family = None if is_async else USUAL.get(words[0])
    if family is None:
        from memcheck.ptx.decode.families import ASYNC, COLUMNS, FAMILIES

        family = ASYNC.get(words[0]) if is_async else COLUMNS.get(words[0]) if columns else None
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
    from memcheck.ptx.decode import nearest
    from memcheck.ptx.decode.families import FAMILIES

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
