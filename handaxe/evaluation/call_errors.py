"""Minimal errors in a right function call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.records import ToolCall

__all__ = ["CallSource", "KINDS", "call_errors"]

NEAR = (1, -1, 2, -2, 3, -3, 10, -10)
NUMBER = re.compile(r"\d+")
Properties = Mapping[str, Mapping[str, Any]]


class CallSource(NamedTuple):
    """Material of errors.

    own     parameters of the called function: name -> description with type and enum
    others  other offered functions: name -> parameters
    texts   texts that stand in arguments of other tasks
    """

    own: Properties
    others: Mapping[str, Properties]
    texts: Sequence[str]


def call_errors(call: ToolCall, source: CallSource, rng: np.random.Generator) -> dict[str, Iterator[ToolCall]]:
    """Change one thing of a call, in a random order of the places.

        function  the name of another offered function, with the same arguments
        name      an argument under a name that the function lacks: of another function, or with its words turned
        value     an argument with another value of its type: two values exchanged, another value of an enumeration,
                  a near number, the other boolean, one other element, or a text of another task
        missing   an argument is left out
        extra     an argument more, of a parameter of another function

    A change may leave a right call right, such as an optional argument left out: check each by a rule.

    Args:
        call: the right call.
        source: parameters, other functions, and texts.
        rng: draws the places and values.

    Returns:
        Kind -> calls with this error, none where it cannot be made.

    Example:
        area(base=10, height=5) beside circle(radius)  ->  circle(base=10, height=5), area(radius=10, height=5),
        area(base=5, height=10), area(height=5), area(base=10, height=5, radius=4)

    Idea: one corrupted part of a right call of a tool, with the label by the rule of the data.
    """
    return {kind: make(call, source, rng) for kind, make in MAKERS.items()}


def _function(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    for name in _shuffled(source.others, rng):
        yield ToolCall(name, dict(call.arguments))


def _name(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    foreign = [name for parameters in source.others.values() for name in parameters]
    for old in _shuffled(call.arguments, rng):
        turned = "_".join(reversed(old.split("_")))
        for new in dict.fromkeys([*_shuffled(foreign, rng), turned]):
            if new not in source.own and new not in call.arguments:
                yield ToolCall(call.name, {new if key == old else key: one for key, one in call.arguments.items()})


def _value(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    """Exchanged values before other values in half of the calls, and after them in the others."""
    parts = [_exchanged(call, rng), _replaced(call, source, rng)]
    for part in parts if rng.integers(2) else reversed(parts):
        yield from part


def _exchanged(call: ToolCall, rng: np.random.Generator) -> Iterator[ToolCall]:
    order = _shuffled(call.arguments, rng)
    for k, first in enumerate(order):
        for second in order[k + 1 :]:
            values = (call.arguments[first], call.arguments[second])
            if type(values[0]) is type(values[1]) and values[0] != values[1]:
                yield ToolCall(call.name, {**call.arguments, first: values[1], second: values[0]})


def _replaced(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    for name in _shuffled(call.arguments, rng):
        described = source.own.get(name, {})
        for value in _other_values(call.arguments[name], described, source.texts, rng):
            yield ToolCall(call.name, {**call.arguments, name: value})


def _missing(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    del source
    for name in _shuffled(call.arguments, rng):
        yield ToolCall(call.name, {key: one for key, one in call.arguments.items() if key != name})


def _extra(call: ToolCall, source: CallSource, rng: np.random.Generator) -> Iterator[ToolCall]:
    known = [one for parameters in source.others.values() for one in parameters.items()]
    for k in rng.permutation(len(known)):
        name, described = known[k]
        if name in source.own or name in call.arguments:
            continue
        for value in _values_of(described, source.texts, rng):
            yield ToolCall(call.name, {**call.arguments, name: value})


def _other_values(
    value: Any, described: Mapping[str, Any], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[Any]:
    """Other values of the same type, the nearest kinds first."""
    yield from (one for one in described.get("enum", ()) if one != value and type(one) is type(value))
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from _near(value, rng)
    elif isinstance(value, float):
        yield from (type(value)(round(value + one, 6)) for one in _shuffled(NEAR, rng) if value + one >= 0)
    elif isinstance(value, str):
        yield from _other_texts(value, texts, rng)
    elif isinstance(value, list):
        for k in rng.permutation(len(value)):
            for one in _other_values(value[k], described.get("items", {}), texts, rng):
                yield [*value[:k], one, *value[k + 1 :]]
    elif isinstance(value, dict):
        for key in _shuffled(value, rng):
            for one in _other_values(value[key], described.get("properties", {}).get(key, {}), texts, rng):
                yield {**value, key: one}


def _near(value: int, rng: np.random.Generator) -> Iterator[int]:
    """Numbers of the same sign and the same count of digits first, then the other near numbers."""
    moved = [value + step for step in _shuffled(NEAR, rng) if value < 0 or value + step >= 0]
    yield from sorted(moved, key=lambda one: len(str(one)) != len(str(value)))


def _other_texts(value: str, texts: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """A near number within the text, or a text of another task, of the same length first."""
    for found in NUMBER.finditer(value):
        for one in _near(int(found[0]), rng):
            told = str(one).zfill(len(found[0]) if found[0].startswith("0") else 0)
            if len(told) == len(found[0]):
                yield value[: found.start()] + told + value[found.end() :]
    others = _shuffled(texts, rng)
    yield from sorted(others, key=lambda one: abs(len(one) - len(value)))


def _values_of(described: Mapping[str, Any], texts: Sequence[str], rng: np.random.Generator) -> Iterator[Any]:
    """Values of a parameter's type: of its enumeration, a default, or plain ones."""
    yield from described.get("enum", ())
    kind = described.get("type")
    if kind == "boolean":
        yield True
    elif kind == "integer":
        yield from (int(one) for one in rng.integers(1, 10, size=2))
    elif kind == "float":
        yield from (float(one) / 2 for one in rng.integers(1, 20, size=2))
    elif kind == "string":
        yield from _shuffled(texts, rng)[:2]


def _shuffled(values: Any, rng: np.random.Generator) -> list[Any]:
    listed = list(values)
    return [listed[k] for k in rng.permutation(len(listed))]


Maker = Callable[[ToolCall, CallSource, np.random.Generator], Iterator[ToolCall]]
MAKERS: Mapping[str, Maker] = {
    "function": _function,
    "name": _name,
    "value": _value,
    "missing": _missing,
    "extra": _extra,
}
KINDS = tuple(MAKERS)
