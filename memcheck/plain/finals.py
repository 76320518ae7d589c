"""Final states: registers as they end, memory as some coherence-maximal write of each byte left it."""

from __future__ import annotations

from typing import Any

import z3

from memcheck.events.structure import INITIAL
from memcheck.language.test import And, Compare, MemoryTerm, Not, NumberTerm, Observable, Or, Prop, RegisterTerm, Term
from memcheck.language.test import Truth as Constant
from memcheck.plain.accesses import Cell
from memcheck.plain.algebra import Table
from memcheck.plain.choices import Choices
from memcheck.plain.truth import Truth, conj, conj_all, disj_all, exactly, implies, neg, term


class Finals:
    """Final values as bit vectors. `coherence` is the model's."""

    def __init__(self, choices: Choices, coherence: Table) -> None:
        self.choices = choices
        self.coherence = coherence
        self.last: dict[Cell, dict[int, Truth]] = {}
        self._bytes: dict[Cell, Any] = {}

    def value(self, observable: Observable) -> Any:
        """The final value as a bit vector."""
        if isinstance(observable, RegisterTerm):
            return self.choices.terms.bits(self.choices.structure.final_registers[observable])
        physical, size = self.choices.accesses.element(observable)
        parts = [self._cell(cell) for cell in reversed(self.choices.accesses.inside(physical, size))]
        return z3.Concat(parts) if len(parts) > 1 else parts[0]

    def _cell(self, cell: Cell) -> Any:
        found = self._bytes.get(cell)
        if found is None:
            choices = self.choices
            writers = choices.writers(cell)
            table = {w: z3.Bool(f"last{cell.physical}.{w}") if len(writers) > 1 else True for w in writers}
            choices.constraints.append(exactly(1, table.values()))
            found = self._bytes[cell] = z3.BitVec(f"m{cell.physical}", 8 * cell.size)
            for write, chosen in table.items():
                choices.constraints.append(implies(chosen, choices.touches(write, cell)))
                for later in writers:
                    after = conj(choices.touches(later, cell), self.coherence.get((write, later), False))
                    choices.constraints.append(neg(conj(chosen, after)))
                for when, part in choices.parts(write, cell):
                    choices.constraints.append(implies(conj(chosen, when), found == part))
            self._do_not_tear(table)
            self.last[cell] = table
        return found

    def _do_not_tear(self, table: dict[int, Truth]) -> None:
        """Final memory never mixes two writes of exactly the same bytes."""
        for other in self.last.values():
            for write, chosen in table.items():
                for second, also in other.items():
                    if write != second and INITIAL not in (write, second):
                        same = self.choices.accesses.related("loc", write, second)
                        self.choices.constraints.append(neg(conj(chosen, also, same)))

    # ---- propositions

    def truth(self, prop: Prop) -> Truth:
        match prop:
            case Constant(value):
                return value
            case Not(body):
                return neg(self.truth(body))
            case And(parts):
                return conj_all(self.truth(part) for part in parts)
            case Or(parts):
                return disj_all(self.truth(part) for part in parts)
            case Compare():
                return self._compare(prop)

    def _compare(self, prop: Compare) -> Truth:
        """Equality modulo the narrower width; order of unsigned values."""
        sides = (prop.left, prop.right)
        narrow = min((self._width(side) for side in sides if not isinstance(side, NumberTerm)), default=64)
        wide = max((self._width(side) for side in sides if not isinstance(side, NumberTerm)), default=64)
        if prop.op in ("==", "!="):
            left, right = (self._at(side, narrow, narrow) for side in sides)
            return left == right if prop.op == "==" else term(left != right)
        width = 1 + max(wide, *(side.value.bit_length() for side in sides if isinstance(side, NumberTerm)), 1)
        left, right = (self._at(side, narrow, width) for side in sides)
        compare = {"<": z3.ULT, "<=": z3.ULE, ">": z3.UGT, ">=": z3.UGE}[prop.op]
        return compare(left, right)

    def _at(self, side: Term, narrow: int, width: int) -> Any:
        """A term's value at `width` bits; negative numbers are modulo `narrow`."""
        if isinstance(side, NumberTerm):
            number = side.value if side.value >= 0 else side.value % (1 << narrow)
            return z3.BitVecVal(number, width)
        value = self.value(side)
        if width <= value.size():
            return z3.Extract(width - 1, 0, value)
        return z3.ZeroExt(width - value.size(), value)

    def _width(self, side: Term) -> int:
        assert isinstance(side, RegisterTerm | MemoryTerm)
        return int(self.value(side).size())
