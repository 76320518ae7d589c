"""Values with some of their leaves replaced, simplified again on the way up."""

from __future__ import annotations

from collections.abc import Mapping

from memcheck.events.value import Value, Values


class CyclicPlaceholdersError(Exception):
    """Results of collectives that need each other."""


class Substitution:
    """Replaces leaves by values, which may hold replaced leaves themselves."""

    def __init__(self, values: Values, replaced: Mapping[Value, Value]) -> None:
        self._values = values
        self._replaced = replaced
        self._memo: dict[Value, Value | None] = {}

    def __call__(self, value: Value) -> Value:
        """The value with every leaf replaced; CyclicPlaceholdersError where a replacement needs itself."""
        if value.op in ("const", "read") and value not in self._replaced:
            return value
        if value in self._memo:
            found = self._memo[value]
            if found is None:
                raise CyclicPlaceholdersError
            return found
        self._memo[value] = None
        result = self._rebuild(value)
        self._memo[value] = result
        return result

    def _rebuild(self, value: Value) -> Value:
        target = self._replaced.get(value)
        if target is not None:
            return self(target)
        if not value.args:
            return value
        args = tuple(self(arg) for arg in value.args)
        if all(new is old for new, old in zip(args, value.args, strict=True)):
            return value
        values, op = self._values, value.op
        if op == "ite":
            return values.ite(*args)
        if op == "zext":
            return values.zext(args[0], value.width)
        if op == "sext":
            return values.sext(args[0], value.width)
        if op == "extract":
            return values.extract(args[0], value.payload, value.width)
        if op == "concat":
            return values.concat(*args)
        if value.width == 1 and op in ("and", "or"):
            return values.both(*args) if op == "and" else values.either(*args)
        return values.binary(op, *args)
