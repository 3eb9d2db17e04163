"""Parameterised task: goal template, schema of parameters, initial state, success by state, and a step budget."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from handaxe.core.errors import InputError

__all__ = ["Params", "TaskTemplate", "composite_score", "step_budget"]

State = TypeVar("State")
Params = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TaskTemplate(Generic[State]):
    """Template of tasks; a task is a template with parameters.

        goal = template.format(parameters);  budget = int(10 * complexity) steps

    Args:
        name: of the template.
        template: text of the goal with parameters in braces.
        schema: model of the parameters; `schema.model_json_schema()` is the JSON schema.
        draw: (random numbers) -> parameters.
        initialize: (state, parameters) prepares the state.
        is_successful: (state, parameters) -> success in [0, 1], decided by the state alone.
        tear_down: (state, parameters) removes what the task left.
        complexity: a tenth of the step budget.

    Example:
        a template "add {key} {value}" with key 512, value 5526 and complexity 1.2 has the goal "add 512 5526" and 12
        steps

    Paper: arXiv:2405.14573 (AndroidWorld), the interface of tasks.
    Differs: the state is any object instead of an Android device.
    """

    name: str
    template: str
    schema: type[BaseModel]
    draw: Callable[[random.Random], Params]
    initialize: Callable[[State, Params], None]
    is_successful: Callable[[State, Params], float]
    tear_down: Callable[[State, Params], None]
    complexity: float

    def generate_params(self, seed: int) -> dict[str, Any]:
        """Draw parameters and check the schema.

        Raises:
            InputError: the parameters do not fit the schema.
        """
        drawn = self.draw(random.Random(seed))
        try:
            return self.schema.model_validate(dict(drawn)).model_dump(mode="json")
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "parameters"
            raise InputError(f"task template {self.name!r}, {place}: {first['msg']}: change draw or schema") from error

    def goal(self, params: Params) -> str:
        """Fill the template.

        Raises:
            InputError: a parameter of the template is missing.
        """
        try:
            return self.template.format(**params)
        except KeyError as error:
            raise InputError(f"task template {self.name!r} lacks the parameter {error.args[0]!r}: draw it") from error


def step_budget(complexity: float) -> int:
    """Compute the most steps of a task.

        int(10 * complexity)

    Args:
        complexity: 0.1 or more.

    Raises:
        InputError: the budget is below one step.

    Example:
        1.2 -> 12    0.55 -> 5

    Paper: arXiv:2405.14573 (AndroidWorld), the step budget of a task.
    """
    budget = int(10 * complexity)
    if budget < 1:
        raise InputError(f"complexity {complexity} gives no step: give 0.1 or more")
    return budget


def composite_score(successes: Sequence[float]) -> float:
    """Compute the success of a composite task.

        sum of successes / number of parts

    Args:
        successes: of the parts, one or more.

    Raises:
        InputError: no part.

    Example:
        1 of 3 -> 0.333

    Paper: arXiv:2405.14573 (AndroidWorld), composite tasks.
    """
    if not successes:
        raise InputError("a composite task has no part: give one or more")
    return sum(successes) / len(successes)
