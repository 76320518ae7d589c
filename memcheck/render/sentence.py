"""A verdict in words."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.report import Report


@dataclass(frozen=True, slots=True)
class Sentence:
    """`sign` and `word` (one word, for lists), then the sentence; `style` colours the first two."""

    sign: str
    word: str
    style: str
    text: str


def sentence(report: Report) -> Sentence:
    if report.error is not None:
        return Sentence("✗", "error", "bad", report.error)
    if report.outside:
        return Sentence("?", "outside", "doubt", "The model says nothing: its axioms do not apply to this test.")
    if report.undecided is not None:
        found = f" Found so far: {count(len(report.states), 'final state')}." if report.states else ""
        return Sentence("?", "undecided", "doubt", f"Not decided: {report.undecided.rstrip('.')}.{found}")
    if report.no_final_state:
        return Sentence("?", "deadlock", "doubt", "No execution ends: in each one some thread waits for ever.")
    if report.holds is None:
        return Sentence(
            "·", "states", "title", f"{count(len(report.states), 'final state')}, and no condition to check."
        )
    text = _condition_sentence(report)
    return Sentence("✓", "holds", "good", text) if report.holds else Sentence("✗", "fails", "bad", text)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _condition_sentence(report: Report) -> str:
    total, yes = len(report.states), len(report.satisfying)
    no = total - yes
    match report.quantifier, report.holds:
        case "exists", True:
            return f"The condition holds: {_some(yes, total, 'satisfies', 'satisfy')} it (allowed)."
        case "exists", False:
            return f"The condition fails: {_none(total, 'satisfies')} it (forbidden)."
        case "~exists", True:
            return f"The condition holds: {_none(total, 'is')} one that it rules out."
        case "~exists", False:
            return f"The condition fails: {_some(yes, total, 'is one', 'are ones')} that it rules out."
        case _, True:
            return f"The condition holds: {_every(total)} it."
        case _:
            return f"The condition fails: {_some(no, total, 'does', 'do')} not satisfy it."


def _some(number: int, total: int, one: str, many: str) -> str:
    if total == 1:
        return f"the only final state {one}"
    return f"{number} of {total} final states {one if number == 1 else many}"


def _none(total: int, verb: str) -> str:
    if total == 0:
        return f"there is no final state, so none {verb}"
    if total == 1:
        return "the only final state does not satisfy" if verb == "satisfies" else "the only final state is not"
    return f"none of the {total} final states {verb}"


def _every(total: int) -> str:
    if total == 0:
        return "there is no final state, so all satisfy"
    return "the only final state satisfies" if total == 1 else f"all {total} final states satisfy"
