"""`memcheck simulate`: run tests on the machine: which final states it reaches, and how.

The model has no part in it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memcheck.commands import settings as shared
from memcheck.commands.decide import internal_error
from memcheck.commands.limits import interruptible
from memcheck.errors import MemcheckError

if TYPE_CHECKING:
    from memcheck.corpus import Case
    from memcheck.language.test import Test
    from memcheck.machine.machine import Machine
    from memcheck.machine.trace import TraceStep
    from memcheck.render.simulation import Simulation


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="TEST", help="a file, a folder, a name in the suite, or - for standard input"
    )
    parser.add_argument("--runs", type=shared.natural, metavar="N", help="N random runs, instead of all that there are")
    parser.add_argument("--seed", type=shared.natural, metavar="S", help="of the random runs (default 0)")
    parser.add_argument(
        "--trace",
        metavar="STATE",
        help="the shortest run to a final state, such as 'P1:r0=1,P1:r1=0', to deadlock or to undefined",
    )
    parser.add_argument("--steps", action="store_true", help="with --trace: one step at each Enter, q to end")
    parser.add_argument(
        "--scheduling",
        choices=("independent", "stack"),
        default="independent",
        help="of a warp's lanes: independent, or on a stack as before Volta (default independent)",
    )
    parser.add_argument(
        "--budget",
        type=shared.natural,
        default=200_000,
        metavar="N",
        help="states to remember, 1 to 3 kB each (default 200000)",
    )
    parser.add_argument(
        "--timeout", type=shared.positive, default=60.0, metavar="S", help="CPU seconds for each test (default 60)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--all", action="store_true", help="show all states, however many")
    parser.add_argument("--no-color", action="store_true", help="plain text, also on a terminal")


def execute(options: argparse.Namespace) -> int:
    """0 all is known, 1 the state of --trace is not reached, 2 an error, 3 a limit or an interrupt came first."""
    from memcheck.report import combined_status

    if options.steps and options.trace is None:
        raise MemcheckError("--steps walks through the run that --trace STATE asks for")
    if options.seed is not None and options.runs is None:
        raise MemcheckError("--seed is of random runs: add --runs N")
    options.seed = options.seed or 0
    if options.runs is not None and options.trace is not None:
        raise MemcheckError("--trace looks for the shortest run among all: leave out --runs")
    interruptible()
    cases = shared.cases(options.files)
    statuses = []
    for number, case in enumerate(cases):
        if number and not options.json:
            sys.stdout.write("\n")
        try:
            status, interrupted = _Telling(options, case).tell()
        except KeyboardInterrupt:
            status, interrupted = 3, True
        statuses.append(status)
        if interrupted:
            return 3
    return combined_status(statuses)


class _Answer(NamedTuple):
    status: int
    interrupted: bool = False


class _Telling:
    """One test, told as the options say."""

    def __init__(self, options: argparse.Namespace, case: Case) -> None:
        self.options = options
        self.case = case

    def tell(self) -> _Answer:
        from memcheck.machine.machine import Machine

        try:
            test = self.case.parse()
            machine = Machine(test, self.options.scheduling)
            if self.options.trace is not None:
                return self._trace(test, machine)
            return self._states(machine)
        except MemcheckError as fault:
            self._write_error(str(fault))
        except RecursionError:
            self._write_error(f"{self.case.source.name}: nested too deeply to be read.")
        except OSError:  # of writing: reading a file has errors of its own
            raise
        except Exception as fault:
            self._write_error(f"{self.case.source.name}: {internal_error(fault)}")
        return _Answer(2)

    def _states(self, machine: Machine) -> _Answer:
        from memcheck.machine.explore import KEPT, draw, explore
        from memcheck.render.simulation import explored, ran, simulation_json, simulation_lines

        options = self.options
        found: Simulation
        if options.runs is None:
            reached = explore(machine, options.budget, options.timeout)
            found = explored(machine, reached, options.timeout, options.budget)
        else:
            kept = min(KEPT, options.budget)
            drawn = draw(machine, options.runs, options.seed, seconds=options.timeout, kept=kept)
            found = ran(machine, drawn, options.runs, options.seed)
        if options.json:
            sys.stdout.write(simulation_json(found))
        else:
            self._write(simulation_lines(found, self._room(), options.all))
        sys.stdout.flush()
        done = found.complete or (found.drawn is not None and found.drawn == options.runs)
        return _Answer(0 if done else 3, found.interrupted)

    def _trace(self, test: Test, machine: Machine) -> _Answer:
        from memcheck.machine.explore import explore, run_to_hang, shortest, shortest_to_trap
        from memcheck.machine.trace import standing, told
        from memcheck.render.simulation import (
            DEADLOCK,
            UNDEFINED,
            left_lines,
            not_reached,
            state_wanted,
            trace_json,
            trace_lines,
        )

        options = self.options
        wanted = state_wanted(test, options.trace)
        limits = options.budget, options.timeout
        if wanted.ending == DEADLOCK:
            run = run_to_hang(machine, *limits)
        elif wanted.ending == UNDEFINED:
            run = shortest_to_trap(machine, *limits)
        else:
            run = shortest(machine, wanted.matches, *limits)
        if run is not None:
            steps = told(machine, run)
            left = tuple(standing(machine, run[-1][1] if run else machine.initial()))
            if options.json:
                sys.stdout.write(trace_json(test, wanted, steps))
            elif options.steps:
                self._walk(test, steps)
                self._write(left_lines(wanted, left, self._room()))
            else:
                self._write(trace_lines(test, wanted, steps, left, self._room()))
            return _Answer(0)
        found = explore(machine, options.budget, options.timeout)
        if wanted.ending == DEADLOCK and found.hangs:  # there is one, which looking for the way to it did not come to
            found = replace(found, complete=False)
        if options.json:
            sys.stdout.write(trace_json(test, wanted, None, found.complete))
        else:
            self._write(not_reached(test, wanted, found, self._room()))
        return _Answer(1 if found.complete else 3, found.interrupted)

    def _walk(self, test: Test, steps: tuple[TraceStep, ...]) -> None:
        """Prints a step, waits for a line; at the end of the input the rest follows."""
        from memcheck.render.trace import trace_head, trace_row, widths

        columns = widths(steps, self._room())
        self._write([[(test.name, "title")], [], *trace_head(columns)])
        asking = True
        for number, step in enumerate(steps):
            self._write(trace_row(step, columns))
            sys.stdout.flush()
            if asking and number + 1 < len(steps):
                line = sys.stdin.readline()
                asking = bool(line)
                if line.strip().lower() in ("q", "quit"):
                    return

    def _room(self) -> int:
        from memcheck.render.ink import width

        return width(sys.stdout)

    def _write(self, lines: list[list[tuple[str, str]]]) -> None:
        from memcheck.render.ink import encodable, paint, wants_colour

        colour = not self.options.no_color and wants_colour(sys.stdout)
        sys.stdout.write(encodable(paint(lines, colour), sys.stdout))

    def _write_error(self, text: str) -> None:
        from memcheck.render.simulation import error_json

        if self.options.json:
            sys.stdout.write(error_json(self.case.source.name, self.case.header, text))
        else:
            print(text, file=sys.stderr)
