"""Many cases, in one process or several; reports come in the order of the cases."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from memcheck.commands.decide import Settings, decide
from memcheck.corpus import Case
from memcheck.report import Report


def in_processes(cases: Sequence[Case], settings: Settings, jobs: int) -> Iterator[Report]:
    """`decide` in `jobs` processes. After Ctrl-C come the reports of what is decided by then, then it ends."""
    pool = _pool(jobs)
    futures = [pool.submit(_decide_interruptibly, case, settings) for case in cases]
    told = 0
    try:
        for case, future in zip(cases, futures, strict=True):
            try:
                report = future.result()
            except BrokenProcessPool:
                report = _alone(case, settings)
            told += 1
            yield report
    except KeyboardInterrupt:
        pool.shutdown(wait=True, cancel_futures=True)
        for future in futures[told:]:
            if not future.cancelled() and future.exception() is None:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pool(jobs: int) -> ProcessPoolExecutor:
    # A forked worker has the model and the parsers already; elsewhere each worker imports them once.
    method = "fork" if sys.platform == "linux" else None
    return ProcessPoolExecutor(jobs, multiprocessing.get_context(method), initializer=_ignore_interrupts)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _decide_interruptibly(case: Case, settings: Settings) -> Report:
    """Ctrl-C reaches a worker only while it decides: then it ends with the states so far."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return decide(case, settings)
    finally:
        _ignore_interrupts()


def _alone(case: Case, settings: Settings) -> Report:
    """Once more, in a process of its own, after the pool lost one; the case that kills even that is undecided."""
    with _pool(1) as pool:
        try:
            return pool.submit(_decide_interruptibly, case, settings).result()
        except BrokenProcessPool:
            reason = "the process that decided it was killed, perhaps for its memory"
            return Report(case.source.name, settings.model, case.header, case.source.text, undecided=reason)
