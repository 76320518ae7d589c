"""From a case to its report: parsing and checking, with everything that can go wrong told in the report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memcheck.corpus import Case
from memcheck.errors import MemcheckError, TooLargeError

if TYPE_CHECKING:
    from memcheck.report import Report

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


def decide(case: Case, settings: Settings) -> Report:
    """The report of one test. Raises internal errors only where MEMCHECK_RAISE is set."""
    from memcheck.check import check
    from memcheck.report import Report, report

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
        if os.environ.get("MEMCHECK_RAISE"):
            raise
        error = f"{case.source.name}: nested too deeply to be read."
    except Exception as fault:
        if os.environ.get("MEMCHECK_RAISE"):
            raise
        from memcheck.commands.main import INTERNAL

        error = f"{case.source.name}: {INTERNAL.format(kind=type(fault).__name__, error=fault)}"
    return Report(
        file=case.source.name,
        model=settings.model,
        test=test.name if test else case.header,
        condition=test.condition.text if test and test.condition else None,
        quantifier=test.condition.quantifier.value if test and test.condition else None,
        keys=tuple(test.key(term) for term in test.observed) if test else (),
        description=test.description if test else (),
        text=case.source.text,
        error=error,
        undecided=undecided,
    )
