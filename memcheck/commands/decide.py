"""From a test's text to its report: parsing and checking, with everything that can go wrong told in the report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memcheck.commands.limits import memory_limit, time_limit
from memcheck.corpus import Case
from memcheck.errors import MemcheckError, TooLargeError, UnsupportedError

if TYPE_CHECKING:
    from memcheck.crossrun import Crossrun
    from memcheck.language.test import Test
    from memcheck.report import Report
    from memcheck.result import Result

RAISE = "MEMCHECK_RAISE"
"""With this environment variable set, an internal error is raised instead of told in a line; the tests set it."""

INTERRUPTED = "interrupted"


class Settings(NamedTuple):
    """How tests are decided; `model` is a name or a cat file, `timeout` in seconds and `memory` in MB for each test.

    `machine`: seconds that the machine gets for each test, None where it is left out.
    """

    model: str = "ptx"
    bound: int = 4
    timeout: float | None = None
    memory: int | None = None
    verify: bool = True
    options: frozenset[str] = frozenset()
    machine: float | None = None


class Question(NamedTuple):
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
        if was_interrupted(report):
            return


def was_interrupted(report: Report) -> bool:
    stopped = report.stopped is not None and INTERRUPTED in report.stopped
    return stopped or report.unmachined == INTERRUPTED or (report.machine is not None and report.machine.interrupted)


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
    settings = question.settings
    with time_limit(settings.timeout) as alarm:
        try:
            with memory_limit(settings.memory):
                found = _decide(question)
        except KeyboardInterrupt:
            found = _unanswered(question, undecided=INTERRUPTED)
    return _late(found, f"the time limit of {settings.timeout:g} s was reached") if alarm.rang else found


def _late(found: Report, reason: str) -> Report:
    """A report that the time limit ended, and nobody's interrupt."""
    if found.stopped is not None:
        found = replace(found, stopped=reason, undecided=found.undecided and reason)
    if found.machine is not None:
        found = replace(found, machine=replace(found.machine, interrupted=False))
    return replace(found, unmachined=reason) if found.unmachined == INTERRUPTED else found


def _decide(question: Question) -> Report:
    from memcheck.checker import check
    from memcheck.report import report

    settings = question.settings
    test = None
    try:
        test = question.case.parse()
        result = check(
            test,
            settings.model,
            bound=settings.bound,
            timeout=settings.timeout,
            memory=settings.memory,
            verify=settings.verify,
            options=settings.options,
        )
        return report(result, *_on_the_machine(result, settings))
    except TooLargeError as fault:
        return _unanswered(question, test, undecided=str(fault))
    except MemcheckError as fault:
        return _unanswered(question, test, error=str(fault))
    except KeyboardInterrupt:
        return _unanswered(question, test, undecided=INTERRUPTED)
    except MemoryError:
        limit = f"of {settings.memory} MB was reached" if settings.memory else "of the machine was reached"
        return _unanswered(question, test, undecided=f"the memory limit {limit}")
    except RecursionError:
        return _unanswered(question, test, error=f"{question.case.source.name}: nested too deeply to be read.")
    except Exception as fault:
        return _unanswered(question, test, error=f"{question.case.source.name}: {internal_error(fault)}")


def _on_the_machine(result: Result, settings: Settings) -> tuple[Crossrun | None, str | None]:
    """What the machine does with a test that is decided, or why it has not run; the verdict stands either way."""
    if settings.machine is None or result.outside or (result.undecided and INTERRUPTED in result.undecided):
        return None, None
    from memcheck.crossrun import crossrun

    try:
        return crossrun(result, options=settings.options, bound=settings.bound, seconds=settings.machine), None
    except UnsupportedError as fault:
        return None, fault.message
    except MemcheckError as fault:
        return None, str(fault)
    except KeyboardInterrupt:
        return None, INTERRUPTED
    except MemoryError:
        return None, "the memory limit was reached"
    except Exception as fault:
        return None, internal_error(fault)


def _unanswered(
    question: Question, test: Test | None = None, *, undecided: str | None = None, error: str | None = None
) -> Report:
    """A report without states; says of the test what is known of it."""
    from memcheck.report import Report

    condition = test.condition if test else None
    return Report(
        file=question.case.source.name,
        model=question.settings.model,
        test=test.name if test else question.case.header,
        text=question.case.source.text,
        description=test.description if test else (),
        condition=condition.text if condition else None,
        quantifier=condition.quantifier.value if condition else None,
        keys=tuple(test.key(term) for term in test.observed) if test else (),
        undecided=undecided,
        stopped=undecided,
        error=error,
    )
