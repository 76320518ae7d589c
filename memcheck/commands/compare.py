"""`memcheck compare`: the final states on which two models differ."""

from __future__ import annotations

import argparse
import sys

from memcheck.commands import settings as shared
from memcheck.commands.decide import Question, reports
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
    from memcheck.render.comparison import Comparison, comparison_json, comparison_lines
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
    statuses = []
    for pair in zip(coming, coming, strict=False):  # one after the other, two by two
        comparison = Comparison(*pair)
        statuses.append(comparison.status)
        if comparison.error is not None and not options.json:
            print(comparison.error, file=sys.stderr)
            continue
        if options.json:
            text = comparison_json(comparison)
        else:
            limit = None if options.all else LIMIT
            text = paint(comparison_lines(comparison, width(sys.stdout), limit), colour)
        sys.stdout.write(encodable(text, sys.stdout))
        sys.stdout.flush()
    return combined_status(statuses) if len(statuses) == len(cases) else 3  # interrupted
