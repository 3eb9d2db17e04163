import numpy as np
import pytest
from helpers.methods import made

from handaxe import engines
from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models import load as loading
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.robo_dopamine.hop_model import HopModel
from handaxe.papers.robo_dopamine.keyframe_progress import keyframes
from handaxe.training.sft.cold_start import demonstrations
from handaxe.training.stages.context import make_site

pytest.importorskip("minigrid")
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def fitted():
    method = made("robo_dopamine", "--episodes", "24", "--pairs", "800")
    policy = loading.load("tiny")
    world = method.world
    site = make_site(engine=engines.LocalEngine(policy.model), format=policy.format, env=world.env(world.tools), seed=1)
    (row,) = method.stages[-1](site)
    (model,) = method.learners
    return method, model, row


@pytest.fixture(scope="module")
def played(fitted):
    world = fitted[0].world
    tasks = world.tasks("test", 12, 0)
    return demonstrations(world, world.env(world.tools), tasks, count=12, seed=4, format=Compact())


def test_keyframes_are_the_criteria_of_the_world(fitted, played):
    world = fitted[0].world
    won = [one for one in played if one.env["state"]["GridGame"]["won"]]
    assert won and len(won) < len(played)
    for one in played:
        frames = keyframes(world, one)
        assert bool(frames) == (one in won)
        if frames:
            assert frames[0] == 0 and frames[-1] == len(one.turns) and len(frames) == 4
            assert one.turns[frames[1] - 1].replies[0].content.find("+key") >= 0


def test_the_model_orders_states_of_held_out_rollouts(fitted, played):
    _, model, row = fitted
    assert row["segments"] == 3 and row["order"] > 0.6 and row["error"] < 0.3
    ends = {True: [], False: []}
    for one, states in zip(played, model._states.states(played), strict=True):
        ends[one.env["state"]["GridGame"]["won"]].append(model.progress(states)[0, -1])
    assert np.mean(ends[True]) > np.mean(ends[False]) + 0.05


def test_rewards_of_turns_telescope_and_the_learner_reports_them(fitted, played):
    method, model, _ = fitted
    group = Group(played[0].task, tuple(played[:2]))
    found = model.score_steps(group)
    for one, states, rewards in zip(group, model._states.states(list(group)), found, strict=True):
        progress = model.progress(states)[0]
        assert len(rewards) == len(one.turns)
        total = sum(0.99**n * value for n, value in enumerate(rewards))
        assert total == pytest.approx(0.99 ** len(rewards) * progress[-1], abs=1e-9)
    figures = model.learn([], step=0)
    assert set(figures) == {"rise", "disagreement", "paid"} and 0 < figures["rise"] <= 1
    assert model.learn([], step=1) == {}
    scores = method.reward(group)
    assert scores.channels["answer"].tolist() == [float(one.env["state"]["GridGame"]["won"]) for one in group]


def test_the_state_restores_the_model(fitted, played):
    method, model, _ = fitted
    copy = HopModel(world=method.world, episodes=8, pairs=1)
    with pytest.raises(InputError, match="run its stage"):
        copy.score_steps(Group(played[0].task, (played[0],)))
    copy.load_state_dict(model.state_dict())
    states = model._states.states(played[:1])[0]
    assert copy.progress(states).tolist() == model.progress(states).tolist()


def test_numbers_out_of_range_are_refused(fitted):
    with pytest.raises(InputError, match="give 8 and 1 or more"):
        HopModel(world=fitted[0].world, episodes=7, pairs=1)
    with pytest.raises(InputError, match="demonstrations succeed"):
        HopModel(world=fitted[0].world, episodes=8, pairs=1).fit([], seed=0)
