"""`tensormap.replace` (ISA 9.7.10.29), `tensormap.cp_fenceproxy` (ISA 9.7.15.17)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.objects import immediate, shared, within
from memcheck.ptx.decode.operands import Form, Reader
from memcheck.ptx.decode.words import FormError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Immediate, Operand
from memcheck.ptx.qualifiers import Scope, Space
from memcheck.ptx.raw import RawNumber
from memcheck.ptx.tensors import TensormapCopy, TensormapField, TensormapReplace
from memcheck.ptx.types import TYPES

REPLACE_PAGE, COPY_PAGE = "9.7.10.29", "9.7.15.17"
MAP_BYTES = 128

BY_DIMENSION = (
    TensormapField.BOX_DIM,
    TensormapField.GLOBAL_DIM,
    TensormapField.GLOBAL_STRIDE,
    TensormapField.ELEMENT_STRIDE,
)
CODES = {
    TensormapField.ELEMTYPE: 15,
    TensormapField.INTERLEAVE: 2,
    TensormapField.SWIZZLE: 3,
    TensormapField.SWIZZLE_ATOMICITY: 3,
    TensormapField.FILL: 1,
}
"""Fields whose value is an immediate, and its largest."""
LAST_DIMENSION = 4
FIELDS = {field.value: field for field in TensormapField}

REPLACE = slots(
    tile="tile", field=FIELDS, space="global shared shared::cta shared::cluster", size="b1024", type="b32 b64"
)
COPY = slots(
    space="global shared shared::cta",
    proxy="tensormap::generic",
    sem="release acquire",
    scope="cta cluster gpu sys",
    sync="sync",
    aligned="aligned",
)


@dataclass(frozen=True, slots=True)
class ReplaceForm:
    """`[a]{, dimension}, value`."""

    field: TensormapField
    space: Space

    def build(self, at: Reader) -> Instruction:
        indexed = self.field in BY_DIMENSION
        at.count("[a], dimension, value" if indexed else "[a], value", 2 + indexed)
        ordinal = immediate(at, at.operands[1], 0, LAST_DIMENSION, "A dimension") if indexed else None
        written = at.operands[-1]
        largest = CODES.get(self.field)
        value: Operand
        if largest is not None:
            value = Immediate(immediate(at, written, 0, largest, f"The {self.field.value} of a tensor map"))
        else:
            value = at.source(written, TYPES["b64" if self.field.wide else "b32"])
            if self.field is TensormapField.RANK:
                within(value, 0, LAST_DIMENSION, written, "The rank of a tensor map, less one,")
        return TensormapReplace(
            text=at.text,
            span=at.span,
            guard=at.guard,
            address=self._address(at),
            field=self.field,
            ordinal=ordinal,
            value=value,
            space=self.space,
        )

    def _address(self, at: Reader) -> Address:
        place = at.operands[0]
        address = at.address(place, self.space, writes=True)
        if isinstance(address.base, AddressOf) and at.names.space(address.base.variable) is Space.PARAM:
            name = address.base.variable
            raise SourceError(
                f"{at.opcode} changes maps in .global or .shared::cta memory, and {name} is a parameter"
                f" (ISA {REPLACE_PAGE}).",
                place.span,
            )
        return address


@dataclass(frozen=True, slots=True)
class CopyForm:
    """`[dst], [src], 128`."""

    scope: Scope

    def build(self, at: Reader) -> Instruction:
        at.count("[dst], [src], 128", 3)
        size = at.operands[2]
        if not isinstance(size, RawNumber) or size.value != MAP_BYTES:
            raise SourceError(f"{at.opcode} copies exactly 128 bytes (ISA {COPY_PAGE}).", size.span, "write 128")
        return TensormapCopy(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destination=at.address(at.operands[0], Space.GLOBAL),
            source=shared(at, at.operands[1], Space.SHARED_CTA),
            scope=self.scope,
        )


def analyse(words: Words) -> Form:
    """tensormap.*; raises FormError."""
    part = words[1] if len(words) > 1 else ""
    if part == "replace":
        return _replace(words)
    if part == "cp_fenceproxy":
        return _copy(words)
    raise FormError(f"tensormap is followed by .replace or .cp_fenceproxy (ISA {REPLACE_PAGE})", 1 if part else None)


def _replace(words: Words) -> Form:
    q = Qualifiers(words, 2, REPLACE, REPLACE_PAGE)
    if not q.has("tile"):
        q.refuse("tensormap.replace needs .tile")
    word = q.get("field")
    if word is None:
        q.refuse(f"tensormap.replace needs a field: {', '.join('.' + f for f in FIELDS)}")
    if q.get("space") in ("shared", "shared::cluster"):
        q.refuse("tensormap.replace is for .global or .shared::cta", "space")
    if not q.has("size"):
        q.refuse("tensormap.replace needs .b1024")
    wanted = "b64" if FIELDS[word].wide else "b32"
    if q.get("type") != wanted:
        q.refuse(f"the field .{word} has the type .{wanted}", "type")
    return ReplaceForm(FIELDS[word], q.space())


def _copy(words: Words) -> Form:
    q = Qualifiers(words, 2, COPY, COPY_PAGE, frozenset(("space",)))
    if q.all("space") != ("global", "shared::cta"):
        q.refuse("tensormap.cp_fenceproxy copies .global.shared::cta", "space")
    if not q.has("proxy"):
        q.refuse("tensormap.cp_fenceproxy needs .tensormap::generic")
    if q.get("sem") != "release":
        q.refuse("tensormap.cp_fenceproxy needs .release", "sem")
    scope = q.scope()
    if scope is None:
        q.refuse("tensormap.cp_fenceproxy needs a scope: .cta, .cluster, .gpu or .sys")
    if not q.has("sync") or not q.has("aligned"):
        q.refuse("tensormap.cp_fenceproxy needs .sync.aligned")
    return CopyForm(scope)
