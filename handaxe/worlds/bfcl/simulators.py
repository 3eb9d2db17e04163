"""The simulators of one attempt: objects whose public methods are the tools, and what they have answered.

A call is data: a name that must be among the described functions, and keyword arguments. Nothing a policy wrote is
evaluated, and no method is reached that is not described.
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
from handaxe.tools.schema import Definition
from handaxe.worlds.bfcl.package import documents_of, new_simulator, schema_of

__all__ = ["Simulators", "simulator_schemas"]

ONE_AT_A_TIME = threading.Lock()
"""A simulator changes a constant of its module while it answers, and another one the precision of all of mpmath."""
LARGEST = 10**18
MOST_DIGITS = 1_000
DIGITS = frozenset({"decimal_places", "exponent", "precision"})
"""Parameters of which a large value is much work: a policy must not stop the trainer with a tower of powers."""
LONGEST_REPLY = 100_000


class Simulators:
    """What one attempt acts on. `results` is every answer so far, as text, errors among them.

    Args:
        config: by class, its first state.
        classes: names of the simulators; where two have a function of one name, the later one answers.
        long_context: whether they pad what they say.
    """

    def __init__(self, config: Mapping[str, Any], classes: Sequence[str], *, long_context: bool = False):
        first = copy.deepcopy(dict(config))
        self._made = {name: new_simulator(name, first.get(name, {}), long_context=long_context) for name in classes}
        self._owner = {document["name"]: name for name in classes for document in documents_of(name)}
        self.results: list[str] = []

    @classmethod
    def of(cls, task: Task) -> Simulators:
        """Those of a task, in the state it begins with."""
        about = task.metadata
        return cls(about["config"], about["classes"], long_context=about["category"].endswith("long_context"))

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Carry out one call.

        Args:
            name: of a described function.
            arguments: by parameter.

        Returns:
            What the policy reads: text as it is, a dict as JSON, anything else as Python shows it.

        Raises:
            Failed: the simulator answered with an error, or raised one; the policy reads it. It is among `results`.
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
        except Exception as error:  # whatever a simulator makes of odd arguments is for the policy to read
            text = f"Error during execution: {error}"
        self.results.append(text)
        if failed:
            raise Failed(text)
        return text

    def like(self, gold: Simulators) -> bool:
        """Whether every public attribute that a simulator of `gold` has is equal here; nothing else is looked at."""
        return all(_alike(self._made[name], wanted) for name, wanted in gold._made.items())

    def compared(self, gold: Simulators) -> dict[str, bool]:
        """Of every public attribute of `gold`, by "Simulator.attribute", whether it is equal here. The switch
        `long_context` is no state."""
        found = {}
        for name, wanted in gold._made.items():
            for key in (key for key in vars(wanted) if not key.startswith("_") and key != "long_context"):
                found[f"{name}.{key}"] = _alike(self._made[name], wanted, (key,))
        return found

    def tools(self, schemas: Sequence[ToolSchema]) -> list[Tool]:
        """These functions as tools that act on this object."""
        return [self._tool(one) for one in schemas]

    def snapshot(self) -> Any:
        """The state, which later calls do not touch."""
        return copy.deepcopy((self._made, self.results))

    def restore(self, state: Any) -> None:
        """Go back to a snapshot."""
        self._made, self.results = copy.deepcopy(state)

    def _tool(self, schema: ToolSchema) -> Tool:
        def call(arguments: dict[str, Any]) -> str:
            """Carry out one call."""
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
    """Arguments as a policy wrote them: the simulators say themselves what does not fit."""

    arguments: dict[str, Any]

    @classmethod
    def model_validate(cls, obj: Any) -> Any:  # type: ignore[override]
        return cls.model_construct(arguments=dict(obj))


def simulator_schemas(task: Task) -> list[ToolSchema]:
    """What a task's policy can be told of: the functions of its simulators, in order, or those that the task names."""
    chosen = task.metadata.get("functions")
    schemas = [one for name in task.metadata["classes"] for one in _schemas(name)]
    return [one for one in schemas if chosen is None or one.name in chosen]


@functools.lru_cache(maxsize=16)
def _schemas(simulator: str) -> tuple[ToolSchema, ...]:
    return tuple(schema_of(one) for one in documents_of(simulator))


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
    """Whether these attributes are equal, all public ones where none are named."""
    mine, wanted = vars(one), {name: value for name, value in vars(gold).items() if not name.startswith("_")}
    wanted = wanted if names is None else {name: wanted[name] for name in names}
    try:
        return all(name in mine and mine[name] == value for name, value in wanted.items())
    except RecursionError:  # a folder that was copied into itself
        return False
