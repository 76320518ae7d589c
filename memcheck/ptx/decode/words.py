"""The words of an opcode: each sorted into the slot that it fills, in almost any order.

ptxas takes qualifiers in any order; only the names of sub-operations are bound to the mnemonic
(`mul.lo`, `fence.proxy`, `barrier.cta`), and those the families read by position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from memcheck.ptx.qualifiers import Scope, Sem, Space
from memcheck.ptx.types import TYPES

Words = tuple[str, ...]
Slots = Mapping[str, str]
"""What an instruction lets one write: word -> slot."""


def slots(**words: Iterable[str] | str) -> dict[str, str]:
    """`slots(scope="cta gpu")` is {"cta": "scope", "gpu": "scope"}."""
    return {
        word: slot for slot, group in words.items() for word in (group.split() if isinstance(group, str) else group)
    }


SEMS = {s.value: s for s in Sem}
SCOPES = {s.value: s for s in Scope}
SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED_CTA,
    "shared::cta": Space.SHARED_CTA,
    "shared::cluster": Space.SHARED_CLUSTER,
    "const": Space.CONST,
    "local": Space.LOCAL,
    "param": Space.PARAM,
    "param::entry": Space.PARAM,
    "param::func": Space.PARAM,
}
VECTORS = {"v2": 2, "v4": 4, "v8": 8}

NOUNS = {
    "sem": "semantics",
    "scope": "scope",
    "space": "state space",
    "vector": "vector size",
    "type": "type",
    "op": "operation",
    "cop": "cache operator",
    "compare": "comparison",
    "bool": "Boolean operation",
    "level": "cache level",
    "round": "rounding",
    "restrict": "restriction",
    "kind": "kind",
    "completion": "completion mechanism",
    "mode": "mode",
    "dim": "number of dimensions",
    "field": "field",
    "shape": "shape",
    "ctas": "CTA group",
}

KNOWN = frozenset(SEMS) | frozenset(SCOPES) | frozenset(SPACES) | frozenset(VECTORS) | frozenset(TYPES)
"""Qualifiers that exist somewhere: a misplaced one is told apart from a misspelt one."""


class FormError(Exception):
    """The words are no legal instruction. `at`: index of the offending word, None for all of them."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class LaterError(FormError):
    """Legal PTX that is not decided yet."""


class Qualifiers:
    """The words from `start` on, by slot. Refuses strangers, and two words in one slot unless it is in `several`."""

    __slots__ = ("found", "name", "page", "words")

    def __init__(
        self, words: Words, start: int, allowed: Slots, page: str, several: frozenset[str] = frozenset()
    ) -> None:
        self.words = words
        self.name = ".".join(words[:start])
        self.page = page
        self.found: dict[str, list[int]] = {}
        for at in range(start, len(words)):
            word = words[at]
            slot = allowed.get(word)
            if slot is None:
                reason = f"{self.name} takes no .{word}" if word in KNOWN else f"{self.name} knows no qualifier .{word}"
                raise FormError(f"{reason} (ISA {page})", at)
            places = self.found.setdefault(slot, [])
            if places and slot not in several:
                noun = NOUNS.get(slot, f".{word}")
                both = f".{words[places[0]]} and .{word}" if words[places[0]] != word else f".{word} twice"
                raise FormError(f"{self.name} takes one {noun}: {both} (ISA {page})", at)
            places.append(at)

    def get(self, slot: str) -> str | None:
        """The word in this slot, if any."""
        places = self.found.get(slot)
        return self.words[places[0]] if places else None

    def all(self, slot: str) -> tuple[str, ...]:
        return tuple(self.words[at] for at in self.found.get(slot, ()))

    def has(self, slot: str) -> bool:
        return slot in self.found

    def scope(self) -> Scope | None:
        word = self.get("scope")
        return None if word is None else SCOPES[word]

    def space(self) -> Space:
        word = self.get("space")
        return Space.GENERIC if word is None else SPACES[word]

    def vector(self) -> int:
        word = self.get("vector")
        return 1 if word is None else VECTORS[word]

    def refuse(self, message: str, slot: str | None = None) -> NoReturn:
        """Refuse because of the (last) word in `slot`, or of the whole."""
        places = self.found.get(slot) if slot else None
        raise FormError(f"{message} (ISA {self.page})", places[-1] if places else None)

    def exclude(self, slot: str, others: Iterable[str]) -> None:
        """The word in `slot` goes with none of the words in `others`."""
        if slot in self.found:
            for other in others:
                if other in self.found:
                    self.refuse(f".{self.get(slot)} and .{self.get(other)} do not go together", other)
