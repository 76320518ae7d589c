"""One thread executed on numbers, instruction by instruction: what the symbolic execution is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memcheck.language.test import Thread
from memcheck.ptx import instructions as ptx
from memcheck.ptx.operands import AddressOf, Immediate, Operand, Register


@dataclass(frozen=True)
class Access:
    """kind R or W, variable, offset, value."""

    kind: str
    variable: str
    value: int


class OutOfValuesError(Exception):
    """The thread reads more often than there are values."""


def run(thread: Thread, reads: Iterator[int], steps: int = 200) -> tuple[list[Access], Mapping[str, int]]:
    """The accesses and the final registers when its loads return `reads`, one after another."""
    registers: dict[str, int] = {}
    accesses: list[Access] = []

    def value(operand: Operand) -> int:
        if isinstance(operand, Immediate):
            return operand.value % 2**32
        assert isinstance(operand, Register)
        return registers.get(operand.name, 0)

    def read(variable: str) -> int:
        number = next(reads, None)
        if number is None:
            raise OutOfValuesError
        accesses.append(Access("R", variable, number))
        return number

    def name(address: object) -> str:
        assert isinstance(address, AddressOf)
        return address.variable

    pc = 0
    while pc < len(thread.body):
        steps -= 1
        if steps < 0:
            raise OutOfValuesError
        instruction = thread.body[pc]
        pc += 1
        guard = instruction.guard
        if guard is not None and bool(registers.get(guard.register.name, 0)) == guard.negated:
            continue
        match instruction:
            case ptx.Load():
                registers[instruction.destinations[0].name] = read(name(instruction.address.base))
            case ptx.Store():
                accesses.append(Access("W", name(instruction.address.base), value(instruction.sources[0])))
            case ptx.Atom():
                operands = [value(o) for o in instruction.operands[0]]
                variable = name(instruction.address.base)
                old = read(variable)
                if instruction.op is ptx.AtomOp.ADD:
                    accesses.append(Access("W", variable, (old + operands[0]) % 2**32))
                elif old == operands[0]:
                    accesses.append(Access("W", variable, operands[1]))
                registers[instruction.destinations[0].name] = old
            case ptx.Arithmetic():
                a, b, *c = (value(s) for s in instruction.sources)
                results = {
                    "add": a + b, "sub": a - b, "and": a & b, "setp.eq": int(a == b), "setp.ne": int(a != b),
                    "setp.lt": int(a < b), "selp": a if c and c[0] else b,
                }  # fmt: skip
                registers[instruction.destinations[0].name] = results[instruction.op] % 2**32
            case ptx.Branch():
                if instruction.compare is not None:
                    _, left, right = instruction.compare
                    if value(left) != value(right):
                        continue
                pc = thread.labels[instruction.target]
            case ptx.Exit():
                break
    return accesses, registers
