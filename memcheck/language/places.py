"""Places of threads: what the heads say, completed; contradictions are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memcheck.errors import SourceError
from memcheck.language.nearest import nearest
from memcheck.language.numbers import small
from memcheck.language.position import Positions
from memcheck.language.syntax import Clause, Head
from memcheck.language.test import Place
from memcheck.source import Span

LEVELS = ("gpu", "grid", "cluster", "cta", "warp", "lane")
WARP_SIZE = 32
_MAX_NUMBER = 1_000_000


class Said(NamedTuple):
    """What the head of a thread says: number and place in the text, by level."""

    name: str
    levels: dict[str, tuple[int, Span]]
    span: Span


def read_head(head: Head, clause: Clause, positions: Positions) -> Said:
    levels: dict[str, tuple[int, Span]] = {}
    for level, number in head.places:
        span = positions.span(clause.at + level.at, number.at - level.at + len(number.text))
        if level.text not in LEVELS:
            raise SourceError(
                f"`{level.text}` is no level of the hierarchy",
                positions.span(clause.at + level.at, len(level.text)),
                nearest(level.text, LEVELS),
            )
        if level.text in levels:
            raise SourceError(f"the {level.text} of {head.name.text} is given twice", span)
        limit = WARP_SIZE - 1 if level.text == "lane" else _MAX_NUMBER
        levels[level.text] = small(number, positions, clause.at, f"a {level.text}", limit), span
    return Said(head.name.text, levels, positions.span(clause.at + head.name.at, len(head.name.text)))


def complete(threads: Sequence[Said], columns: bool = False) -> tuple[list[Place], list[str]]:
    """The place of each thread, every level filled in, and remarks.

    Tests of the herd family count CTAs within their GPU: in `columns`, a CTA number used on two GPUs is two CTAs.
    """
    threads, notes = _by_gpu(threads) if columns else (threads, [])
    gpus = [_given(said, "gpu", 0) for said in threads]
    grids = [_given(said, "grid", 0) for said in threads]
    ctas = _filled(threads, "cta", lambda index: index)
    clusters = _clusters(threads, ctas)
    warps = _filled(threads, "warp", lambda index: index)
    _agree(threads, "cta", ctas, (("gpu", gpus), ("grid", grids)))
    _agree(threads, "cluster", clusters, (("gpu", gpus), ("grid", grids)))
    _agree(threads, "warp", warps, (("cta", ctas),))
    return list(map(Place, gpus, grids, clusters, ctas, warps, _lanes(threads, warps))), notes


def _by_gpu(threads: Sequence[Said]) -> tuple[list[Said], list[str]]:
    fresh = _unused(said.levels["cta"][0] for said in threads if "cta" in said.levels)
    gpu_of: dict[int, int] = {}
    other: dict[tuple[int, int], int] = {}
    renumbered, notes = [], []
    for said in threads:
        if "cta" in said.levels:
            (cta, span), gpu = said.levels["cta"], _given(said, "gpu", 0)
            if gpu_of.setdefault(cta, gpu) != gpu:
                if (cta, gpu) not in other:
                    other[cta, gpu] = fresh()
                    notes.append(
                        f"cta {cta} of gpu {gpu} is not that of gpu {gpu_of[cta]}: it is CTA {other[cta, gpu]}"
                    )
                said = said._replace(levels={**said.levels, "cta": (other[cta, gpu], span)})
        renumbered.append(said)
    return renumbered, notes


def _given(said: Said, level: str, default: int) -> int:
    return said.levels[level][0] if level in said.levels else default


def _unused(taken: Iterable[int]) -> Callable[[], int]:
    used = set(taken)
    last = -1

    def next_number() -> int:
        nonlocal last
        last += 1
        while last in used:
            last += 1
        return last

    return next_number


def _filled(threads: Sequence[Said], level: str, group: Callable[[int], int]) -> list[int]:
    """Numbers of a level, with unused ones where none is given: one for each group of threads."""
    fresh = _unused(said.levels[level][0] for said in threads if level in said.levels)
    made: dict[int, int] = {}
    numbers = []
    for index, said in enumerate(threads):
        if level in said.levels:
            numbers.append(said.levels[level][0])
        else:
            key = group(index)
            if key not in made:
                made[key] = fresh()
            numbers.append(made[key])
    return numbers


def _clusters(threads: Sequence[Said], ctas: list[int]) -> list[int]:
    """A CTA's cluster is what any of its threads says, and one of its own where none does."""
    said_by: dict[int, tuple[int, Said]] = {}
    for said, cta in zip(threads, ctas):
        if "cluster" not in said.levels:
            continue
        number, span = said.levels["cluster"]
        first, other = said_by.setdefault(cta, (number, said))
        if first != number:
            raise SourceError(
                f"{other.name} and {said.name} are in CTA {cta}, but in clusters {first} and {number}", span
            )
    fresh = _unused(number for number, _ in said_by.values())
    numbers = {cta: said_by[cta][0] if cta in said_by else -1 for cta in ctas}
    for cta in dict.fromkeys(ctas):
        if numbers[cta] < 0:
            numbers[cta] = fresh()
    return [numbers[cta] for cta in ctas]


def _agree(threads: Sequence[Said], level: str, groups: list[int], others: Iterable[tuple[str, list[int]]]) -> None:
    """Threads of one group are together on every higher level."""
    shown = {"cta": "CTA"}.get(level, level)
    for other, numbers in others:
        first: dict[int, int] = {}
        for index, group in enumerate(groups):
            earlier = first.setdefault(group, index)
            if numbers[earlier] == numbers[index]:
                continue
            a, b = threads[earlier], threads[index]
            span = b.levels[other][1] if other in b.levels else a.levels[other][1] if other in a.levels else b.span
            hint = None
            if other not in a.levels or other not in b.levels:
                rule = "a thread with no CTA is a CTA of its own" if other == "cta" else f"`{other}` is 0 unless given"
                hint = f"{rule}; write it for both threads"
            elif level != "cta":
                hint = f"numbers are global: {level}s of different {_plural(other)} need different numbers"
            names = {"cta": "CTA"}.get(other, other)
            raise SourceError(
                f"{a.name} and {b.name} are in {shown} {group}, but in {names} {numbers[earlier]} and {numbers[index]}",
                span,
                hint,
            )


def _plural(level: str) -> str:
    return {"cta": "CTAs"}.get(level, f"{level}s")


def _lanes(threads: Sequence[Said], warps: list[int]) -> list[int]:
    owners: dict[tuple[int, int], Said] = {}
    for said, warp in zip(threads, warps):
        if "lane" in said.levels:
            lane, span = said.levels["lane"]
            other = owners.setdefault((warp, lane), said)
            if other is not said:
                raise SourceError(f"{other.name} and {said.name} are both lane {lane} of warp {warp}", span)
    numbers = []
    for said, warp in zip(threads, warps):
        lane = _given(said, "lane", -1)
        if lane < 0:
            lane = next((n for n in range(WARP_SIZE) if (warp, n) not in owners), -1)
            if lane < 0:
                raise SourceError(f"warp {warp} has more than {WARP_SIZE} threads", said.span)
            owners[warp, lane] = said
        numbers.append(lane)
    return numbers
