"""Pass rates of a policy, and a band of them."""

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.difficulty import difficulty
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic


def test_pass_rates_are_noted_and_the_band_drops_tasks():
    world, policy = arithmetic(), load("tiny")
    env, engine = world.env(world.tools), LocalEngine(policy.model)
    drafts = [task_draft(one) for one in world.tasks("train", 6, 0)]

    def outcomes(low, high):
        given = {"policy": "tiny 0", "samples": 2, "low": low, "high": high, "max_turns": 2}
        step = difficulty(world, env, engine, policy.format, **given)
        return step.run(drafts, SynthesisContext(0))

    every = outcomes(0.0, 1.0)
    rates = [one.kept[0].notes["pass_rate"] for one in every]
    assert set(rates) <= {0.0, 0.5, 1.0} and all(one.kept[0].notes["policy"] == "tiny 0" for one in every)
    expected = ["too hard" if rate < 0.5 else "too easy" if rate > 0.5 else "" for rate in rates]
    assert [one.reason for one in outcomes(0.5, 0.5)] == expected and any(expected)


def test_a_band_is_checked():
    world, policy = arithmetic(), load("tiny")
    for given in ({"low": 0.5, "high": 0.4}, {"samples": 0}):
        with pytest.raises(InputError, match="0 <= low <= high <= 1"):
            difficulty(world, world.env(()), LocalEngine(policy.model), policy.format, policy="tiny", **given)
