"""`memcheck models`: the models that come with memcheck, and the options that choose between readings."""

from __future__ import annotations

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    from memcheck.cat.options import OPTIONS
    from memcheck.models import available
    from memcheck.render.ink import encodable, paint, wants_colour, width
    from memcheck.render.listing import entries

    room = width(sys.stdout)
    lines = [*entries("Models", available(), room), [], *entries("Options (--option NAME)", OPTIONS, room)]
    text = paint(lines, not options.no_color and wants_colour(sys.stdout))
    sys.stdout.write(encodable(text, sys.stdout))
    return 0
