"""Declarations of objects: mbarriers with their arrivals, tensor maps with what they describe, multimem addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from memcheck.errors import SourceError
from memcheck.language import syntax as s
from memcheck.language.nearest import nearest
from memcheck.language.numbers import alignment, small, value
from memcheck.language.position import Positions
from memcheck.language.test import TensorMap, VariableKind
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.types import TYPES
from memcheck.source import Span

OBJECTS = tuple(kind.value for kind in VariableKind if kind is not VariableKind.DATA)
MAX_ARRIVALS = (1 << 20) - 1
"""What an mbarrier can count (ISA 9.7.15.16.2)."""
MBARRIER_ALIGNMENT = 8
MAX_OBJECTS = 1024
MAX_DIMENSIONS = 5
IMAGE_DIMENSIONS = 2
"""Of a tensor of images, those that are no extent of the image: its channels and its number (ISA 5.5.4)."""
MAP_WORDS = 16
"""A tensor map has 128 bytes (ISA 5.5.8)."""

_SPACES = {
    "mbarrier": {"shared": Space.SHARED_CTA, "shared::cta": Space.SHARED_CTA},
    "tensormap": {"global": Space.GLOBAL, "const": Space.CONST, "param": Space.PARAM},
    "multimem": {},
}
_EXAMPLES = {
    "mbarrier": ".shared .mbarrier {} = 2",
    "tensormap": ".const .tensormap {} = {{ base = x, type = .u32, dims = {{8, 8}}, strides = {{32}}, box = {{4, 4}}}}",
    "multimem": ".multimem {} = {{x, y}}",
}
_LISTS = ("dims", "strides", "box", "element_strides", "lower", "upper")
_NUMBERS = ("channels", "pixels")
_CHOICES = {
    "swizzle": {"none": 0, "0": 0, "32": 32, "64": 64, "96": 96, "128": 128},
    "interleave": {"none": 0, "0": 0, "16": 16, "32": 32},
    "fill": {"zero": 0, "nan": 1},
}
_KEYS = ("base", "type", *_LISTS, *_NUMBERS, *_CHOICES)
_ELEMENTS = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz"]
"""Element types of a tensor map (ISA 9.7.10.29)."""


class Declared(NamedTuple):
    """Where an object lies, and the fields of its draft."""

    space: Space
    fields: dict[str, object]


def read(entry: s.Declaration, what: str, positions: Positions, at: int) -> Declared:
    """The object of kind `what` that an entry at offset `at` declares."""
    return _Reader(entry, what, positions, at).read()


class _Reader:
    """Reads one entry."""

    __slots__ = ("at", "entry", "positions", "what")

    def __init__(self, entry: s.Declaration, what: str, positions: Positions, at: int) -> None:
        self.entry = entry
        self.what = what
        self.positions = positions
        self.at = at

    def span(self, word: s.Word | s.Number) -> Span:
        return self.positions.span(self.at + word.at, len(word.text))

    def refuse(self, message: str, word: s.Word | s.Number | None = None) -> NoReturn:
        name = self.entry.name
        hint = f"write `{_EXAMPLES[self.what].format(name.text)}`"
        raise SourceError(message, self.span(word or name), hint)

    def read(self) -> Declared:
        if self.what == "multimem":
            return self.multimem()
        space, align = None, None
        for word, number in self.entry.qualifiers:
            text = word.text[1:]
            if text == "align":
                align = alignment(number, self.span(word), align, self.positions, self.at)
                if self.what == "mbarrier" and align < MBARRIER_ALIGNMENT:
                    self.refuse(f"an mbarrier is aligned to {MBARRIER_ALIGNMENT} bytes", word)
            elif number is not None:
                raise SourceError(f"unexpected number after `{word.text}`", self.span(number))
            elif text in _SPACES[self.what] and space is None:
                space = _SPACES[self.what][text]
            elif text != self.what:
                self.refuse(f"`{word.text}` cannot stand in a declaration with `.{self.what}`", word)
        if space is None:
            self.refuse(f"`{self.entry.name.text}` has no state space")
        fields = self.mbarrier() if self.what == "mbarrier" else self.tensor_map(align)
        return Declared(space, {"align": align, "kind": VariableKind(self.what), "type": TYPES["b64"], **fields})

    # --- mbarrier

    def mbarrier(self) -> dict[str, object]:
        given, dimension = self.entry.value, self.entry.dimension
        numbers: list[s.Number] = [given] if isinstance(given, s.Number) else []
        if isinstance(given, s.Braces):
            numbers = [item for item in given.items if isinstance(item, s.Number)]
        if not numbers or isinstance(given, s.Braces) != (dimension is not None):
            self.refuse("a declared mbarrier is initialised: for how many arrivals?")
        if isinstance(given, s.Braces) and len(numbers) != len(given.items):
            self.refuse("counts of arrivals are numbers")
        counts = tuple((value(number, self.positions, self.at), self.span(number)) for number in numbers)
        for count, span in counts:
            if not 1 <= count <= MAX_ARRIVALS:
                raise SourceError(f"an mbarrier counts 1 to {MAX_ARRIVALS} arrivals", span)
        size = len(counts)
        if dimension is not None and dimension.size is not None:
            size = small(dimension.size, self.positions, self.at, "the size of an array", MAX_OBJECTS)
            if size != len(counts):
                self.refuse(f"`{self.entry.name.text}` has {size} mbarriers, and {len(counts)} of their counts")
        return {"count": size, "array": dimension is not None, "init": counts, "initialised": True}

    # --- multimem

    def multimem(self) -> Declared:
        entry = self.entry
        message = "a multimem address is over a list of variables"
        if len(entry.qualifiers) != 1 or entry.dimension is not None or not isinstance(entry.value, s.Braces):
            self.refuse(message)
        targets = []
        for item in entry.value.items:
            if not isinstance(item, s.Name):
                self.refuse(message)
            targets.append((item.word.text, self.span(item.word)))
        if not targets:
            self.refuse(message)
        return Declared(Space.GLOBAL, {"kind": VariableKind.MULTIMEM, "targets": tuple(targets)})

    # --- tensor map

    def tensor_map(self, align: int | None) -> dict[str, object]:
        from memcheck.language import tensormaps

        if align is not None and align < tensormaps.LEAST_ALIGNMENT:
            self.refuse(f"a tensor map is aligned to {tensormaps.LEAST_ALIGNMENT} bytes at least, and this to {align}")
        given = self.entry.value
        if self.entry.dimension is not None or not isinstance(given, s.Braces):
            self.refuse("a tensor map is declared with what it describes")
        found: dict[str, s.Field] = {}
        for item in given.items:
            if not isinstance(item, s.Field):
                self.refuse("a tensor map is declared with fields, `key = value`")
            if item.key.text not in _KEYS:
                raise SourceError(
                    f"`{item.key.text}` is no field of a tensor map",
                    self.span(item.key),
                    nearest(item.key.text, _KEYS),
                )
            if item.key.text in found:
                raise SourceError(f"`{item.key.text}` is given twice", self.span(item.key))
            found[item.key.text] = item
        base = self.needed(found, "base").value
        if not isinstance(base, s.Name):
            self.refuse("the base of a tensor map is a variable", found["base"].key)
        lists = {key: self.numbers(found[key]) if key in found else () for key in _LISTS}
        rank = len(lists["dims"])
        if not 1 <= rank <= MAX_DIMENSIONS:
            self.refuse(f"a tensor map has 1 to {MAX_DIMENSIONS} dimensions", self.needed(found, "dims").key)
        im2col = not self.needed_one(found, "box", ("lower", "upper", "channels", "pixels"))
        if im2col and rank <= IMAGE_DIMENSIONS:
            self.refuse("a tensor map for im2col has 3, 4 or 5 dimensions", found["dims"].key)
        lengths = {"strides": rank - 1, "element_strides": rank}
        lengths |= {"lower": rank - IMAGE_DIMENSIONS, "upper": rank - IMAGE_DIMENSIONS} if im2col else {"box": rank}
        for key, length in lengths.items():
            if len(lists[key]) != length and (key != "element_strides" or key in found):
                place = found[key].key if key in found else None
                self.refuse(f"{rank} dimensions need {length} of `{key}`, not {len(lists[key])}", place)
        map = TensorMap(
            base=base.word.text,
            type=self.element(self.needed(found, "type")),
            dims=lists["dims"],
            strides=lists["strides"],
            box=lists["box"],
            element_strides=lists["element_strides"] or (1,) * rank,
            lower=lists["lower"],
            upper=lists["upper"],
            channels=self.number(found["channels"]) if im2col else 0,
            pixels=self.number(found["pixels"]) if im2col else 0,
            swizzle=self.choice(found.get("swizzle"), "swizzle"),
            interleave=self.choice(found.get("interleave"), "interleave"),
            fills_nan=bool(self.choice(found.get("fill"), "fill")),
        )
        tensormaps.check(map, {key: self.span(field.key) for key, field in found.items()}, self.span(self.entry.name))
        return {
            "align": align or tensormaps.ALIGNMENT,
            "map": map,
            "count": MAP_WORDS,
            "targets": ((base.word.text, self.span(base.word)),),
            "initialised": True,
        }

    def needed(self, found: dict[str, s.Field], key: str) -> s.Field:
        if key not in found:
            self.refuse(f"a tensor map needs `{key}`")
        return found[key]

    def needed_one(self, found: dict[str, s.Field], first: str, others: Sequence[str]) -> bool:
        """Whether `first` is given; else all of `others` must be, and never both."""
        given = [key for key in others if key in found]
        if first in found:
            if given:
                self.refuse(f"a tensor map has `{first}`, or for im2col {', '.join(others)}", found[given[0]].key)
            return True
        for key in others if given else (first,):
            self.needed(found, key)
        return False

    def numbers(self, field: s.Field) -> tuple[int, ...]:
        given = field.value
        items = given.items if isinstance(given, s.Braces) else (given,)
        listed = [item for item in items if isinstance(item, s.Number)]
        if len(listed) != len(items):
            self.refuse(f"`{field.key.text}` is a list of numbers", field.key)
        return tuple(value(number, self.positions, self.at) for number in listed)

    def number(self, field: s.Field) -> int:
        if not isinstance(field.value, s.Number):
            self.refuse(f"`{field.key.text}` is a number", field.key)
        return value(field.value, self.positions, self.at)

    def element(self, field: s.Field) -> str:
        text = field.value.text[1:] if isinstance(field.value, s.Word) else ""
        if text not in _ELEMENTS:
            raise SourceError("this is no element type of a tensor map", self.span(field.key), nearest(text, _ELEMENTS))
        return text

    def choice(self, field: s.Field | None, key: str) -> int:
        if field is None:
            return 0
        given = field.value.word if isinstance(field.value, s.Name) else field.value
        text = given.text if isinstance(given, (s.Word, s.Number)) else ""
        if text not in _CHOICES[key]:
            hint = f"one of {', '.join(_CHOICES[key])}"
            raise SourceError(f"this is no {key} of a tensor map", self.span(field.key), hint)
        return _CHOICES[key][text]
