"""`memcheck run`: decide tests: their final states, and whether their conditions hold."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from memcheck.commands import settings as shared
from memcheck.commands.decide import INTERRUPTED, Settings, decide

if TYPE_CHECKING:
    from memcheck.corpus import Case
    from memcheck.report import Report

Show = Callable[["Report"], str]


def configure(parser: argparse.ArgumentParser) -> None:
    shared.configure(parser)
    parser.add_argument("--model", default="ptx", metavar="NAME", help="a model, or a path to a FILE.cat (default ptx)")
    parser.add_argument("--format", choices=("text", "json", "herd"), default="text", help="output (default text)")
    parser.add_argument("--json", action="store_const", dest="format", const="json", help="the same as --format json")
    parser.add_argument("--full", action="store_true", help="a page for each test, also where there are several")
    parser.add_argument(
        "--expect",
        action="store_true",
        help="judge by the files' expectations: status 1 where one is missed or missing",
    )
    parser.add_argument("--all", action="store_true", help="show all states, however many")
    parser.add_argument("--quiet", action="store_true", help="print only errors; the exit status says the rest")
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    from memcheck.render.progress import progress
    from memcheck.report import combined_status

    shared.end_on_terminate()
    started = time.monotonic()
    decided = shared.settings(options, options.model)
    cases = shared.cases(options.files)
    show = _format(options, len(cases))
    reports = []
    bar = progress(len(cases), wanted=not options.quiet)
    try:
        for report in reports_of(cases, decided, shared.jobs(options, len(cases))):
            reports.append(report)
            if report.error is not None and options.format != "json":
                bar.tell(report.error + "\n", sys.stderr)
            bar.tell(show(report), sys.stdout)
            bar.advance()
    finally:
        bar.close()
    if options.format == "text" and len(cases) > 1 and not options.quiet:
        _write_closing(options, reports, len(cases), time.monotonic() - started)
    missing = [3] if len(reports) < len(cases) else []
    judged = [_expected_status(report) if options.expect else report.status for report in reports]
    return combined_status(judged + missing)


def _expected_status(report: Report) -> int:
    return 2 if report.error is not None else 0 if report.unexpected == () else 1


def reports_of(cases: Sequence[Case], decided: Settings, jobs: int) -> Iterator[Report]:
    """Reports in the order of the cases; fewer than the cases where an interrupt ended it."""
    if jobs > 1:
        from memcheck.commands.parallel import in_processes

        yield from in_processes(cases, decided, jobs)
        return
    for case in cases:
        report = decide(case, decided)
        yield report
        if report.undecided is not None and INTERRUPTED in report.undecided:
            return


def _format(options: argparse.Namespace, number: int) -> Show:
    """What is written to standard output for one report."""
    if options.quiet:
        return lambda _: ""
    if options.format == "json":
        from memcheck.render.jsonlines import json_line

        return json_line
    if options.format == "herd":
        from memcheck.render.herd import herd_log

        return herd_log
    return _text(options, number)


def _text(options: argparse.Namespace, number: int) -> Show:
    from memcheck.render.ink import paint, wants_colour, width

    colour = not options.no_color and wants_colour(sys.stdout)
    room = width(sys.stdout)
    if number > 1 and not options.full:
        from memcheck.render.summary import summary_line

        return lambda report: paint([summary_line(report)], colour)
    from memcheck.render.page import page
    from memcheck.render.states import LIMIT

    limit = None if options.all else LIMIT
    between = "\n" if number > 1 else ""
    return lambda report: "" if report.error else paint(page(report, room, limit), colour) + between


def _write_closing(options: argparse.Namespace, reports: list[Report], number: int, seconds: float) -> None:
    from memcheck.render.ink import encodable, paint, wants_colour
    from memcheck.render.summary import closing

    colour = not options.no_color and wants_colour(sys.stdout)
    text = paint(closing(reports, number, seconds), colour)
    sys.stdout.write(encodable(text, sys.stdout))
