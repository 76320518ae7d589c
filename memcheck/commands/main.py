"""The `memcheck` command: which subcommand, and how errors reach the user."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module

from memcheck import __version__
from memcheck.errors import MemcheckError

COMMANDS = {
    "run": "run",
    "simulate": "simulate",
    "compare": "compare",
    "fmt": "fmt",
    "list": "listing",
    "models": "models",
}
"""Names of the subcommands and of their modules; one that is named first on the command line is imported alone."""


class _Version(argparse.Action):
    """Names the model's edition and the solver; read only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="the versions of memcheck, the default model and z3")

    def __call__(self, *_: object) -> None:
        from importlib.metadata import version

        from memcheck.models import load

        print(f"memcheck {__version__} (model {load('ptx').title}; z3 {version('z3-solver')})")
        sys.exit(0)


def _help(prog: str) -> argparse.HelpFormatter:
    """As wide as the terminal. Argparse makes one for each option, and would import shutil to ask for the width."""
    return argparse.HelpFormatter(prog, width=_columns() - 2)


@cache
def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """For one subcommand, or for all."""
    top = argparse.ArgumentParser(
        prog="memcheck",
        description="Which final states does the PTX memory model allow?",
        epilog="Exit status: 0 every condition holds, 1 some does not, 2 a usage or input error, "
        "3 undecided or outside the model.",
        formatter_class=_help,
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, prog=top.prog)
    for name, home in COMMANDS.items():
        if only in COMMANDS and name != only:
            continue
        module = import_module(f"memcheck.commands.{home}")
        first = (module.__doc__ or "").partition("\n")[0].removeprefix(f"`memcheck {name}`: ")
        about = first[:1].upper() + first[1:]
        command = commands.add_parser(name, help=first.rstrip("."), description=about, formatter_class=_help)
        module.configure(command)
        command.set_defaults(execute=module.execute)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status; no exception leaves it but SystemExit of a usage error."""
    gc.set_threshold(25_000)  # modules, models and tables are many objects, and all of them stay
    given = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started it: the status is all that is asked for
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    try:
        options = parser(given[0] if given else None).parse_args(given)
        status: int = options.execute(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has gone: there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    except MemcheckError as error:
        print(f"memcheck: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"memcheck: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        with suppress(OSError):  # what is left of it is not written at the end, either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except KeyboardInterrupt:
        print("memcheck: interrupted", file=sys.stderr)
        return 3
    except Exception as error:
        from memcheck.commands.decide import internal_error

        print(f"memcheck: {internal_error(error)}", file=sys.stderr)
        return 2
