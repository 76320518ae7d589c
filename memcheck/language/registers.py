"""Registers of a thread: `.reg` lines, widths by name, special registers with a value in a test."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memcheck.errors import SourceError
from memcheck.language.nearest import nearest
from memcheck.language.test import Place
from memcheck.ptx.operands import Register
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawName
from memcheck.source import Span

_BY_NAME = re.compile(r"(p|rs|rd|rq|r)[0-9]*")
_WIDTHS = {"p": 1, "rs": 16, "r": 32, "rd": 64, "rq": 128}
_COMPILERS = re.compile(r"(f|fd)[0-9]+")
"""Float registers as compilers name them; only with a `%`, since `f0` may be a location."""


def width_by_name(name: str, percent: bool = False) -> int | None:
    """Bits of an undeclared register, None where the name does not tell."""
    if match := _BY_NAME.fullmatch(name):
        return _WIDTHS[match[1]]
    if percent and (match := _COMPILERS.fullmatch(name)):
        return 32 if match[1] == "f" else 64
    return None


class ThreadNames:
    """The names that a thread sees; what the decoder asks (`memcheck.ptx.raw.Names`). Gathers the registers used."""

    __slots__ = ("columns", "used", "_declared", "_labels", "_spaces", "_special")

    def __init__(
        self,
        columns: bool,
        spaces: Mapping[str, Space],
        declared: Mapping[str, int],
        labels: Sequence[str],
        special: Mapping[str, int],
    ) -> None:
        self.columns = columns
        self.used: dict[str, int] = {}
        self._spaces = spaces
        self._declared = declared
        self._labels = labels
        self._special = special

    def space(self, name: str) -> Space | None:
        return self._spaces.get(name) if name not in self._declared else None

    def variables(self) -> Sequence[str]:
        return tuple(self._spaces)

    def labels(self) -> Sequence[str]:
        return self._labels

    def special(self, name: str) -> int | None:
        return self._special.get(name)

    def register(self, name: RawName) -> Register:
        width = self.width(name.name, name.percent)
        if width is None:
            raise self._unknown(name)
        self.used[name.name] = width
        return Register(name.name, width)

    def width(self, name: str, percent: bool = False) -> int | None:
        """Bits by declaration, by use, or by name; None for no register."""
        return self._declared.get(name) or self.used.get(name) or width_by_name(name, percent)

    def _unknown(self, name: RawName) -> SourceError:
        text = ("%" if name.percent else "") + name.name
        if "." in name.name or name.name in _SPECIAL_ELSEWHERE:
            return SourceError(
                f"the special register `{text}` has no value in a litmus test", name.span, _known(self._special)
            )
        near = nearest(name.name, (*self._spaces, *self._declared, *self.used, *self._labels))
        if near is None or not near.startswith("did"):
            near = f"declare a register with `.reg .b32 {text}`, or a location with `{name.name} = 0`"
        return SourceError(f"unknown name `{text}`", name.span, near)


_SPECIAL_ELSEWHERE = frozenset(
    ("clock", "clock64", "clock_hi", "globaltimer", "warpid", "nwarpid", "smid", "nsmid", "gridid", "tid", "ctaid")
)


def _known(special: Mapping[str, int]) -> str:
    return "these have: " + ", ".join(f"`%{name}`" for name in special)


def special_registers(place: Place, places: Sequence[Place]) -> dict[str, int]:
    """Values of the special registers that the place of a thread decides (ISA 10)."""
    ranks = sorted({other.cta for other in places if other.cluster == place.cluster})
    lane = place.lane
    return {
        "laneid": lane,
        "cluster_ctarank": ranks.index(place.cta),
        "cluster_nctarank": len(ranks),
        "lanemask_eq": 1 << lane,
        "lanemask_lt": (1 << lane) - 1,
        "lanemask_le": (2 << lane) - 1,
        "lanemask_gt": ~((2 << lane) - 1) & 0xFFFFFFFF,
        "lanemask_ge": ~((1 << lane) - 1) & 0xFFFFFFFF,
    }


def undeclared(name: str, span: Span, known: Sequence[str]) -> SourceError:
    """A name where only a register or a location can stand, which is neither."""
    near = nearest(name, known)
    if near is None or not near.startswith("did"):
        near = f"declare it with `{name} = 0` in the initial state"
    return SourceError(f"unknown name `{name}`", span, near)
