"""`memcheck run`: decide tests: their final states, and whether their conditions hold."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memcheck.commands import settings as shared
from memcheck.commands.decide import Question, reports, was_interrupted
from memcheck.commands.limits import interruptible

if TYPE_CHECKING:
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
    machine = parser.add_mutually_exclusive_group()
    machine.add_argument(
        "--machine", action="store_true", help="run the machine too, also for several tests or another model"
    )
    machine.add_argument("--no-machine", action="store_true", help="leave the machine out")
    parser.add_argument(
        "--machine-time",
        type=shared.positive,
        default=0.3,
        metavar="S",
        help="seconds that the machine gets for each test (default 0.3)",
    )
    parser.add_argument("--all", action="store_true", help="show all states, however many")
    parser.add_argument("--quiet", action="store_true", help="print only errors; the exit status says the rest")
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    from memcheck.render.progress import progress
    from memcheck.report import combined_status

    interruptible()
    started = time.monotonic()
    decided = shared.settings(options, options.model)
    cases = shared.cases(options.files)
    number = len(cases)
    if _wants_machine(options, number):
        decided = decided._replace(machine=options.machine_time)
    questions = [Question(case, decided) for case in cases]
    show = _format(options, number)
    told = []
    coming = reports(questions, shared.processes(options, number))
    bar = progress(number, wanted=not options.quiet)
    try:
        for report in coming:
            told.append(report)
            if report.error is not None and options.format != "json":
                bar.tell(report.error + "\n", sys.stderr)
            bar.tell(show(report), sys.stdout)
            bar.advance()
    finally:
        bar.close()
    if options.format == "text" and number > 1 and not options.quiet:
        _write_closing(options, told, number, time.monotonic() - started)
    if len(told) < number or any(map(was_interrupted, told)):
        return 3
    return combined_status(_expected_status(report) if options.expect else report.status for report in told)


def _wants_machine(options: argparse.Namespace, number: int) -> bool:
    """By default for a page on one test, of the model that the machine is built for."""
    if options.machine or options.no_machine:
        return bool(options.machine)
    return number == 1 and options.format != "herd" and options.model == "ptx" and not options.option


def _expected_status(report: Report) -> int:
    return 2 if report.error is not None else 0 if report.unexpected == () and not report.is_refuted else 1


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

    between = "\n" if number > 1 else ""
    return lambda report: "" if report.error else paint(page(report, room, options.all), colour) + between


def _write_closing(options: argparse.Namespace, told: list[Report], number: int, seconds: float) -> None:
    from memcheck.render.ink import encodable, paint, wants_colour
    from memcheck.render.summary import closing

    colour = not options.no_color and wants_colour(sys.stdout)
    text = paint(closing(told, number, seconds), colour)
    sys.stdout.write(encodable(text, sys.stdout))
