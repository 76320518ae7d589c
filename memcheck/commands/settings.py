"""The options that `run` and `compare` share: how a test is decided."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

from memcheck.commands.decide import Settings
from memcheck.corpus import Case, find
from memcheck.errors import MemcheckError
from memcheck.source import SourceFile


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="TEST", help="a file, a folder, a name in the suite, or - for standard input"
    )
    parser.add_argument(
        "--bound", type=natural, default=4, metavar="N", help="how often a loop that is no spin goes round (default 4)"
    )
    parser.add_argument("--timeout", type=positive, metavar="S", help="seconds for each test; then undecided")
    parser.add_argument("--memory", type=natural, metavar="MB", help="memory for each test; then undecided")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME",
        help="another reading of the text (`memcheck models` lists them)",
    )
    parser.add_argument("--no-verify", action="store_true", help="do not check each state's witness a second time")
    parser.add_argument("-j", "--jobs", type=natural, default=1, metavar="N", help="processes; 0 for one a core")


def settings(options: argparse.Namespace, model: str) -> Settings:
    """The options for one model; MemcheckError now, once, where the model or an option is not one."""
    from memcheck.models import load

    chosen = frozenset(options.option)
    load(model, chosen)
    return Settings(model, options.bound, options.timeout, options.memory, not options.no_verify, chosen)


def processes(options: argparse.Namespace, questions: int) -> int:
    return max(1, min(options.jobs or os.cpu_count() or 1, questions))


def cases(arguments: Iterable[str]) -> list[Case]:
    """The tests of all arguments; what is found nowhere stays as a case with a fault, in its place."""
    found: list[Case] = []
    for argument in arguments:
        try:
            found += find(argument)
        except MemcheckError as fault:
            found.append(Case(SourceFile(argument, ""), fault=fault))
    return found


def natural(text: str) -> int:
    """An argument that is a number, 0 or more."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of this kind: digits only")
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text} is too large: nine digits at most")
    return int(text)


def positive(text: str) -> float:
    """An argument that is a time in seconds."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number
