"""Simulators of a rollout: objects with public methods as tools, and the list of their replies.

A call is data: the name of a described function, and keyword arguments. A policy's text is never evaluated, and only
described methods are reachable.
"""

from __future__ import annotations

import contextlib
import copy
import decimal
import functools
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from handaxe.core.errors import Failed
from handaxe.core.records import Task, ToolSchema
from handaxe.tools.decorator import Tool
from handaxe.tools.definition import Definition
from handaxe.worlds.bfcl.package import new_simulator, read_descriptions, tool_schema

__all__ = ["Simulators", "simulator_schemas"]

ONE_AT_A_TIME = threading.Lock()
"""Lock: a simulator changes a constant of its module during a call, and another the precision of mpmath."""
LARGEST = 10**18
MOST_DIGITS = 1_000
DIGITS = frozenset({"decimal_places", "exponent", "precision"})
"""Parameters with expensive large values: a policy must not block the trainer with a tower of powers."""
LONGEST_REPLY = 100_000


class Simulators:
    """State of a rollout. `results` holds every reply so far as text, errors included.

    Args:
        config: class -> first state.
        classes: names of the simulators; if two share a function name, the later simulator handles it.
        long_context: pad the replies.
    """

    def __init__(self, config: Mapping[str, Any], classes: Sequence[str], *, long_context: bool = False):
        first = copy.deepcopy(dict(config))
        self._made = {name: new_simulator(name, first.get(name, {}), long_context=long_context) for name in classes}
        self._owner = {document["name"]: name for name in classes for document in read_descriptions(name)}
        self.results: list[str] = []

    @classmethod
    def of(cls, task: Task) -> Simulators:
        """Create a task's simulators in the first state."""
        about = task.metadata
        return cls(about["config"], about["classes"], long_context=about["category"].endswith("long_context"))

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Execute a call.

        Args:
            name: name of a described function.
            arguments: parameter -> value.

        Returns:
            The reply: text unchanged, a dict as JSON, other values in Python's notation.

        Raises:
            Failed: the simulator replied with an error, or raised one; the policy reads it. It is among `results`.
        """
        failed = True
        try:
            if name not in self._owner:
                raise NameError(f"name {name!r} is not defined")
            _check_numbers(arguments)
            method = getattr(self._made[self._owner[name]], name)
            with ONE_AT_A_TIME, decimal.localcontext():
                answer = method(**copy.deepcopy(dict(arguments)))
                text = _as_text(answer)
            failed = isinstance(answer, dict) and "error" in answer
        except Exception as error:  # the policy reads every error of a simulator
            text = f"Error during execution: {error}"
        self.results.append(text)
        if failed:
            raise Failed(text)
        return text

    def like(self, gold: Simulators) -> bool:
        """Check whether every public attribute of the simulators of `gold` is equal here."""
        return all(_alike(self._made[name], wanted) for name, wanted in gold._made.items())

    def compared(self, gold: Simulators) -> dict[str, bool]:
        """Compare every public attribute of `gold`: "Simulator.attribute" -> equality. The switch `long_context` is no
        state.
        """
        found = {}
        for name, wanted in gold._made.items():
            for key in (key for key in vars(wanted) if not key.startswith("_") and key != "long_context"):
                found[f"{name}.{key}"] = _alike(self._made[name], wanted, (key,))
        return found

    def tools(self, schemas: Sequence[ToolSchema]) -> list[Tool]:
        """Wrap functions as tools of the simulators."""
        return [self._tool(one) for one in schemas]

    def snapshot(self) -> Any:
        """Independent copy of the state."""
        return copy.deepcopy((self._made, self.results))

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self._made, self.results = copy.deepcopy(state)

    def _tool(self, schema: ToolSchema) -> Tool:
        def call(arguments: dict[str, Any]) -> str:
            """Execute a call."""
            return self.call(schema.name, arguments)

        made = Tool(
            call,
            Definition(schema, _Anything, ("arguments",), None),
            timeout=None,
            timeout_is="infra_error",
            cost=0.0,
            max_chars=LONGEST_REPLY,
            drop="middle",
            method=False,
        )
        made.owner = self
        return made


class _Anything(BaseModel):
    """Unvalidated arguments of a policy: the simulators report invalid ones."""

    arguments: dict[str, Any]

    @classmethod
    def model_validate(cls, obj: Any) -> Any:  # type: ignore[override]
        return cls.model_construct(arguments=dict(obj))


def simulator_schemas(task: Task) -> list[ToolSchema]:
    """Schemas of a task's functions: all functions of the simulators, in order, or the named functions."""
    chosen = task.metadata.get("functions")
    schemas = [one for name in task.metadata["classes"] for one in _schemas(name)]
    return [one for one in schemas if chosen is None or one.name in chosen]


@functools.lru_cache(maxsize=16)
def _schemas(simulator: str) -> tuple[ToolSchema, ...]:
    return tuple(tool_schema(one) for one in read_descriptions(simulator))


def _as_text(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict):
        with contextlib.suppress(TypeError, ValueError):
            return json.dumps(answer)
    return str(answer)


def _check_numbers(arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if isinstance(one, list):
                waiting += one
            elif isinstance(one, int | float) and abs(one) > (MOST_DIGITS if name in DIGITS else LARGEST):
                raise ValueError(f"{name} is too large a number")
            elif isinstance(one, str) and name in ("value", "base", "number"):
                raise TypeError(f"{name} must be a number")


def _alike(one: Any, gold: Any, names: Sequence[str] | None = None) -> bool:
    """Whether attributes are equal; without names, all public attributes."""
    mine, wanted = vars(one), {name: value for name, value in vars(gold).items() if not name.startswith("_")}
    wanted = wanted if names is None else {name: wanted[name] for name in names}
    try:
        return all(name in mine and mine[name] == value for name, value in wanted.items())
    except RecursionError:  # a folder copied into itself
        return False
