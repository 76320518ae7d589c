"""Mutants of ptx.cat over the suite: `python -m tests.mutants`.

Each axiom, flag, operand of `|` and `&`, and filter is dropped in turn (`tests.mutation`); every such mutant must
change the states, the flags or what is outside of some test, or be in IMPLIED with the argument why it cannot. Status
1 where one is noticed by nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from memcheck.events.structure import Structure
from memcheck.models import load
from memcheck.relations.expression import Model
from tests.mutation.implied import IMPLIED
from tests.mutation.mutants import Mutant, mutants
from tests.mutation.verdicts import Answer, answer, sensitive, structures

SUITE = Path(__file__).parent.parent / "litmus"
FEW = 40


class Hunt:
    """Finds for each mutant a test that notices it; tests that did so before are tried first."""

    def __init__(self, tests: Mapping[str, Structure], model: Model, changed: list[Mutant], few: int | None) -> None:
        """`few`: with how many tests to try mutants that are argued to change nothing; None: with all."""
        self.tests = tests
        self.model = model
        self.few = few
        self.order = list(tests)
        self.sensitive = {name: sensitive(structure, model, changed) for name, structure in tests.items()}
        self._expected: dict[tuple[str, bool], Answer] = {}

    def expected(self, name: str, tearing: bool) -> Answer:
        key = name, tearing
        if key not in self._expected:
            self._expected[key] = answer(self.tests[name], self.model, tearing)
        return self._expected[key]

    def _candidates(self, mutant: Mutant) -> Iterator[tuple[str, bool]]:
        """Tests, and whether to ask under the option `tearing`, which matters last and to accesses of several bytes."""
        names = [name for name in self.order if mutant.description in self.sensitive[name]]
        if mutant.description in IMPLIED:
            names = names[: self.few]
        yield from ((name, False) for name in names)
        if "Single-copy-atomicity" in mutant.description:
            yield from ((name, True) for name in names)

    def killer(self, mutant: Mutant) -> str | None:
        for name, tearing in self._candidates(mutant):
            if answer(self.tests[name], mutant.model, tearing) != self.expected(name, tearing):
                self.order.remove(name)
                self.order.insert(0, name)
                return f"{name} --option tearing" if tearing else name
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=[str(SUITE)])
    parser.add_argument("--limit", type=int, default=22, help="leave out tests with more events (default 22)")
    parser.add_argument("--only", default="", help="mutants whose description has this text")
    parser.add_argument("--all", action="store_true", help="try implied mutants with all tests, not with 40 each")
    parser.add_argument("--verbose", action="store_true", help="name the test that notices each mutant")
    options = parser.parse_args()
    started = time.monotonic()
    model = load("ptx")
    chosen = [mutant for mutant in mutants(model) if options.only in mutant.description]
    hunt = Hunt(structures(options.paths, options.limit), model, chosen, None if options.all else FEW)
    noticed = implied = 0
    faults = (
        [] if options.only else [f"no such mutant: {one}" for one in IMPLIED.keys() - {m.description for m in chosen}]
    )
    for mutant in sorted(chosen, key=lambda mutant: mutant.description in IMPLIED):
        killer, argued = hunt.killer(mutant), mutant.description in IMPLIED
        noticed += killer is not None
        implied += killer is None and argued
        if options.verbose and killer is not None:
            print(f"{mutant.description}: {killer}", flush=True)
        if killer is None and not argued:
            faults.append(f"not noticed: {mutant.description}")
        elif killer is not None and argued:
            faults.append(f"said to be implied, but {killer} notices: {mutant.description}")
    print(*faults, sep="\n" if faults else "")
    print(
        f"{len(chosen)} mutants over {len(hunt.tests)} tests: {noticed} noticed, {implied} implied, "
        f"{len(faults)} faults, {time.monotonic() - started:.0f} s"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
