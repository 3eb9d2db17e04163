"""Validation of values against a JSON schema, without a further dependency; covers the keywords that pydantic writes.

Example:
    {"anyOf": [{"type": "integer"}, {"type": "null"}]}: 1 and None fit, "no" does not
    {"type": "array", "items": {"type": "integer"}}: [1] fits, ["a"] does not
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["fits_schema"]

KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}
BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], tuple[type, ...]]] = {
    "minimum": (operator.ge, (int, float)),
    "maximum": (operator.le, (int, float)),
    "exclusiveMinimum": (operator.gt, (int, float)),
    "exclusiveMaximum": (operator.lt, (int, float)),
}
SIZES: Mapping[str, tuple[Callable[[Any, Any], bool], type[str] | type[list]]] = {
    "minLength": (operator.ge, str),
    "maxLength": (operator.le, str),
    "minItems": (operator.ge, list),
    "maxItems": (operator.le, list),
}
REFERENCES = 1_000
"""Limit on references followed by one check: references of a hostile schema can double at every level."""


def fits_schema(value: Any, schema: Any, *, root: Mapping[str, Any]) -> bool:
    """Check a value against a schema: types, enums, bounds, lengths, members, and allOf, anyOf, oneOf.

    Keywords that are not read here, such as `pattern`, are ignored: a hostile regular expression may never terminate. A
    value nested too deeply to be followed does not fit.

    Args:
        value: decoded JSON.
        schema: JSON schema, or True / False.
        root: schema in which references "#/..." are looked up; other references accept every value.

    Returns:
        True if the value fits.
    """
    try:
        return _Check(root).fits(value, schema)
    except RecursionError:
        return False


class _Check:
    def __init__(self, root: Mapping[str, Any]):
        self._root, self._references = root, REFERENCES

    def fits(self, value: Any, schema: Any) -> bool:
        if not isinstance(schema, Mapping):
            return schema is not False
        kinds = schema.get("type", list(KINDS))
        if not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
            return False
        choices = [*schema.get("enum", [value])] if "const" not in schema else [schema["const"]]
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in choices):
            return False
        return _bounded(value, schema) and self._joined(value, schema) and self._members(value, schema)

    def _joined(self, value: Any, schema: Mapping[str, Any]) -> bool:
        if "$ref" in schema and not self.fits(value, self._referred(schema["$ref"])):
            return False
        if not all(self.fits(value, one) for one in schema.get("allOf", ())):
            return False
        if "anyOf" in schema and not any(self.fits(value, one) for one in schema["anyOf"]):
            return False
        return "oneOf" not in schema or sum(self.fits(value, one) for one in schema["oneOf"]) == 1

    def _members(self, value: Any, schema: Mapping[str, Any]) -> bool:
        if isinstance(value, (list, tuple)):
            return self._items(value, schema)
        if not isinstance(value, Mapping):
            return True
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        given = all(self.fits(own, known.get(name, other)) for name, own in value.items())
        return given and all(name in value for name in schema.get("required", ()))

    def _items(self, value: Sequence[Any], schema: Mapping[str, Any]) -> bool:
        first = schema.get("prefixItems", ())
        placed = all(self.fits(one, own) for one, own in zip(value, first))
        return placed and all(self.fits(one, schema.get("items", True)) for one in value[len(first) :])

    def _referred(self, reference: str) -> Any:
        self._references -= 1
        if self._references < 0:
            raise RecursionError
        found: Any = self._root if reference.startswith("#") else {}
        for name in reference.split("/")[1:]:
            found = found.get(name, {}) if isinstance(found, Mapping) else {}
        return found


def _bounded(value: Any, schema: Mapping[str, Any]) -> bool:
    for name, (holds, kinds) in BOUNDS.items():
        if name in schema and isinstance(value, kinds) and not (isinstance(value, bool) or holds(value, schema[name])):
            return False
    return all(
        holds(len(value), schema[name])
        for name, (holds, kind) in SIZES.items()
        if name in schema and isinstance(value, kind)
    )


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, KINDS.get(kind, ()))
