"""Many tests, in one process or several; reports come in the order asked for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from memcheck.commands.decide import Question, decide
from memcheck.commands.limits import interrupt, watch_signals
from memcheck.report import Report

PATIENCE = 10
"""Interrupts, two seconds apart, before a worker is ended for good."""


def in_processes(questions: Sequence[Question], processes: int) -> Iterator[Report]:
    """The reports; the processes start now, before the caller starts threads of its own.

    After Ctrl-C come the reports of what is decided by then, and no more.
    """
    pool = _pool(processes)
    futures = [pool.submit(_decide_interruptibly, question) for question in questions]
    return _reports(pool, questions, futures)


def _reports(
    pool: ProcessPoolExecutor, questions: Sequence[Question], futures: Sequence[Future[Report]]
) -> Iterator[Report]:
    told, ended = 0, False
    try:
        for question, future in zip(questions, futures, strict=True):
            try:
                report = future.result()
            except BrokenProcessPool:
                report = _alone(question)
            told += 1
            yield report
        ended = True
    except KeyboardInterrupt:
        _interrupt(futures)
        ended = True
        for future in futures[told:]:
            if not future.cancelled() and future.exception() is None:
                yield future.result()
    finally:
        if not ended:  # nobody reads on
            _signal_all(signal.SIGTERM)
        pool.shutdown(wait=True, cancel_futures=True)


def _interrupt(futures: Sequence[Future[Report]]) -> None:
    """Cancels what has not begun and interrupts the rest until it ends; z3 can swallow an interrupt as it returns."""
    running = [future for future in futures if not future.cancel()]
    for _ in range(PATIENCE):
        _signal_all(signal.SIGINT)
        if not wait(running, timeout=2).not_done:
            return
    _signal_all(signal.SIGTERM)


def _signal_all(number: int) -> None:
    """To every worker, since a signal may have come to this process alone."""
    for child in multiprocessing.active_children():
        if child.pid is not None:
            os.kill(child.pid, number)


def _pool(processes: int) -> ProcessPoolExecutor:
    # A forked worker has the model and the parsers already; elsewhere each worker imports them once.
    method = "fork" if sys.platform == "linux" else None
    return ProcessPoolExecutor(processes, multiprocessing.get_context(method), initializer=_begin_worker)


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    watch_signals()


def _interrupt_once(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupt()


def _decide_interruptibly(question: Question) -> Report:
    """Ctrl-C reaches a worker only while it decides: then it ends with the states so far."""
    signal.signal(signal.SIGINT, _interrupt_once)
    try:
        return decide(question)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _alone(question: Question) -> Report:
    """Once more, in a process of its own, after the pool lost one; what kills even that is undecided."""
    with _pool(1) as pool:
        try:
            return pool.submit(_decide_interruptibly, question).result()
        except BrokenProcessPool:
            reason = "the process that decided it was killed, perhaps for its memory"
            name, model = question.case.source.name, question.settings.model
            return Report(name, model, question.case.header, undecided=reason, stopped=reason)
