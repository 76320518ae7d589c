"""Limits on one test that hold whatever it is doing: reading, unfolding or solving.

The engine watches its own time and memory between steps and inside z3; these catch what it does between.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from memcheck.axiomatic.libz3 import interrupt as interrupt_solver
from memcheck.axiomatic.libz3 import leave_interrupts

GRACE = 2.0
"""Seconds after the limit in which the engine ends by itself."""
SLACK = 512
"""Megabytes of address space beyond the limit, for code, parsers and the engine's own ending."""


_handled = threading.Event()


def interrupt(*_: object) -> NoReturn:
    """The handler of signals that end the work on a test: KeyboardInterrupt, wherever it is.

    What destructors then say of objects that were just being made is told to nobody.
    """
    _handled.set()
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def interruptible() -> None:
    """Ctrl-C and a polite kill end the work on a test, with the states so far."""
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    watch_signals()


def watch_signals() -> None:
    """From now on a signal also ends a check of the solver, which Python's handlers would have to wait for."""
    leave_interrupts()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_relay, args=(reading,), daemon=True).start()


def _relay(reading: int) -> None:
    """Interrupts the solver at each signal until the signal's handler has run: between two checks it hits neither."""
    while os.read(reading, 1):
        for _ in range(20):
            if _handled.is_set():
                break
            interrupt_solver()
            _handled.wait(0.05)
        _handled.clear()


class Alarm:
    """`rang`: the time was over, and the work was interrupted for that reason."""

    def __init__(self) -> None:
        self.rang = False


@contextmanager
def time_limit(seconds: float | None) -> Iterator[Alarm]:
    """Raises KeyboardInterrupt in the work after that time; no limit outside the main thread."""
    alarm = Alarm()
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield alarm
        return

    def ring(*_: object) -> None:
        alarm.rang = True
        interrupt()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    try:
        yield alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def memory_limit(megabytes: int | None) -> Iterator[None]:
    """MemoryError in the work that asks for more."""
    if megabytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + (megabytes + SLACK) * 2**20
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Bytes mapped now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
