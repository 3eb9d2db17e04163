import random
from dataclasses import replace

import pytest
from pydantic import BaseModel, Field

from handaxe.core.errors import InputError
from handaxe.papers.android_world.task_template import TaskTemplate, composite_score, step_budget


class Number(BaseModel):
    number: int = Field(ge=1, le=9)


TEMPLATE = TaskTemplate[list](
    name="append",
    template="append {number}",
    schema=Number,
    draw=lambda rng: {"number": rng.randint(1, 9)},
    initialize=lambda state, params: state.clear(),
    is_successful=lambda state, params: float(state == [params["number"]]),
    tear_down=lambda state, params: state.clear(),
    complexity=1.2,
)


def test_a_task_is_a_template_with_drawn_parameters():
    params = TEMPLATE.generate_params(7)
    assert params == TEMPLATE.generate_params(7) == {"number": random.Random(7).randint(1, 9)}
    assert {TEMPLATE.generate_params(seed)["number"] for seed in range(40)} == set(range(1, 10))
    assert TEMPLATE.goal(params) == f"append {params['number']}"
    state = [3]
    TEMPLATE.initialize(state, params)
    assert TEMPLATE.is_successful(state, params) == 0.0
    state.append(params["number"])
    assert TEMPLATE.is_successful(state, params) == 1.0
    assert TEMPLATE.schema.model_json_schema()["properties"]["number"]["maximum"] == 9


def test_parameters_outside_the_schema_raise():
    with pytest.raises(InputError, match="'append', number: .*change draw or schema"):
        replace(TEMPLATE, draw=lambda rng: {"number": 10}).generate_params(0)
    with pytest.raises(InputError, match="lacks the parameter 'number'"):
        TEMPLATE.goal({})


@pytest.mark.parametrize("complexity, steps", [(1.2, 12), (0.55, 5), (0.1, 1), (6.0, 60)])
def test_step_budget_by_hand(complexity, steps):
    assert step_budget(complexity) == steps


def test_composites_score_the_share_of_parts():
    assert composite_score([1.0, 0.0, 0.0]) == pytest.approx(0.333, abs=5e-4)
    assert composite_score([1.0]) == 1.0
    for call in (lambda: composite_score([]), lambda: step_budget(0.09)):
        with pytest.raises(InputError):
            call()
