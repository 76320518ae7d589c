"""`memcheck fmt`: print tests fully qualified, with defaults and places written out."""

from __future__ import annotations

import argparse
import sys

from memcheck.commands import settings as shared
from memcheck.errors import MemcheckError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="TEST", help="a file, a folder, a name in the suite, or -")


def execute(options: argparse.Namespace) -> int:
    from memcheck.language.printer import print_test
    from memcheck.render.ink import encodable

    status = 0
    between = ""
    for case in shared.cases(options.files):
        try:
            text = print_test(case.parse())
        except MemcheckError as error:
            print(error, file=sys.stderr)
            status = 2
            continue
        sys.stdout.write(encodable(between + text.rstrip("\n") + "\n", sys.stdout))
        between = "\n"
    return status
