"""`dataclass` of the standard library, for classes that are many and of which one run uses few.

Type checkers see the standard library's own. That compiles six functions for each class while its module is imported,
a third of the time of a short run; here each is compiled, with the same meaning, when it is first called.
What the project uses is here: frozen, slotted, ordered, keyword-only and derived classes, defaults and factories.
The standard library's `fields`, `replace` and `is_dataclass` work on these classes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

_MISSING: Any = object()


class _Default(NamedTuple):
    """What `field` leaves in the class, and what becomes of every default."""

    value: Any = _MISSING
    make: Callable[[], object] | None = None
    shown: bool = True
    keyword: bool = False


class _Record(NamedTuple):
    """`__record__` of a class: its fields in the order of the constructor's parameters."""

    fields: dict[str, _Default]
    frozen: bool
    slots: bool


def _field(*, default: Any = _MISSING, default_factory: Callable[[], object] | None = None, repr: bool = True) -> Any:
    return _Default(default, default_factory, repr)


def field_names(value: Any) -> Iterable[str]:
    """The fields of an instance or class, in order."""
    names: dict[str, object] = value.__record__.fields
    return names


def _replace(value: Any, /, **changes: object) -> Any:
    kept = {name: getattr(value, name) for name in value.__record__.fields if name not in changes}
    return type(value)(**kept, **changes)


def _dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
    kw_only: bool = False,
) -> Any:
    def made(cls: type) -> type:
        return _made(cls, frozen, slots, eq, order, kw_only)

    return made if cls is None else made(cls)


def _made(cls: type, frozen: bool, slots: bool, eq: bool, order: bool, keyword: bool) -> type:
    """The class once more, with its slots and the methods of a data class."""
    namespace = dict(cls.__dict__)
    own = namespace.get("__annotations__", {})
    fields: dict[str, _Default] = {}
    for base in reversed(cls.__mro__[1:]):
        if "__record__" in base.__dict__:
            fields.update(base.__dict__["__record__"].fields)
    new = [name for name in own if name not in fields]
    for name in own:
        default = namespace.get(name, _MISSING)
        default = default if isinstance(default, _Default) else _Default(default)
        fields[name] = default._replace(keyword=keyword)
        if slots or default.make is not None:
            namespace.pop(name, None)
        elif default.value is not _MISSING:
            namespace[name] = default.value
    methods = ["__init__"]
    if eq:
        namespace.setdefault("__hash__", None)
        methods += ["__eq__", "__hash__"] if frozen else ["__eq__"]
    if order:
        methods += ["__lt__", "__le__", "__gt__", "__ge__"]
    for name in methods:
        if namespace.get(name) is None:
            namespace[name] = _Pending(name)
    if frozen:
        namespace["__setattr__"] = namespace["__delattr__"] = _refuse
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    if slots:
        namespace.update(__slots__=tuple(new), __getstate__=_state, __setstate__=_set_state)
    namespace.setdefault("__repr__", _shown)
    namespace["__match_args__"] = tuple(name for name, default in fields.items() if not default.keyword)
    namespace["__record__"] = _Record(fields, frozen, slots)
    namespace["__dataclass_fields__"] = _STANDARD
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


_OPERATORS = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


class _Pending:
    """Stands for a method of a class until it is wanted."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __set_name__(self, owner: type, _: str) -> None:
        self.owner = owner

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if self.owner.__dict__[self.name] is self:
            _compile(self.owner, self.name)
        return self.owner.__dict__[self.name].__get__(instance, owner)


def _compile(cls: Any, name: str) -> None:
    """Puts a method in its place."""
    record: _Record = cls.__record__
    scope: dict[str, Any] = {}
    if name == "__init__":
        text = _constructor(cls, record, scope)
    else:
        mine, others = ("".join(f"{one}.{field}, " for field in record.fields) for one in ("self", "other"))
        if name == "__hash__":
            text = f"def __hash__(self): return hash(({mine}))"
        else:
            text = (
                f"def {name}(self, other):\n if other.__class__ is self.__class__:"
                f" return ({mine}) {_OPERATORS[name]} ({others})\n return NotImplemented"
            )
    exec(text, scope)
    method = scope[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    setattr(cls, name, method)


def _constructor(cls: Any, record: _Record, scope: dict[str, Any]) -> str:
    """The text of `__init__`; what it names goes to the scope."""
    scope.update(_MISSING=_MISSING, _set=object.__setattr__)
    positional, keyword, body = ["self"], ["*"], []
    for name, default in record.fields.items():
        parameter, value = name, name
        if default.make is not None:
            scope[f"_make_{name}"] = default.make
            parameter, value = f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        elif default.value is not _MISSING:
            scope[f"_default_{name}"] = default.value
            parameter = f"{name}=_default_{name}"
        (keyword if default.keyword else positional).append(parameter)
        if not record.frozen:
            body.append(f"self.{name} = {value}")
        elif record.slots:
            scope[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})")
    parameters = ", ".join([*positional, *(keyword if len(keyword) > 1 else [])])
    return f"def __init__({parameters}): {'; '.join(body) or 'pass'}"


def _refuse(self: object, name: str, *_: object) -> NoReturn:
    """Assigns to a field of a frozen instance, or deletes it."""
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be changed")


@recursive_repr()
def _shown(self: Any) -> str:
    fields = self.__record__.fields.items()
    inside = ", ".join(f"{name}={getattr(self, name)!r}" for name, default in fields if default.shown)
    return f"{type(self).__qualname__}({inside})"


def _state(self: Any) -> list[object]:
    return [getattr(self, name) for name in self.__record__.fields]


def _set_state(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__record__.fields, state):
        object.__setattr__(self, name, value)


class _Standard:
    """`__dataclass_fields__`, by which the standard library knows its data classes; made when it asks."""

    def __get__(self, instance: object, owner: Any) -> Any:
        from dataclasses import make_dataclass

        return make_dataclass(owner.__name__, owner.__record__.fields).__dataclass_fields__  # type: ignore[attr-defined]


_STANDARD = _Standard()

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    dataclass, field, replace = _dataclass, _field, _replace
