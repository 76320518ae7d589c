"""Each kind of class that `memcheck.records` makes behaves as the standard library's data class of the same text."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

from memcheck import records

TEXT = """
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    names: tuple[str, ...] = ()

@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    x: int
    y: int = 0

@dataclass(frozen=True, slots=True, eq=False)
class Same:
    x: int

@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    text: str
    guard: object = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Base):
    scope: int
    guard: object = 5

@dataclass(frozen=True)
class Open:
    x: int
    y: list = field(default_factory=list)

@dataclass(slots=True)
class Draft:
    x: int = 0
    memo: dict = field(default_factory=dict, repr=False)

@dataclass(frozen=True, slots=True)
class Empty:
    pass

@dataclass(frozen=True, slots=True)
class Told:
    x: int
    def __repr__(self):
        return "told"
    def __hash__(self):
        return 7
"""
MAKES = """
Point(1); Point(1, 2); Point(1, y=3); Point(x=1, names=('a',)); Point(); Point(1, 2, (), 4); Point(1, z=1); Point([])
Ordered(1); Ordered(1, 1); Ordered(0, 5); Same(1); Base(text='a'); Base('a'); Base(guard=1)
Derived(text='a', scope=1); Derived(text='a', scope=1, guard=None); Derived(text='a'); Open(1); Open(1, [2])
Draft(); Draft(1); Draft(1, {2: 3}); Empty(); Empty(1); Told(1); Told(2)
"""
CALLS = [call.strip() for line in MAKES.strip().splitlines() for call in line.split(";")]


def module(source: Any) -> ModuleType:
    made = ModuleType("told_" + source.__name__.replace(".", "_"))
    sys.modules[made.__name__] = made
    made.__dict__.update(dataclass=source.dataclass, field=source.field)
    exec(compile("from __future__ import annotations\n" + TEXT, made.__name__, "exec"), made.__dict__)
    return made


ours, theirs = module(records), module(dataclasses)
DOES = {
    "repr": repr,
    "hash or not": lambda value: "identity" if type(value).__name__ == "Same" else hash(value),
    "match": lambda value: type(value).__match_args__,
    "fields": lambda value: [f.name for f in dataclasses.fields(value)],
    "is_dataclass": dataclasses.is_dataclass,
    "replace": lambda value: repr(dataclasses.replace(value, x=9)),
    "assign": lambda value: hasattr(value, "x") and (setattr(value, "x", 5) or value.x),
    "delete": lambda value: hasattr(value, "x") and (delattr(value, "x") or repr(value)),
    "copy": lambda value: repr(copy.copy(value)),
    "deep copy": lambda value: repr(copy.deepcopy(value)),
    "pickle": lambda value: repr(pickle.loads(pickle.dumps(value))),
    "slots": lambda value: hasattr(value, "__dict__"),
    "names": lambda value: (type(value).__qualname__, type(value).__init__.__qualname__, type(value).__module__[:5]),
}


def outcome(work: Any, *arguments: Any) -> Any:
    try:
        return work(*arguments)
    except Exception as error:
        return type(error).__name__


def made(where: ModuleType, text: str) -> Any:
    return outcome(lambda: eval(text, where.__dict__))


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.parametrize("does", DOES)
def test_one(text: str, does: str) -> None:
    for fresh in (True, False):  # before and after the methods are compiled
        first, second = (module(m) if fresh else old for m, old in ((records, ours), (dataclasses, theirs)))
        one, other = made(first, text), made(second, text)
        if isinstance(other, str):
            assert one == other
            return
        assert outcome(DOES[does], one) == outcome(DOES[does], other)


COMPARE = [operator.eq, operator.ne, operator.lt, operator.ge, lambda one, other: len({one, other})]


@pytest.mark.parametrize("first", CALLS)
def test_two(first: str) -> None:
    for second in CALLS:
        results = []
        for where in (ours, theirs):
            pair = made(where, first), made(where, second)
            results.append([outcome(compare, *pair) for compare in COMPARE])
        assert results[0] == results[1], (first, second)


def test_methods_before_an_instance_is_made() -> None:
    """Unpickling and copying call no constructor."""
    state = pickle.dumps(module(records).Point(1, 2, ("a",)))
    fresh = module(records)
    value = pickle.loads(state)
    assert type(value) is fresh.Point
    assert hash(value) == hash((1, 2, ("a",)))
    assert value == fresh.Point(1, 2, ("a",))


def test_matching() -> None:
    match ours.Point(1, 2):
        case ours.Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("no match")


def test_a_value_that_holds_itself() -> None:
    value = ours.Open(1)
    value.y.append(value)
    assert repr(value) == "Open(x=1, y=[...])"


@pytest.mark.parametrize("text", ["Point(1)", "Open(1)", "Draft(1)", "Derived(text='a', scope=1)"])
def test_replaced(text: str) -> None:
    value = made(ours, text)
    name = "scope" if "scope" in text else "x"
    changed = records.replace(value, **{name: 9})
    assert getattr(changed, name) == 9
    assert [n for n in records.field_names(value) if getattr(value, n) != getattr(changed, n)] == [name]
    assert outcome(lambda: records.replace(value, other=1)) == "TypeError"


def test_nothing_can_be_added() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="other"):
        ours.Point(1).other = 2
