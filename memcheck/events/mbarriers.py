"""The mbarrier instructions as events: reads and writes of the object's word (ISA 9.7.15.16).

What a word says and becomes is in `phase`, how an operation reads and writes it in `operations.transact`.
"""

from __future__ import annotations

from memcheck.events import arithmetic, phase
from memcheck.events.addresses import check_address, generic_address, tell
from memcheck.events.draft import Draft, Step, access_tags
from memcheck.events.operations import NOT_LIVE, OUT_OF_RANGE, exchange, transact
from memcheck.events.structure import Event, Kind
from memcheck.events.value import Value
from memcheck.ptx.asynchronous import (
    MbarrierArrive,
    MbarrierInit,
    MbarrierInval,
    MbarrierPendingCount,
    MbarrierTransaction,
    MbarrierWait,
)
from memcheck.ptx.operands import Address, Immediate, Operand
from memcheck.ptx.qualifiers import Proxy, Space

_COUNT = 32
_TOLD = 3
"""Phases after that of a state that its wait can tell from it."""
ELSEWHERE = "an operation on the executing CTA's own mbarriers, and the mbarrier is of another CTA"


def word_address(step: Step, operand: Address, space: Space) -> Value:
    """The generic address of an mbarrier operand, checked."""
    local = space is Space.SHARED_CTA
    address = generic_address(step, operand, Space.SHARED_CLUSTER if local else space)
    where = Space.SHARED_CLUSTER if space is Space.GENERIC else space
    event = len(step.draft.events)
    region = step.draft.memory.region(address.payload, phase.SIZE) if address.is_const else None
    if local and region is not None and region.cta != step.thread.place.cta:
        step.misuse(step.values.true, ELSEWHERE, event)
        return address
    faults = check_address(step, operand, address, phase.SIZE, where, Proxy.GENERIC, writes=True, of_object=True)
    tell(step, faults, event)
    return address


def count(step: Step, operand: Operand, least: int = 1) -> Value:
    """A count or an amount of bytes, 32 bits; out of its range it is misuse."""
    values = step.values
    number = step.operand(operand, _COUNT)
    low = values.binary("ult", number, values.const(least, _COUNT))
    high = values.binary("ult", values.const(phase.MAX_COUNT, _COUNT), number)
    wrong = values.either(low, high)
    message = f"a count of an mbarrier is from {least} to {phase.MAX_COUNT}"
    step.misuse(wrong, OUT_OF_RANGE, len(step.draft.events), message)
    return number


def init(step: Step) -> None:
    """`mbarrier.init`: on memory that is no live object."""
    instruction = step.instruction
    assert isinstance(instruction, MbarrierInit)
    values = step.values
    address = word_address(step, instruction.mbarrier, instruction.space)
    word = phase.initial(values, count(step, instruction.count))
    before, write = _replace(step, address, word, "INIT")
    step.misuse(phase.is_live(values, before), "mbarrier.init of an object that is live", write)


def inval(step: Step) -> None:
    """`mbarrier.inval`: the bytes are plain memory again."""
    instruction = step.instruction
    assert isinstance(instruction, MbarrierInval)
    values = step.values
    address = word_address(step, instruction.mbarrier, instruction.space)
    before, write = _replace(step, address, values.const(0, phase.WORD), "INVAL")
    step.misuse(values.negate(phase.is_live(values, before)), NOT_LIVE, write)


def _replace(step: Step, address: Value, word: Value, flag: str) -> tuple[Value, int]:
    """A write of a whole word that takes the place of another: gives what was there, and the write."""
    before = step.values.read(len(step.draft.events), phase.WORD)
    return before, exchange(step, address, word, flags=(flag,))


def transaction(step: Step) -> None:
    """`mbarrier.expect_tx` and `mbarrier.complete_tx`."""
    instruction = step.instruction
    assert isinstance(instruction, MbarrierTransaction)
    address = word_address(step, instruction.mbarrier, instruction.space)
    amount = count(step, instruction.amount, 0)
    if instruction.complete:
        amount = step.values.binary("sub", step.values.const(0, _COUNT), amount)
    transact(step, address, scope=instruction.scope, transactions=amount)


def arrive(step: Step) -> None:
    """`mbarrier.arrive` and `arrive_drop`, with `.expect_tx` and `.noComplete`."""
    instruction = step.instruction
    assert isinstance(instruction, MbarrierArrive)
    values = step.values
    address = word_address(step, instruction.mbarrier, instruction.space)
    arrivals = count(step, instruction.count)
    expected = None if instruction.expect is None else count(step, instruction.expect, 0)
    has_state = instruction.state is not None
    read, change = transact(
        step, address, sem=instruction.sem, scope=instruction.scope, flags=("ARRIVE",), result=has_state,
        arrivals=arrivals, fewer=arrivals if instruction.drop else None, transactions=expected,
    )  # fmt: skip
    if instruction.no_complete:
        step.misuse(change.completes, "mbarrier.arrive.noComplete that completes the phase", read + 1)
    before = step.draft.events[read].value
    assert before is not None
    # the first bit of a state tells which instruction gave it
    origin = values.const(int(instruction.no_complete), 1)
    state = values.concat(origin, values.extract(before, 0, phase.WORD - 1))
    step.write(instruction.state, state, frozenset((read,)))


def wait(step: Step) -> None:
    """`mbarrier.test_wait` and `try_wait`: true where the phase of the state, or of the parity, is over.

    A try_wait may return false all the same; one that ends a spin does not.
    """
    instruction = step.instruction
    assert isinstance(instruction, MbarrierWait)
    draft, values = step.draft, step.values
    address = word_address(step, instruction.mbarrier, instruction.space)
    read = len(draft.events)
    word = values.read(read, phase.WORD)
    live = phase.is_live(values, word)
    now = phase.phase(values, word)
    if instruction.state is not None:
        target = phase.phase(values, step.operand(instruction.state, phase.WORD))
        done = values.negate(values.binary("eq", now, target))
        lapped = values.binary("ult", values.const(1, 2), values.binary("sub", now, target))
    else:
        assert instruction.parity is not None
        wanted = step.operand(instruction.parity, _COUNT)
        wrong = values.binary("ult", values.const(1, _COUNT), wanted)
        step.misuse(wrong, "a parity other than 0 and 1", read, "the parity of a phase is 0 or 1")
        bit = values.extract(wanted, 0, 1)
        done = values.negate(values.binary("eq", phase.parity(values, word), bit))
        lapped, target = _lapped(step, address, now, bit)
    done = values.both(live, done)
    if instruction.suspends and not draft.spinning:
        done = values.both(done, draft.choice((0, 1), 1))
    tags = access_tags(Kind.READ, instruction.sem, instruction.scope, Proxy.GENERIC, ("MBAR", "TEST"))
    marks = {"TRUE": done, "LAPPED": values.both(live, lapped)}
    step.event(
        Kind.READ, tags, address=address, size=phase.SIZE, sem=instruction.sem, scope=instruction.scope, marks=marks
    )
    step.misuse(values.negate(live), NOT_LIVE, read)
    if address.is_const:
        name = f"%phase.{address.payload}"
        known = values.concat(values.true, target)
        step.state.registers[name] = values.ite(
            values.both(step.predicate, done), known, step.state.registers.get(name, values.const(0, 3))
        )
    step.write(instruction.destination, done, frozenset((read,)))


def _lapped(step: Step, address: Value, now: Value, bit: Value) -> tuple[Value, Value]:
    """Whether a wait for a parity finds that its phase is two behind, and which phase that is, modulo 4.

    The phase meant is the next one of that parity after the last that the thread saw complete; before that, phase 0 or
    the one before it, if nothing else can have held the thread up till then.
    """
    values, draft = step.values, step.draft
    last = step.state.registers.get(f"%phase.{address.payload}") if address.is_const else None
    if last is None:
        waited = any(
            e.thread == step.thread.index and (e.kind is Kind.BARRIER or "TEST" in e.tags) for e in draft.events
        )
        last = values.const(3 if waited else 7, 3)
    number = values.extract(last, 0, 2)
    ahead = values.zext(values.binary("xor", values.extract(number, 0, 1), bit), 2)
    target = values.binary("add", number, ahead)
    behind = values.binary("eq", values.binary("sub", now, target), values.const(2, 2))
    return values.both(values.extract(last, 2, 1), behind), target


def pending_count(step: Step) -> None:
    """`mbarrier.pending_count` of a state that a .noComplete form gave."""
    instruction = step.instruction
    assert isinstance(instruction, MbarrierPendingCount)
    values = step.values
    state = step.operand(instruction.state, phase.WORD)
    rule = "mbarrier.pending_count of a state that no .noComplete form gave"
    step.misuse(values.negate(values.extract(state, phase.WORD - 1, 1)), rule, None)
    step.write(instruction.destination, phase.pending(values, state), step.taint(instruction.state))


def check_states(draft: Draft) -> None:
    """UnsupportedError where a state may be awaited four phases later: the word tells phases apart modulo 4 only."""
    for event in draft.events:
        instruction = event.instruction
        if isinstance(instruction, MbarrierWait) and instruction.state is not None and _phases(draft, event) > _TOLD:
            what = f"a wait for the state of an mbarrier that may complete more than {_TOLD} phases"
            raise arithmetic.unsupported(instruction, what)


def _phases(draft: Draft, wait: Event) -> int:
    """The most phases that the object of a wait can complete, if it expects as many arrivals as at first."""
    assert wait.address is not None
    where = wait.address
    there = [e for e in draft.events if "MBAR" in e.tags and e.address is not None and _may_meet(e.address, where)]
    arrivals = 0
    expected = phase.MAX_COUNT
    for event in there:
        instruction = event.instruction
        if isinstance(instruction, MbarrierInit):
            expected = min(expected, instruction.count.value if isinstance(instruction.count, Immediate) else 1)
        elif isinstance(instruction, MbarrierArrive) and "ARRIVE" in event.tags:
            known = isinstance(instruction.count, Immediate)
            arrivals += instruction.count.value if isinstance(instruction.count, Immediate) else phase.MAX_COUNT
            expected = expected if known and not instruction.drop else 1
        elif "ARRIVE" in event.tags:
            arrivals += 1
    if wait.address.is_const:
        physical = draft.memory.physical(wait.address.payload, phase.SIZE)
        first = phase.counts(draft.memory.initial_value(physical, phase.SIZE)) if physical is not None else None
        expected = expected if first is None else min(expected, first.expected)
    else:
        expected = 1
    return arrivals // max(1, expected)


def _may_meet(a: Value, b: Value) -> bool:
    return not (a.is_const and b.is_const) or a is b
