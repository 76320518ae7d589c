"""Operands of asynchronous instructions: mbarrier objects, shared addresses, tensor maps, byte counts, CTA masks."""

from __future__ import annotations

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import Reader
from memcheck.ptx.decode.words import Qualifiers
from memcheck.ptx.operands import Address, AddressOf, Immediate, Operand
from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.raw import RawNumber, RawOperand, RawTensor, RawVector
from memcheck.ptx.types import TYPES

COMPLETE_TX = "mbarrier::complete_tx::bytes"
MULTICAST = "multicast::cluster multicast::cluster::16b multicast::cluster::32b"
COMPLETION = {COMPLETE_TX: "completion", "bulk_group": "completion"}
MAX_COUNT = (1 << 20) - 1
"""Arrivals, and bytes of a transaction, that an mbarrier can count (ISA 9.7.15.16)."""
CHUNK = 16
"""Bulk copies move multiples of 16 bytes (ISA 9.7.10.28.4.1)."""


def mbarrier(at: Reader, operand: RawOperand, space: Space = Space.GENERIC) -> Address:
    """The address of an mbarrier object, which lies in shared memory whatever the instruction names."""
    return _within(at, operand, space, "an mbarrier object")


def shared(at: Reader, operand: RawOperand, space: Space) -> Address:
    """An address in the CTA's or the cluster's shared memory."""
    return _within(at, operand, space, "this operand")


def _within(at: Reader, operand: RawOperand, space: Space, what: str) -> Address:
    address = at.address(operand, space)
    if isinstance(address.base, AddressOf):
        home = at.names.space(address.base.variable)
        if home is not Space.SHARED_CTA:
            where = home.value if home is not None else "?"
            raise SourceError(
                f"{at.opcode}: {what} lies in shared memory, and {address.base.variable} in .{where}.",
                operand.span,
            )
    return address


def tensor(at: Reader, operand: RawOperand, coordinates: int) -> tuple[Address, tuple[Operand, ...]]:
    """`[map, {c0, …}]` with 32-bit coordinates."""
    names = ", ".join(f"r{n}" for n in range(coordinates))
    if not isinstance(operand, RawTensor):
        raise SourceError(
            f"{at.opcode}: a tensor map with coordinates is wanted here.", operand.span, f"write [map, {{{names}}}]"
        )
    map = at.address(operand.map, Space.GENERIC)
    if isinstance(map.base, AddressOf) and at.names.space(map.base.variable) is Space.SHARED_CTA:
        raise SourceError(
            f"{at.opcode}: a tensor map lies in .global, .const or .param, and {map.base.variable} in .shared"
            " (ISA 5.5.8).",
            operand.map.span,
        )
    given = operand.coordinates.elements
    if len(given) != coordinates:
        plural = "" if coordinates == 1 else "s"
        raise SourceError(
            f"{at.opcode} takes {coordinates} coordinate{plural}, not {len(given)}.",
            operand.coordinates.span,
            f"write {{{names}}}",
        )
    return map, tuple(at.source(element, TYPES["b32"], what="a coordinate") for element in given)


def halves(at: Reader, operand: RawOperand, count: int) -> tuple[Operand, ...]:
    """The im2col offsets: a vector of 16-bit values."""
    names = ", ".join(f"rs{n}" for n in range(count))
    if not isinstance(operand, RawVector) or len(operand.elements) != count:
        plural = "" if count == 1 else "s"
        raise SourceError(
            f"{at.opcode} takes a vector of {count} offset{plural} here.", operand.span, f"write {{{names}}}"
        )
    return tuple(at.source(element, TYPES["b16"], what="an im2col offset") for element in operand.elements)


def cta_mask(at: Reader, operand: RawOperand) -> Operand:
    """A 16-bit mask of CTA ranks."""
    value = at.source(operand, TYPES["b16"], what="a CTA mask")
    within(value, 0, 0xFFFF, operand, "A CTA mask")
    return value


def chunks(at: Reader, operand: RawOperand) -> Operand:
    """A size in bytes, a multiple of 16."""
    value = at.word(operand)
    within(value, 0, MAX_COUNT & -CHUNK, operand, "The size of a bulk copy")
    if isinstance(value, Immediate) and value.value % CHUNK:
        raise SourceError(
            f"A bulk copy moves a multiple of 16 bytes, not {value.value} (ISA 9.7.10.28.4.1).",
            operand.span,
            f"write {-(-value.value // CHUNK) * CHUNK}",
        )
    return value


def within(value: Operand | int, low: int, high: int, operand: RawOperand, what: str) -> None:
    """Refuses an immediate outside low … high."""
    number = value.value if isinstance(value, Immediate) else value
    if isinstance(number, int) and not low <= number <= high:
        raise SourceError(f"{what} must be {low} to {high}, not {number}.", operand.span)


def immediate(at: Reader, operand: RawOperand, low: int, high: int, what: str) -> int:
    """A number that must be written out."""
    if not isinstance(operand, RawNumber):
        raise SourceError(f"{at.opcode}: {what[0].lower()}{what[1:]} must be a number.", operand.span)
    within(operand.value, low, high, operand, what)
    return operand.value


def order(q: Qualifiers, sem: Sem, scope: Scope, widest: tuple[str, ...]) -> tuple[Sem, Scope]:
    """Semantics and scope, written together or both left out; the scope one of `widest`."""
    word, level = q.get("sem"), q.get("scope")
    scopes = " or ".join(f".{name}" for name in widest)
    if word is not None and level is None:
        q.refuse(f".{word} needs a scope: {scopes}", "sem")
    if level is not None and word is None:
        q.refuse(f".{level} needs semantics: .{sem.value}", "scope")
    if level is None or word is None:
        return sem, scope
    if level not in widest:
        q.refuse(f"{q.name} has the scopes {scopes}, not .{level}", "scope")
    return Sem(word), Scope(level)


def ctas_only(q: Qualifiers) -> None:
    """Refuses what only the cluster's form could name."""
    if q.get("space") == "shared::cluster":
        q.refuse(f"{q.name} is for objects of the own CTA, not .shared::cluster", "space")


def typed(q: Qualifiers, type: str) -> None:
    """Refuses an opcode without its one type."""
    if not q.has("type"):
        q.refuse(f"{q.name} needs .{type}")
