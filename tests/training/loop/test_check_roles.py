import re

import pytest

from handaxe import losses
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, Trajectory
from handaxe.credit.group_norm import group_norm
from handaxe.credit.transformed import transformed
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import load
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.selection.keep_all import keep_all
from handaxe.tools import tool
from handaxe.training.loop.config import AsyncConfig, PeriodicEvaluation, RunConfig, Updates
from handaxe.training.loop.train import train
from handaxe.worlds.arithmetic import arithmetic


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def is_four(trajectory: Trajectory) -> float:
    return float(trajectory.final_text == "4")


def unnamed(attempt) -> bool:
    return attempt.final_text == "4"


class Mine:
    """A credit of a user's own."""

    def __call__(self, group, scores):
        raise AssertionError


DICT = {"role": "user", "content": "2+2?"}


class Handed:
    """A curriculum of a user's own: one task of these messages."""

    def __init__(self, *messages):
        self.messages = messages

    def next(self, step, count):
        return [Task("t1", self.messages, answer="4")] * count

    def observe(self, groups):
        pass


WRONG = {
    "a reward of one attempt": (
        {"reward": is_four},
        "reward is is_four, which scores one rollout: write @outcome above",
    ),
    "a reward that gives a bool": ({"reward": unnamed}, "reward is unnamed, which scores one rollout: write @outcome"),
    "a reward without a word of what it takes": (
        {"reward": lambda one: one.final_text == "4"},
        "the reward reads 'final_text' of the whole group, as of a single rollout: write @outcome above",
    ),
    "a reward that gives numbers": (
        {"reward": lambda group: [1.0] * len(group)},
        "gave [1.0, 1.0, 1.0, 1.0] for a group",
    ),
    "a list of tasks": (
        {"tasks": [Task("t", (Message("user", "q"),))]},
        "tasks is a list, which has no next, observe:",
    ),
    "no tasks at all": ({"tasks": None}, "tasks is None, which has no next, observe: write tasks=in_order(my_tasks)"),
    "messages that are dicts": ({"tasks": Handed(DICT)}, "message 0 of task 't1' is a dict: write Message('user', '2+"),
    "a model for an engine": ({"engine": load("tiny").model}, "engine is a model, which has no sample"),
    "a policy for an engine": (
        {"engine": load("tiny")},
        "engine is the result of load, a model and its chat format: write",
    ),
    "a name for an engine": ({"engine": "tiny"}, "engine is the text 'tiny', which has no sample"),
    "a class for an engine": ({"engine": LocalEngine}, "engine is the class LocalEngine itself: make one"),
    "a policy for a format": ({"format": load("tiny")}, "format is the result of load, a model and its chat format"),
    "in_order not called": (
        {"tasks": in_order},
        "tasks is the function in_order, which was not called: write tasks=in",
    ),
    "a credit not called": (
        {"credit": group_norm},
        "credit is group_norm itself, which makes one: call it, such as cred",
    ),
    "a credit of a credit not called": (
        {"credit": transformed},
        "credit is transformed itself, which makes one: call it",
    ),
    "a class for a credit": ({"credit": Mine}, "credit is the class Mine itself: make one, credit=Mine(...)"),
    "a name for a credit": (
        {"credit": "group_norm"},
        "credit is the text 'group_norm', which cannot be called: credit",
    ),
    "a reward not called": ({"reward": exact_match}, "reward is exact_match itself, which makes one: call it"),
    "a rollout not called": ({"rollout": linear}, "rollout is linear itself, which makes one: call it"),
    "a loss not called": ({"loss": losses.policy}, "loss is policy itself, which makes one: call it"),
    "a selector not called": ({"select": keep_all}, "select is keep_all itself, which makes one: call it"),
    "an environment not called": ({"env": tool_chat}, "env is tool_chat itself, which makes one: call it"),
    "tools for an environment": (
        {"env": [double]},
        "env is a list, which cannot be called: env is called with task and",
    ),
    "a world for an environment": (
        {"env": arithmetic()},
        "env is a World, which cannot be called: env is called with task",
    ),
    "credit and reward exchanged": (
        {"reward": group_norm(), "credit": exact_match()},
        "reward is credit(group: handaxe.core.records.Group, scores: handaxe.core.records.Scores)",
    ),
    "a dict of sampling": ({"sampling": {"temperature": 1}}, "sampling is a dict: write sampling=Sampling("),
    "half a step": ({"steps": 1.5}, "steps is 1.5; give a whole number"),
    "a rate that is text": ({"learning_rate": "1e-3"}, "learning_rate is '1e-3'; give a number, or a function"),
    "learners that learn nothing": (
        {"learners": [1]},
        "among the learners is an int, which has no learn(groups, step=",
    ),
}


SETTINGS = {
    "one feature without a list": (
        lambda: Updates(annotate="value"),
        "annotate is 'value': write a list, such as annotate=['",
    ),
    "no threads": (lambda: AsyncConfig(workers=0), "workers is 0; give a number of threads from 1"),
    "an evaluation that is none": (
        lambda: PeriodicEvaluation(evaluate=5),
        "evaluate is 5; give a function (engine, steps done)",
    ),
    "a function for a periodic evaluation": (
        lambda: RunConfig(evaluation=is_four),
        "write evaluation=PeriodicEvaluation(evaluate=..., every=5)",
    ),
}


@pytest.mark.parametrize("mistake", SETTINGS)
def test_settings_describe_a_wrong_value_in_one_line(mistake):
    make, message = SETTINGS[mistake]
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        make()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("mistake", WRONG)
def test_train_describes_a_wrong_argument_in_one_line(world, tmp_path, mistake):
    changes, message = WRONG[mistake]
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        train(**world.arguments(out=tmp_path / "run", **changes))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name, kind", [("updates", "Updates"), ("async_config", "AsyncConfig"), ("run", "RunConfig")])
def test_train_refuses_a_dict_of_settings(world, name, kind):
    with pytest.raises(InputError, match=f"{name} is a dict: write {name}={kind}"):
        train(**{**world.arguments(), name: {}})


def test_what_is_right_passes(world):
    arguments = world.arguments(reward=outcome(is_four), sampling=lambda step: Sampling(max_tokens=3), steps=1)
    assert len(train(**arguments).metrics) == 1


def test_a_mistake_in_a_reward_stays_what_it_is(world):
    def reward(group):
        return group.task.nothing

    with pytest.raises(AttributeError, match="nothing"):
        train(**world.arguments(reward=reward, steps=1))
