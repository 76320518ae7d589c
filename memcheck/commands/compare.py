"""`memcheck compare`: the final states on which two models differ."""

from __future__ import annotations

import argparse
import sys

from memcheck.commands import settings as shared
from memcheck.commands.decide import Question, reports, was_interrupted
from memcheck.commands.limits import interruptible
from memcheck.errors import MemcheckError


def configure(parser: argparse.ArgumentParser) -> None:
    shared.configure(parser)
    parser.add_argument(
        "--models", default="ptx,ptx-7.5", metavar="A,B", help="two models, names or cat files (default ptx,ptx-7.5)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--all", action="store_true", help="show all states, however many")
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    """0 the models agree on every test, 1 they differ on some, 2 an error, 3 some comparison is undecided."""
    from memcheck.render.comparison import Comparison, comparison_closing, comparison_json, comparison_lines
    from memcheck.render.ink import encodable, paint, wants_colour, width
    from memcheck.render.states import LIMIT
    from memcheck.report import combined_status

    names = [name.strip() for name in options.models.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise MemcheckError("--models takes two different models, such as ptx,ptx-7.5")
    interruptible()
    both = [shared.settings(options, name) for name in names]
    cases = shared.cases(options.files)
    questions = [Question(case, one) for case in cases for one in both]
    coming = reports(questions, shared.processes(options, len(questions)))
    colour = not options.no_color and wants_colour(sys.stdout)
    room, limit = width(sys.stdout), None if options.all else LIMIT
    told = []
    for pair in zip(coming, coming, strict=False):  # one after the other, two by two
        comparison = Comparison(*pair)
        told.append(comparison)
        if options.json:
            text = comparison_json(comparison)
        elif comparison.error is not None:
            print(comparison.error, file=sys.stderr)
            continue
        elif comparison.status == 0 and len(cases) > 1:
            continue  # of many tests, those that differ
        else:
            text = paint(comparison_lines(comparison, room, limit), colour)
        sys.stdout.write(encodable(text, sys.stdout))
        sys.stdout.flush()
    if len(cases) > 1 and not options.json:
        sys.stdout.write(encodable(paint(comparison_closing(told, names), colour), sys.stdout))
    interrupted = len(told) < len(cases) or any(was_interrupted(side) for one in told for side in (one.left, one.right))
    return 3 if interrupted else combined_status(comparison.status for comparison in told)
