"""`python -m tests.bench [FOLDER]`: how long tests take, beside a fixed baseline, in one run.

CPU time throughout. FOLDER (or the environment variable MEMCHECK_BENCH) holds the tests, the suite does otherwise.
The baseline is the plain encoder: z3py terms, 64-bit values, constants folded; it takes a share of the tests, each
within a limit. `python -c pass` is the other measure.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import select
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import memcheck
from memcheck.axiomatic import encoding, verify
from memcheck.axiomatic.solve import is_reachable
from memcheck.checker import check
from memcheck.corpus import Case, find, suite
from memcheck.errors import MemcheckError
from memcheck.events.unfold import unfold
from memcheck.language.test import Test, Truth
from memcheck.models import load
from memcheck.plain.solve import solve as solve_plainly
from memcheck.relations.expression import Model
from memcheck.source import SourceFile
from tests.bench import machine
from tests.bench.measure import BOUND, cpu, is_asynchronous, ms
from tests.bench.rings import ring

WARM = 5
"""Tests decided once before anything is measured."""
SHARE, PATIENCE = 100, 5.0
"""So many tests, evenly spread, are for the baseline too, which has so many seconds for each."""
TRUE = Truth(True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("MEMCHECK_BENCH") or suite())
    parser.add_argument("--model", default="ptx", help="default ptx")
    parser.add_argument("--limit", type=int, help="only so many tests")
    parser.add_argument("--no-baseline", action="store_true", help="leave the slow plain encoder out")
    options = parser.parse_args()
    many(find(options.folder)[: options.limit], options.model, not options.no_baseline)
    parts(options.model, options.limit)
    fresh()
    machine.explorations()
    machine.shares(options.limit)
    rings(options.model, not options.no_baseline)


def many(cases: Sequence[Case], model: str, baseline: bool) -> None:
    """Every state of every test, from its text: the fast engine, with the second check; the baseline on a share."""
    loaded = load(model)
    ways: dict[str, Callable[[Case], object]] = {
        "read": lambda case: case.parse(),
        "read, unfold": lambda case: unfold(case.parse(), BOUND),
        "fast, --no-verify": lambda case: check(case.parse(), model, verify=False),
        "fast, verified": lambda case: check(case.parse(), model),
    }
    rows, failed = [], 0
    both: list[list[float]] = []
    slow = 0
    step = max(1, len(cases) // SHARE)
    for number, case in enumerate([*cases[:WARM], *cases]):
        try:
            row = [cpu(way, case) for way in ways.values()]
        except MemcheckError:
            failed += 1
            continue
        if number < WARM:
            continue
        rows.append(row)
        if baseline and (number - WARM) % step == 0:
            both.append([*row, cpu(lambda case: _plainly(case, loaded), case)])
            slow += both[-1][-1] >= PATIENCE
    print(f"{len(rows)} tests under {model}" + (f", {failed} that end in an error left out" if failed else ""))
    print(f"  {'':22}{'median':>10}{'p95':>10}{'total':>10}{'to baseline':>13}")
    columns = dict(zip(ways, zip(*rows, strict=True), strict=True))
    totals = [sum(column) for column in zip(*both, strict=True)]
    for number, (name, values) in enumerate(columns.items()):
        ratio = f"{totals[number] / totals[-1]:13.3f}" if totals else ""
        p95 = statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
        print(f"  {name:22}{ms(statistics.median(values)):>10}{ms(p95):>10}{ms(sum(values)):>10}{ratio}")
    verified = sum(columns["fast, verified"]) / sum(columns["fast, --no-verify"])
    print(f"  verified over --no-verify: {verified:.2f}")
    if totals:
        print(
            f"  baseline: {len(both)} of the tests in {ms(totals[-1])}, {slow} of them given up after {PATIENCE:g} s;"
            " to baseline is on these"
        )


def _plainly(case: Case, model: Model) -> None:
    solve_plainly(unfold(case.parse(), BOUND), model, timeout=PATIENCE)


def parts(model: str, limit: int | None) -> None:
    """The suite's synchronous and asynchronous tests, all states, verified; the former with the model not folded, too.

    What a model says of asynchronous operations should cost tests without them nothing.
    """
    chosen: dict[str, list[Test]] = {"synchronous": [], "asynchronous": []}
    for case in find(suite())[:limit]:
        try:
            test = case.parse()
            structure = unfold(test, BOUND)
            check(test, model)
        except MemcheckError:
            continue
        chosen["asynchronous" if is_asynchronous(structure) else "synchronous"].append(test)
    print(f"\nthe suite, verified, from tests read\n  {'':32}{'tests':>10}{'median':>10}{'total':>12}")
    totals = {}
    for name, folded in (("synchronous", False), ("synchronous", True), ("asynchronous", True)):
        with nullcontext() if folded else whole_models():
            values = [cpu(lambda test: check(test, model), test) for test in chosen[name]]
        words = name if folded else f"{name}, model not folded"
        totals[words] = sum(values)
        print(f"  {words:32}{len(values):>10}{ms(statistics.median(values)):>10}{ms(sum(values)):>12}")
    print(f"  folded over not folded: {totals['synchronous'] / totals['synchronous, model not folded']:.2f}")


@contextmanager
def whole_models() -> Iterator[None]:
    """Inside it no model is folded to what a structure has."""
    with (
        patch.object(encoding, "without", lambda model, _: model),
        patch.object(verify, "without", lambda model, _: model),
    ):
        yield


def fresh() -> None:
    """A process of its own, against one that does nothing, to nowhere and to a terminal.

    The modules are compiled, as an installation's are.
    """
    compileall.compile_dir(os.path.dirname(memcheck.__file__), quiet=1)
    command = [sys.executable, "-m", "memcheck", "run"]
    mp, pipeline = (os.path.join(suite(), f"{name}.litmus") for name in ("mp", "idioms/tma-pipeline-2x2"))
    ways = {"python -c pass": [sys.executable, "-c", "pass"], "memcheck run mp.litmus": [*command, mp]}
    ways["memcheck run --no-verify mp.litmus"] = [*command, "--no-verify", mp]
    ways["memcheck run tma-pipeline-2x2.litmus"] = [*command, pipeline]
    for way in ways.values():
        process(way, subprocess.DEVNULL)
    leader, terminal = os.openpty()
    print(f"\nfresh process\n  {'':40}{'to nowhere':>23}{'to a terminal':>23}")
    least = {name: [float("inf")] * 2 for name in ways}
    for _ in range(9):
        for name, way in ways.items():
            for column, where in enumerate((subprocess.DEVNULL, terminal)):
                least[name][column] = min(least[name][column], process(way, where))
            while select.select([leader], [], [], 0)[0]:
                os.read(leader, 65536)
    nothing = least["python -c pass"]
    test = find(pipeline)[0].parse()
    least["its check alone, warm"] = [min(cpu(check, test) for _ in range(9))] * 2
    for name, seconds in least.items():
        cells = "".join(f"{ms(one):>10}{one / base:7.1f} times" for one, base in zip(seconds, nothing, strict=True))
        print(f"  {name:40}{cells}")


def rings(model: str, baseline: bool) -> None:
    """The verdict alone and all 2^n - 1 states, and how they grow."""
    print(f"\nSB ring with fence.sc\n  {'':22}{'n = 5':>10}{'n = 10':>10}{'n=10 / n=5':>12}")
    loaded = load(model)
    small, large = (Case(SourceFile(f"ring-{n}", ring(n))).parse() for n in (5, 10))
    ways: dict[str, Callable[[Test], object]] = {
        "verdict": lambda test: is_reachable(
            unfold(test, BOUND), loaded, test.condition.prop if test.condition else TRUE
        ),
        "all states": lambda test: check(test, model, verify=False),
        "all states, verified": lambda test: check(test, model),
    }
    for name, way in ways.items():
        short, long = (min(cpu(way, test) for _ in range(3)) for test in (small, large))
        print(f"  {name:22}{ms(short):>10}{ms(long):>10}{long / short:12.1f}")
    if baseline:
        plain = cpu(lambda test: solve_plainly(unfold(test, BOUND), loaded), small)
        print(f"  {'all states, plain':22}{ms(plain):>10}")


def process(command: Sequence[str], where: int) -> float:
    """The CPU time of one run, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=where, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
