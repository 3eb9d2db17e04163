"""Correctness rule of the single-turn categories: comparison of calls with accepted values.

An answer lists the accepted values of every parameter; "" among them marks an optional parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.records import ToolCall
from handaxe.worlds.bfcl.notation import Notation

__all__ = ["first_accepted", "matches"]

PYTHON: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
Accepted = Mapping[str, Mapping[str, Sequence[Any]]]
"""{function: {parameter: [accepted values]}} of one function."""


def matches(
    calls: Sequence[ToolCall],
    accepted: Sequence[Accepted],
    functions: Sequence[Mapping[str, Any]],
    notation: Notation | None = None,
) -> bool:
    """Compare calls with the accepted calls of an answer, in any order.

    The numbers of calls must be equal; each entry of the answer takes the first remaining call that fits. A call fits
    if

        name        equals the function's name, with _ for a dot
        parameters  all required ones are present, all present ones are in the schema and the answer, and omitted ones
        have
                    "" among their values
        types       equal the schema's types: a whole number may stand for a float, but not vice versa; if the accepted
                    values have another type (the name of a variable), they equal that type
                    With a notation, every argument is a text in the notation, and its parsed value counts
        values      are accepted; strings are compared in lower case without spaces and , . / - _ * ^ and with ' for
                    "; equally strings in lists and, one level deep, in dicts and lists of dicts

    Args:
        calls: the policy's calls, arguments as JSON.
        accepted: the answer, one entry per call.
        functions: descriptions of all offered functions, with BFCL's types.
        notation: notation of the arguments, Java's or JavaScript's; None is JSON, for Python functions.

    Example:
        matches([ToolCall("area", {"base": 10})], [{"area": {"base": [10], "unit": ["cm", ""]}}], [{"name": "area",
        "parameters": {"properties": {"base": {"type": "integer"}, "unit": {"type": "string"}}, "required": ["base"]}}])
        is True, and with {"base": 10.0} False.
    """
    if len(calls) != len(accepted):
        return False
    left = list(calls)
    for one in accepted:
        (name,) = one
        described = _described(name, functions)
        found = next((n for n, call in enumerate(left) if _fits(call, one[name], described, notation)), None)
        if found is None:
            return False
        del left[found]
    return True


def first_accepted(
    accepted: Accepted, functions: Sequence[Mapping[str, Any]], notation: Notation | None = None
) -> ToolCall:
    """Create the call of an answer with the first accepted value of each parameter.

    Optional parameters are omitted, unless the schema requires them or the call would have no argument: some chat
    formats cannot write such a call. With a notation, a value has the first spelling that the rule accepts, or the
    first spelling if none is accepted.

    Example:
        {"area": {"base": [10], "unit": ["cm", ""]}}, "unit" not required  ->  ToolCall("area", {"base": 10})
    """
    (name,) = accepted
    parameters = _described(name, functions)["parameters"]
    required = parameters.get("required", ())
    values = {key: _first([one for one in given if one != ""] or given) for key, given in accepted[name].items()}
    needed = {key for key, given in accepted[name].items() if "" not in given or key in required}
    chosen = {key: value for key, value in values.items() if key in needed} or values
    if notation is not None:
        described = parameters["properties"]
        chosen = {key: _spelled(accepted[name][key], described.get(key), notation) for key in chosen}
    return ToolCall(name.replace(".", "_"), chosen)


def _spelled(accepted: Sequence[Any], described: Mapping[str, Any] | None, notation: Notation) -> str:
    if described is None:
        return ""
    kind, inner = described["type"], described.get("items", {}).get("type", "")
    values = [_first([one]) for one in accepted if one != ""]
    spelled = [text for value in values for text in notation.spellings(value, kind, inner)]
    right = (text for text in spelled if _is_accepted(text, accepted, described, notation))
    return next(right, spelled[0] if spelled else "")


def _described(name: str, functions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(one for one in functions if one["name"] == name)


def _first(values: Sequence[Any]) -> Any:
    value = values[0] if values else None
    if isinstance(value, dict):
        return {key: inner[0] for key, inner in value.items() if "" not in inner}
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [_first([one]) for one in value]
    return value


def _fits(
    call: ToolCall, accepted: Mapping[str, Sequence[Any]], described: Mapping[str, Any], notation: Notation | None
) -> bool:
    parameters = described["parameters"]
    given = call.arguments
    if call.name not in (described["name"], described["name"].replace(".", "_")):
        return False
    if any(name not in given for name in parameters.get("required", ())):
        return False
    if any(name not in parameters["properties"] or name not in accepted for name in given):
        return False
    if any(name not in given and "" not in values for name, values in accepted.items()):
        return False
    properties = parameters["properties"]
    return all(_is_accepted(value, accepted[name], properties[name], notation) for name, value in given.items())


def _is_accepted(value: Any, accepted: Sequence[Any], described: Mapping[str, Any], notation: Notation | None) -> bool:
    kinds, nested = (PYTHON, ("array", "tuple")) if notation is None else (notation.kinds, notation.nested)
    kind = kinds[described["type"]]
    inner = kinds[described["items"]["type"]] if described["type"] in nested else None
    if notation is not None:
        if type(value) is not str:
            return False
        value = notation.read(value, described["type"], described["items"]["type"] if inner is not None else "")
    elif described["type"] == "float" and type(value) is int:
        value = float(value)
    other = _common_type(accepted)
    variable = other is not None and other is not kind
    if type(value) is not kind:
        if other is None or type(value) is not other:
            return False
        variable = True
    elif inner is not None and not any(_inner_types(value, one, inner) for one in accepted):
        return False
    if variable:
        return value in accepted
    if kind is dict:
        return any(_dict_accepted(value, one) for one in accepted if one != "")
    if kind is list and inner is dict:
        return any(_dicts_accepted(value, one) for one in accepted)
    if kind is str:
        return _plain(value) in [_plain(one) for one in accepted if isinstance(one, str)]
    if kind is list:
        return [_plain(one) for one in value] in [[_plain(each) for each in one] for one in accepted]
    return value in accepted


def _common_type(accepted: Sequence[Any]) -> type | None:
    return next((type(one) for one in accepted if one != ""), None)


def _inner_types(value: Any, accepted: Any, kind: type) -> bool:
    """Whether the elements have a type, or the type of the accepted list; "" as an accepted value has no type."""
    if not isinstance(accepted, list):
        return True
    other = _common_type(accepted)
    return all(type(one) is kind or (other is not None and type(one) is other) for one in value)


def _dict_accepted(value: Any, accepted: Mapping[str, Sequence[Any]]) -> bool:
    if not isinstance(value, dict) or any(key not in accepted for key in value):
        return False
    if any(key not in value and "" not in values for key, values in accepted.items()):
        return False
    return all(_plain(one) in [_plain(each) for each in accepted[key]] for key, one in value.items())


def _dicts_accepted(value: Sequence[Any], accepted: Any) -> bool:
    if len(value) != len(accepted):
        return False
    return all(_dict_accepted(one, each) for one, each in zip(value, accepted))


def _plain(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"')
