import numpy as np

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import ToolReply
from handaxe.core.requests import EnvReply
from handaxe.ops.turn_positions import turn_positions
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules
from handaxe.rollouts.play.replay_turns import _told
from handaxe.rollouts.rewind import rewind


def long_one(dice, **knobs):
    for seed in range(80):
        (one,) = run_plan(linear(max_turns=6, **knobs)(dice.attempt(seed)), sample=dice.roll)
        if len(one.turns) >= 3:
            return one
    raise AssertionError


def test_strategy_messages_are_not_expected_of_the_environment(dice):
    """What was said of the budget stands in the record, and no environment is asked for it."""
    recorded = long_one(dice, budget=Budget(calls=40), tell_budget=True)
    assert any(message.role == "user" and message.name for message in recorded.messages)
    play = rewind(dice.attempt(9), Rules(max_turns=6), recorded, turn=2)
    (one,) = run_plan(play.plan(), sample=dice.roll)
    cut = turn_positions(recorded.messages, turns=len(recorded.turns))[2]
    assert one.ending.kind != "infra_error" and one.messages[:cut] == recorded.messages[:cut]


def test_missing_environment_messages_are_reported(dice):
    class Silent(dice.Counter):
        def step(self, turn, *, seed):
            return EnvReply(replies=super().step(turn, seed=seed).replies)

    play = rewind(dice.attempt(9, env=Silent), Rules(max_turns=6), long_one(dice), turn=1)
    (one,) = run_plan(play.plan(), sample=dice.roll)
    assert one.ending.kind == "infra_error"


def test_other_images_are_another_reply():
    one, other = (Image.of(np.full((1, 1, 3), k, np.uint8)) for k in (1, 2))
    first, again, second = ([ToolReply("c", "t", PLACEHOLDER, images=(image,))] for image in (one, one, other))
    assert _told(first) == _told(again) != _told(second)
