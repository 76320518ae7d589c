"""What two models say of one test, and where they differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memcheck.axiomatic.outcome import State
from memcheck.render.ink import Line, wrap
from memcheck.render.jsonlines import SCHEMA
from memcheck.render.sentence import count, sentence
from memcheck.render.states import LIMIT, state_table
from memcheck.report import Report


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reports of one test under two models."""

    left: Report
    right: Report

    @property
    def error(self) -> str | None:
        return self.left.error or self.right.error

    @property
    def undecided(self) -> bool:
        return self.left.undecided is not None or self.right.undecided is not None

    @property
    def same(self) -> bool:
        """The same states, and the same reasons to be outside the model."""
        outside = [{remark.name for remark in side.outside} for side in (self.left, self.right)]
        return set(self.left.states) == set(self.right.states) and outside[0] == outside[1]

    @property
    def status(self) -> int:
        if self.error is not None:
            return 2
        return 3 if self.undecided else 0 if self.same else 1

    def only(self, side: Report) -> tuple[State, ...]:
        other = set((self.right if side is self.left else self.left).states)
        return tuple(state for state in side.states if state not in other)


def comparison_lines(comparison: Comparison, room: int, limit: int | None = LIMIT) -> list[Line]:
    """One line where the models agree; the states of one side alone where they do not."""
    left, right = comparison.left, comparison.right
    sides = [f"{side.model} {sentence(side).word}, {count(len(side.states), 'state')}" for side in (left, right)]
    sign, style = ("?", "doubt") if comparison.undecided else ("=", "good") if comparison.same else ("≠", "bad")
    head: Line = [(f"{sign} ", style), (left.test or left.file, "title"), ("   ", "")]
    lines = wrap("; ".join(sides), room, head, style="faint")
    comparable = not (left.outside or right.outside or comparison.undecided)
    for side in () if comparison.same else (left, right):
        only = comparison.only(side) if comparable else ()
        if only:
            part = replace(side, states=only, satisfying=side.satisfying & frozenset(only))
            lines += [[], [(f"  only {side.model}", "flag")], *state_table(part, room, limit)]
        for remark in side.outside:
            lines += [[], *wrap(remark.text, room, [(f"  {side.model}: {remark.name}  ", "doubt")], [("    ", "")])]
    return lines if len(lines) == 1 else [*lines, []]


def comparison_closing(comparisons: Sequence[Comparison], models: Sequence[str]) -> list[Line]:
    """How many tests tell the models apart."""
    counts = Counter(comparison.status for comparison in comparisons)
    parts = [f"{counts[1]} differ", f"{counts[0]} agree"]
    parts += [f"{counts[3]} undecided"] if counts[3] else []
    parts += [f"{counts[2]} with errors"] if counts[2] else []
    return [[(f"{' and '.join(models)} on {count(len(comparisons), 'test')}", "title"), (f": {', '.join(parts)}", "")]]


def comparison_json(comparison: Comparison) -> str:
    sides = (comparison.left, comparison.right)
    fields = {
        "schema": SCHEMA,
        "file": comparison.left.file,
        "test": comparison.left.test,
        "models": [side.model for side in sides],
        "same": None if comparison.error or comparison.undecided else comparison.same,
        "only": [[side.named(state) for state in comparison.only(side)] for side in sides],
        "holds": [side.holds for side in sides],
        "outside": [list(dict.fromkeys(remark.name for remark in side.outside)) for side in sides],
        "undecided": [side.undecided for side in sides],
        "error": comparison.error,
    }
    return json.dumps(fields, ensure_ascii=False) + "\n"
