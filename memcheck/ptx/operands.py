"""Operands, with names resolved and widths known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """A register of its thread; `width` in bits, 1 for predicates. `name` without `%`."""

    name: str
    width: int


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number as written, possibly negative; each use takes it modulo its own width."""

    value: int


@dataclass(frozen=True, slots=True)
class AddressOf:
    """The address of a declared variable, plus a byte offset.

    Used as a value it is the address in the variable's own state space, as `mov` gives it.
    """

    variable: str
    offset: int = 0


Operand = Register | Immediate | AddressOf


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, offset in bytes."""

    base: Operand
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p`: the instruction has an effect only where the predicate says so."""

    register: Register
    negated: bool = False
