"""The packed word of an mbarrier against words computed by hand, and its operations."""

from __future__ import annotations

import pytest

from memcheck.events import phase
from memcheck.machine.machine import Machine
from memcheck.machine.mbarriers import MOST, Word, changed, initialised, invalidated, over
from tests.machine.building import built, find, reached, states, step

BAR = ".shared .mbarrier bar = {}; .shared .b32 s = 0;"


@pytest.mark.parametrize(
    ("word", "packed"),
    [
        # 2^20 - 1 in both fields: 0xfffff << 43 | 0xfffff << 1
        (Word(1, 1), 0x7FFFF80000000000 | 0x1FFFFE),
        # 2^20 - 3 = 0xffffd expected, 2^20 - 2 = 0xffffe pending
        (Word(3, 2), 0x7FFFF00000000000 | 0x1FFFFA),
        # nothing pending, which is 2^20 and so 0; 16 bytes announced: 16 << 21
        (Word(1, 0, 16), 0x2000000 | 0x1FFFFE),
        # 16 bytes too many have come: 2^21 - 16 = 0x1ffff0 << 21
        (Word(1, 1, -16), 0x7FFFF80000000000 | 0x3FFFFE00000 - 0x1E00000 | 0x1FFFFE),
        # the second phase: parity 1
        (Word(1, 1, 0, 1), 0xFFFFF80000000000 | 0x1FFFFE),
        # the third: parity 0 again, bit 42 set
        (Word(1, 1, 0, 2), 0x7FFFF80000000000 | 0x40000000000 | 0x1FFFFE),
        (Word(MOST, MOST), 1 << 43 | 1 << 1),
    ],
)
def test_words_by_hand(word: Word, packed: int) -> None:
    assert word.encode() == packed
    assert Word.decode(packed) == word


@pytest.mark.parametrize("memory", [0, 1, 0x7FFFF80000000000])
def test_memory_that_is_no_mbarrier(memory: int) -> None:
    assert Word.decode(memory) is None
    assert changed(memory, arrivals=1) is None
    assert invalidated(memory, ()) is None


def test_phases() -> None:
    word = Word(2, 2)
    once = word.changed(arrivals=1)
    assert once == Word(2, 1)
    assert once.changed(arrivals=1) == Word(2, 2, 0, 1)
    dropped = word.changed(arrivals=1, fewer=1)
    assert dropped == Word(1, 1)
    assert dropped.changed(arrivals=1) == Word(1, 1, 0, 1)


def test_bytes_hold_a_phase_up_whichever_comes_last() -> None:
    waiting = Word(1, 1).changed(transactions=32)
    assert waiting is not None
    assert waiting.changed(arrivals=1) == Word(1, 0, 32)
    assert Word(1, 0, 32).changed(transactions=-32) == Word(1, 1, 0, 1)
    # too many have come, and announcing them ends the phase
    assert Word(1, 0, -32).changed(transactions=32) == Word(1, 1, 0, 1)
    assert Word(1, 1).changed(transactions=-16) == Word(1, 1, -16)


def test_ranges() -> None:
    assert Word(1, 1).changed(arrivals=2) is None
    assert Word(1, 1).changed(arrivals=1, fewer=1) is None
    assert Word(1, MOST).changed(more=1) is None
    assert Word(1, 1, MOST).changed(transactions=1) is None
    assert Word(1, 1, -MOST).changed(transactions=-1) is None
    assert initialised(0, (0,)) is None
    assert initialised(0, (MOST + 1,)) is None
    assert initialised(Word(1, 1).encode(), (1,)) is None
    assert initialised(0, (5,)) == Word(5, 5).encode()


def test_waits() -> None:
    words = [Word(1, 1, 0, number) for number in range(3)]
    (first, second, third), token = (word.encode() for word in words), words[0].token()
    assert not over(first, None, 0)
    assert over(first, None, 1)
    assert over(second, None, 0)
    assert not over(first, token, None)
    assert over(second, token, None)
    # two phases on, the token's phase is still another one, though of the same parity
    assert over(third, token, None)
    assert not over(third, None, 0)


def test_a_token_is_what_the_model_says_too() -> None:
    assert Word(5, 3, 16, 1).token() == 5 << 41 | 3 << 21 | 16 | 1 << 61
    assert Word(5, 3, 16, 1).token() | 1 << 63 == Word(5, 3, 16, 1).token(no_complete=True)
    assert phase.fresh(5) & ~(1 << 63) == Word(5, 5).token()


def test_a_machine_shows_the_word() -> None:
    machine = Machine(
        built("cta 0 { mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64; }", variables=BAR.format(2))
    )
    state = machine.initial()
    line = machine.layout.lines_of(machine.layout.instance("bar", 0))[0]
    assert Word.decode(state.memory[line]) == Word(2, 2)
    state = step(machine, state, "expect_tx")
    assert Word.decode(state.memory[line]) == Word(2, 1, 64)
    assert machine.final(state)


def test_an_arrival_too_many_traps() -> None:
    body = "cta 0 { mbarrier.arrive.shared::cta.b64 _, [bar], 2; }"
    result = reached(body, variables=BAR.format(1), end="forall (0 = 0)")
    assert result.traps
    assert not result.states


def test_an_arrival_releases_and_a_wait_acquires() -> None:
    producer = "cta 0 { st.shared.b32 [s], 1; mbarrier.arrive.shared::cta.b64 _, [bar]; }"
    consumer = "cta 0 { L: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L; ld.shared.b32 r0, [s]; }"
    assert states(producer, consumer, variables=BAR.format(1), end="exists (P1:r0 = 0)") == {(1,)}


def test_a_relaxed_arrival_releases_nothing() -> None:
    producer = "cta 0 { st.shared.b32 [s], 1; mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar]; }"
    consumer = "cta 0 { L: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L; ld.shared.b32 r0, [s]; }"
    assert states(producer, consumer, variables=BAR.format(1), end="exists (P1:r0 = 0)") == {(0,), (1,)}


def test_a_thread_exits_after_its_operations() -> None:
    """A barrier that counts the exit comes after it, as after that of a thread with an atomic."""
    sender = "cta 0 { mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16; }"
    body = (
        "cta 0 { bar.sync 0; mbarrier.arrive.shared::cta.b64 rd2, [bar];"
        " mbarrier.test_wait.shared::cta.b64 p1, [bar], rd2; selp.b32 r0, 1, 0, p1; }"
    )
    assert states(sender, body, variables=BAR.format(1), end="exists (P1:r0 = 0)") == {(0,)}
    assert states(sender, body.replace("bar.sync 0;", ""), variables=BAR.format(1), end="exists (P1:r0 = 0)") == {
        (0,), (1,)
    }  # fmt: skip


def test_a_phase_without_its_arrival_hangs() -> None:
    body = "cta 0 { L: mbarrier.try_wait.parity.shared::cta.b64 p0, [bar], 0; @!p0 bra L; }"
    result = reached(body, variables=BAR.format(1), end="forall (0 = 0)")
    assert result.hangs
    assert not result.states


def test_a_fresh_object_and_parity() -> None:
    body = (
        "cta 0 { mbarrier.test_wait.parity.shared::cta.b64 p0, [bar], 0;"
        " mbarrier.test_wait.parity.shared::cta.b64 p1, [bar], 1; selp.b32 r0, 1, 0, p0; selp.b32 r1, 1, 0, p1; }"
    )
    assert states(body, variables=BAR.format(5), end="exists (P0:r0 = 0 /\\ P0:r1 = 1)") == {(0, 1)}


def test_a_try_wait_may_give_up() -> None:
    body = "cta 0 { mbarrier.try_wait.parity.shared::cta.b64 p1, [bar], 1; selp.b32 r1, 1, 0, p1; }"
    machine = Machine(built(body, variables=BAR.format(1), end="exists (P0:r1 = 1)"))
    assert find(machine, machine.initial(), "True")
    assert find(machine, machine.initial(), "False")


def test_pending_count_of_a_token() -> None:
    body = (
        "cta 0 { mbarrier.arrive.noComplete.shared::cta.b64 rd4, [bar], 2;"
        " mbarrier.arrive.noComplete.shared::cta.b64 rd5, [bar], 1; mbarrier.pending_count.b64 r0, rd5; }"
    )
    assert states(body, variables=BAR.format(5), end="exists (P0:r0 = 3)") == {(3,)}
