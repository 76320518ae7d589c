"""From a test's text to its report: parsing and checking, with everything that can go wrong told in the report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcheck.corpus import Case
from memcheck.errors import MemcheckError, TooLargeError

if TYPE_CHECKING:
    from memcheck.report import Report

RAISE = "MEMCHECK_RAISE"
"""With this environment variable set, an internal error is raised instead of told in a line; the tests set it."""

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Settings:
    """How tests are decided; `model` is a name or a cat file, `timeout` in seconds and `memory` in MB for each test."""

    model: str = "ptx"
    bound: int = 4
    timeout: float | None = None
    memory: int | None = None
    verify: bool = True
    options: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    case: Case
    settings: Settings


def reports(questions: Sequence[Question], processes: int) -> Iterator[Report]:
    """Reports in the order of the questions; fewer than them where an interrupt came."""
    if processes > 1:
        from memcheck.commands.parallel import in_processes

        return in_processes(questions, processes)
    return _in_this_process(questions)


def _in_this_process(questions: Sequence[Question]) -> Iterator[Report]:
    for question in questions:
        report = decide(question)
        yield report
        if report.stopped is not None and INTERRUPTED in report.stopped:
            return


def internal_error(fault: BaseException) -> str:
    """An unexpected exception in a line; raised instead where MEMCHECK_RAISE is set."""
    if os.environ.get(RAISE):
        raise fault
    return (
        f"internal error: {type(fault).__name__}: {fault}. This is a fault of memcheck: please report it"
        f" together with the input ({RAISE}=1 shows where it happened)."
    )


def decide(question: Question) -> Report:
    """The report of one test under one model."""
    from memcheck.check import check
    from memcheck.report import Report, report

    case, settings = question.case, question.settings
    test = None
    error = undecided = None
    try:
        test = case.parse()
        result = check(
            test,
            settings.model,
            bound=settings.bound,
            timeout=settings.timeout,
            memory=settings.memory,
            verify=settings.verify,
            options=settings.options,
        )
        return report(result)
    except TooLargeError as fault:
        undecided = str(fault)
    except MemcheckError as fault:
        error = str(fault)
    except KeyboardInterrupt:
        undecided = INTERRUPTED
    except MemoryError:
        undecided = "the memory ran out"
    except RecursionError:
        error = f"{case.source.name}: nested too deeply to be read."
    except Exception as fault:
        error = f"{case.source.name}: {internal_error(fault)}"
    return Report(
        file=case.source.name,
        model=settings.model,
        test=test.name if test else case.header,
        text=case.source.text,
        description=test.description if test else (),
        condition=test.condition.text if test and test.condition else None,
        quantifier=test.condition.quantifier.value if test and test.condition else None,
        keys=tuple(test.key(term) for term in test.observed) if test else (),
        undecided=undecided,
        stopped=undecided,
        error=error,
    )
