"""The mbarrier: its packed word and the operations on it (ISA 9.7.15.16).

The word lies in the shared memory of its CTA and every operation on it is atomic there, whatever its scope. A thread's
operations wait in its window like its atomics; a remote one takes its time on the way. Scopes decide what is released
before an arrival and what is acquired by a wait that returns true.

    bit  0      layout
    bits 1-20   expected arrivals, as 2^20 less their number
    bits 21-41  transaction count, two's complement
    bit  42     whether the number of the phase is 2 or 3 modulo 4: tokens of lapped phases differ
    bits 43-62  pending arrivals, as 2^20 less their number: arrivals count up
    bit  63     parity of the phase

The token of an arrival is opaque in PTX. Here it is the fields of the word from before the arrival, as numbers: 21 bits
of transactions, 20 pending, 20 expected, 2 of the phase, and the highest for one that a .noComplete form gave.

Where the transaction count lies between the other two is not known, nor whether more of the phase than its parity is
kept there. Memory that holds 0 for the expected arrivals is no mbarrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memcheck.language.test import Thread
from memcheck.machine.accesses import Access
from memcheck.machine.fences import Release, needed
from memcheck.machine.levels import SM, SYSTEM
from memcheck.machine.lowering import Lowering
from memcheck.machine.operations import Move, Source, without
from memcheck.machine.registers import Compute, kept
from memcheck.machine.state import Location, State
from memcheck.machine.windows import SHARED_SPACES
from memcheck.ptx import asynchronous as ptx
from memcheck.ptx.instructions import Instruction
from memcheck.ptx.operands import Address, AddressOf, Operand, Register
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space

if TYPE_CHECKING:
    from memcheck.machine.machine import Machine

SIZE = 8
MOST = (1 << 20) - 1
"""The largest count of arrivals, and the largest size of a transaction count."""
_COUNT = 1 << 20
_TX = 1 << 21
_TOKEN_PHASE = 61


class Word(NamedTuple):
    """An mbarrier: arrivals that each phase expects, those that this one still lacks, bytes announced and not come.

    `phase` modulo 4.
    """

    expected: int
    pending: int
    transactions: int = 0
    phase: int = 0

    def encode(self) -> int:
        return (
            (-self.expected % _COUNT) << 1
            | self.transactions % _TX << 21
            | (self.phase >> 1 & 1) << 42
            | (-self.pending % _COUNT) << 43
            | (self.phase & 1) << 63
        )

    @staticmethod
    def decode(word: int) -> Word | None:
        """None for memory that is no mbarrier."""
        expected = -(word >> 1) % _COUNT
        if expected == 0 or word & 1:
            return None
        transactions = word >> 21 & _TX - 1
        if transactions >= _TX // 2:
            transactions -= _TX
        return Word(expected, -(word >> 43) % _COUNT, transactions, (word >> 42 & 1) << 1 | word >> 63)

    def token(self, no_complete: bool = False) -> int:
        """What an arrival returns that finds this."""
        low = self.transactions % _TX | self.pending << 21 | self.expected << 41
        return low | self.phase << _TOKEN_PHASE | no_complete << 63

    def changed(self, arrivals: int = 0, more: int = 0, fewer: int = 0, transactions: int = 0) -> Word | None:
        """After one operation: `arrivals` come, `more` are lacking, `fewer` are expected from the next phase on,
        `transactions` bytes are announced (or, negative, have come). None where a count leaves its range.

        A phase is over when it lacks nothing.
        """
        expected, pending, tx = self.expected - fewer, self.pending + more, self.transactions + transactions
        if pending > MOST or arrivals > pending or expected < 1 or abs(tx) > MOST or abs(transactions) > MOST:
            return None
        pending -= arrivals
        if pending or tx:
            return Word(expected, pending, tx, self.phase)
        return Word(expected, expected, 0, self.phase + 1 & 3)


Change = Callable[[int, tuple[int, ...]], int | None]
"""What an operation with its operands makes of a word; None where it is undefined."""


def initialised(word: int, operands: tuple[int, ...]) -> int | None:
    """`mbarrier.init`: on memory that is no live object."""
    (count,) = operands
    return Word(count, count).encode() if Word.decode(word) is None and 1 <= count <= MOST else None


def invalidated(word: int, operands: tuple[int, ...]) -> int | None:
    """`mbarrier.inval`: the bytes are plain memory again."""
    del operands
    return None if Word.decode(word) is None else 0


def changed(word: int, arrivals: int = 0, more: int = 0, fewer: int = 0, transactions: int = 0) -> int | None:
    """The packed word after `Word.changed`."""
    before = Word.decode(word)
    after = None if before is None else before.changed(arrivals, more, fewer, transactions)
    return None if after is None else after.encode()


def over(word: int, token: int | None, parity: int | None) -> bool:
    """Whether the phase of a token, or the one before the current if it has that parity, is over."""
    if token is not None:
        return ((word >> 42 & 1) << 1 | word >> 63) != token >> _TOKEN_PHASE & 3
    return word >> 63 != parity


class Update(Access):
    """An operation that changes the word: performed in the memory of the CTA that has it, once nothing is before it."""

    returns = True

    def __init__(
        self, address: Source, fixed: Location | None, change: Change, values: tuple[Source, ...],
        destination: int | None = None, keep: Callable[[int], int] = lambda before: before,
    ) -> None:  # fmt: skip
        super().__init__(address, SIZE, SM, Proxy.GENERIC, fixed)
        self.reads = self.writes = -1 if fixed is None else 1 << fixed.line
        self.change = change
        self.values = values
        self.destination = destination
        self.keep = keep
        self.observes = destination is not None

    def claimed(self, registers: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if self.destination is None:
            return registers
        return (*registers[: self.destination], None, *registers[self.destination + 1 :])

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        if not machine.memory.released(state, thread, SYSTEM):
            return ()
        return (Move("mbarrier", thread, self.text, self._performed, (machine, thread, position)),)

    def _performed(self, state: State, machine: Machine, thread: int, position: int) -> State:
        here = state.threads[thread]
        entry = here.window[position]
        location = entry.location
        assert location is not None
        before = location.extract(state.memory[location.line])
        after = self.change(before, entry.values)
        if after is None:
            return machine.trap(state, thread)
        here = here._replace(window=without(here.window, position))
        if self.destination is not None:
            token = self.keep(before)
            registers = here.registers
            here = here._replace(registers=(*registers[: self.destination], token, *registers[self.destination + 1 :]))
        state = machine.memory.write(state.with_thread(thread, here), thread, location, after, True)
        return machine.settle(state, (thread,))


class Wait(Access):
    """`test_wait`, `try_wait`: true where the phase is over; a try_wait may be false all the same.

    `acquired`: what an acquire brings about in its SM, beside what it does to the caches of memory.
    """

    is_load = True
    returns = True
    acquired: Callable[[State, int], State] | None = None

    def __init__(
        self, address: Source, fixed: Location | None, level: int, destination: int,
        token: Source | None, parity: Source | None, suspends: bool, acquires: bool,
    ) -> None:  # fmt: skip
        super().__init__(address, SIZE, level, Proxy.GENERIC, fixed)
        self.reads = -1 if fixed is None else 1 << fixed.line
        self.destination = destination
        self.by_token = token is not None
        operand = token if token is not None else parity
        assert operand is not None
        self.values = (operand,)
        self.suspends = suspends
        self.acquires = acquires
        self.strong = self.observes = True

    def claimed(self, registers: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*registers[: self.destination], None, *registers[self.destination + 1 :])

    def perform(self, machine: Machine, state: State, thread: int, position: int) -> Sequence[Move]:
        entry = state.threads[thread].window[position]
        location = entry.location
        assert location is not None
        word = location.extract(state.memory[location.line])
        operand = entry.values[0]
        if Word.decode(word) is None or (not self.by_token and operand > 1):
            return (Move("mbarrier", thread, f"{self.text} is undefined", _trapped, (machine, thread)),)
        done = over(word, operand if self.by_token else None, None if self.by_token else operand)
        results = [True] * done + [False] * (self.suspends or not done)
        return [
            Move("mbarrier", thread, f"{self.text}: {result}", self._returned, (machine, thread, position, result))
            for result in results
        ]

    def _returned(self, state: State, machine: Machine, thread: int, position: int, result: bool) -> State:
        here = state.threads[thread]
        registers = here.registers
        registers = (*registers[: self.destination], int(result), *registers[self.destination + 1 :])
        state = state.with_thread(thread, here._replace(registers=registers, window=without(here.window, position)))
        if self.acquires and result:
            state = machine.memory.acquire(state, thread, self.level)
            if self.acquired is not None:
                state = self.acquired(state, machine.levels.sm[thread])
        return machine.settle(state, (thread,))


def _trapped(state: State, machine: Machine, thread: int) -> State:
    return machine.trap(state, thread)


# ---- instructions


def sizes(instruction: Instruction) -> tuple[tuple[Address, int], ...]:
    """The word, where its variable is named: it is never torn."""
    address: Address | None = getattr(instruction, "mbarrier", None)
    return ((address, SIZE),) if address is not None and isinstance(address.base, AddressOf) else ()


def word_address(
    lowering: Lowering, operand: Address, space: Space
) -> tuple[Source, Callable[[int], bool], Location | None]:
    """Address, check and, where it is fixed, location of an mbarrier operand.

    The own CTA's window also takes an address of the cluster's window that lies in it.
    """
    local = space is Space.SHARED_CTA
    source = lowering.address(operand, Space.SHARED_CLUSTER if space in SHARED_SPACES else space)
    thread = lowering.thread
    mates = {t.place.cta for t in lowering.test.threads if t.place.cluster == thread.place.cluster}
    ctas = {thread.place.cta} if local else mates

    def check(address: int) -> bool:
        region = lowering.layout.region(address, SIZE)
        return address % SIZE == 0 and region is not None and region.cta in ctas

    fixed = None
    if not isinstance(operand.base, Register):
        fixed = lowering.layout.locate(source(()), SIZE)
    return source, check, fixed


def _update(
    lowering: Lowering, instruction: Instruction, operand: Address, space: Space, change: Change,
    values: tuple[Source, ...] = (), state: Register | None = None, no_complete: bool = False,
) -> None:  # fmt: skip
    source, check, fixed = word_address(lowering, operand, space)
    destination = lowering.target(state)
    if state is None:
        update = Update(source, fixed, change, values)
    else:
        keep = lowering.write(state, 64)

        def token(before: int) -> int:
            word = Word.decode(before)
            return keep(0 if word is None else word.token(no_complete))

        update = Update(source, fixed, change, values, destination, token)
    update.check = check
    lowering.add(update, instruction)


def init(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.init`."""
    assert isinstance(instruction, ptx.MbarrierInit)
    count = lowering.source(instruction.count, 32)
    _update(lowering, instruction, instruction.mbarrier, instruction.space, initialised, (count,))


def inval(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.inval`."""
    assert isinstance(instruction, ptx.MbarrierInval)
    _update(lowering, instruction, instruction.mbarrier, instruction.space, invalidated)


def transaction(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.expect_tx`, `mbarrier.complete_tx`."""
    assert isinstance(instruction, ptx.MbarrierTransaction)
    sign = -1 if instruction.complete else 1
    amount = lowering.source(instruction.amount, 32)

    def change(word: int, operands: tuple[int, ...]) -> int | None:
        return changed(word, transactions=sign * operands[0])

    _update(lowering, instruction, instruction.mbarrier, instruction.space, change, (amount,))


def arrive(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.arrive`, `arrive_drop`; bytes are expected before the arrival."""
    assert isinstance(instruction, ptx.MbarrierArrive)
    level = lowering.level(instruction.scope)
    if instruction.sem is Sem.RELEASE and needed(level):
        lowering.add(Release(level), instruction)
    count = lowering.source(instruction.count, 32)
    values: tuple[Source, ...] = (count,)
    if instruction.expect is not None:
        values = count, lowering.source(instruction.expect, 32)
    drop, complete = instruction.drop, not instruction.no_complete

    def change(word: int, operands: tuple[int, ...]) -> int | None:
        arrivals = operands[0]
        if not 1 <= arrivals <= MOST:
            return None
        if len(operands) > 1:
            expecting = changed(word, transactions=operands[1])
            if expecting is None:
                return None
            word = expecting
        after = changed(word, arrivals, fewer=arrivals if drop else 0)
        if after is not None and not complete and after >> 63 != word >> 63:
            return None
        return after

    _update(
        lowering, instruction, instruction.mbarrier, instruction.space, change, values, instruction.state,
        instruction.no_complete,
    )  # fmt: skip


def wait(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.test_wait`, `mbarrier.try_wait`."""
    assert isinstance(instruction, ptx.MbarrierWait)
    source, check, fixed = word_address(lowering, instruction.mbarrier, instruction.space)
    token = None if instruction.state is None else lowering.source(instruction.state, 64)
    parity = None if instruction.parity is None else lowering.source(instruction.parity, 32)
    destination = lowering.target(instruction.destination)
    assert destination is not None
    level = lowering.level(instruction.scope)
    acquired = acquires(lowering.machine, lowering.thread, instruction)
    operation = Wait(source, fixed, level, destination, token, parity, instruction.suspends, acquired)
    operation.check = check
    lowering.add(operation, instruction)


def acquires(machine: Machine, thread: Thread, instruction: ptx.MbarrierWait) -> bool:
    """Whether a wait acquires from someone: other threads of its scope, or asynchronous operations of its own."""
    return instruction.sem is Sem.ACQUIRE and reaches(machine, thread, instruction.scope)


def reaches(machine: Machine, thread: Thread, scope: Scope | None) -> bool:
    """Whether a scope of a thread holds other threads, or asynchronous operations of its own that tell an mbarrier."""
    return needed(machine.levels.of(thread.index, scope)) or any(
        getattr(other, "mbarrier", None) is not None and not isinstance(other, _SYNCHRONOUS) for other in thread.body
    )


_SYNCHRONOUS = (
    ptx.MbarrierInit,
    ptx.MbarrierInval,
    ptx.MbarrierTransaction,
    ptx.MbarrierArrive,
    ptx.MbarrierWait,
)


def pending_count(lowering: Lowering, instruction: Instruction) -> None:
    """`mbarrier.pending_count` of a token."""
    assert isinstance(instruction, ptx.MbarrierPendingCount)
    token: Operand = instruction.state
    value = lowering.source(token, 64)
    number, keep = lowering.target(instruction.destination), lowering.write(instruction.destination, 32)
    assert number is not None

    def pending(registers: Sequence[int | None]) -> int:
        return value(registers) >> 21 & MOST

    lowering.add(Compute([(number, kept(keep, pending))]), instruction)
