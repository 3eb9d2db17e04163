import numpy as np
import pytest
from helpers.methods import made

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models import load as loading
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.perceptual_rewards.perceptual_judge import PerceptualJudge
from handaxe.training.sft.cold_start import demonstrations
from handaxe.training.stages.context import make_site

pytest.importorskip("minigrid")


@pytest.fixture(scope="module")
def fitted():
    method = made("perceptual_rewards", "--episodes", "24")
    policy = loading.load("tiny")
    world = method.world
    site = make_site(engine=engines.LocalEngine(policy.model), format=policy.format, env=world.env(world.tools), seed=1)
    (row,) = method.stages[-1](site)
    (judge,) = method.learners
    return method, judge, row


@pytest.fixture(scope="module")
def played(fitted):
    world = fitted[0].world
    return demonstrations(world, world.env(world.tools), world.tasks("test", 12, 0), count=12, seed=4, format=Compact())


def test_steps_are_tighter_than_demonstrations_and_found_again(fitted):
    row = fitted[2]
    assert row["demonstrations"] >= 8 and row["deviation"] < 0.8
    assert row["found"] > 0.4, "three steps: 0.33 by chance"
    assert row["order"] == 1


def test_the_end_of_a_success_earns_more_than_its_start(fitted, played):
    _, judge, _ = fitted
    ends = []
    for one, states in zip(played, judge._states.states(played), strict=True):
        reward = judge.rewards(states)
        assert ((reward >= 0) & (reward <= 1)).all()
        ends += [(reward[0], reward[-1])] if one.env["state"]["GridGame"]["won"] else []
    start, end = np.mean(ends, axis=0)
    assert end > start + 0.3


def test_turns_are_rewarded_beside_the_outcome_and_reported(fitted, played):
    method, judge, _ = fitted
    group = Group(played[0].task, tuple(played[:2]))
    judge.learn([], step=0)
    scores = method.reward(group)
    for one, states, turns in zip(group, judge._states.states(list(group)), scores.turns, strict=True):
        assert turns.tolist() == pytest.approx((0.1 * judge.rewards(states)[1:]).tolist())
        assert len(turns) == len(one.turns)
    assert scores.outcome.tolist() == [float(one.env["state"]["GridGame"]["won"]) for one in group]
    assert set(judge.learn([], step=0)) == {"reward", "last", "spread"} and judge.learn([], step=1) == {}


def test_the_state_restores_the_classifiers(fitted, played):
    method, judge, _ = fitted
    copy = PerceptualJudge(world=method.world, episodes=8)
    states = judge._states.states(played[:1])[0]
    with pytest.raises(InputError, match="run its stage"):
        copy.rewards(states)
    copy.load_state_dict(judge.state_dict())
    assert copy.rewards(states).tolist() == judge.rewards(states).tolist()


def test_numbers_out_of_range_are_refused(fitted):
    world = fitted[0].world
    with pytest.raises(InputError, match="give 8, 2 and 1 or more"):
        PerceptualJudge(world=world, episodes=8, segments=1)
    with pytest.raises(InputError, match="long enough"):
        PerceptualJudge(world=world, episodes=8).fit([])
