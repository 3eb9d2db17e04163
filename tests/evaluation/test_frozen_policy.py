import pytest

pytest.importorskip("bm25s")
from helpers.case_reader import CaseReader

from handaxe.core.records import Group, Sampling
from handaxe.evaluation import frozen_policy as module
from handaxe.evaluation.frozen_policy import FrozenPolicy, started_policy
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.coded_hops import coded_hops


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield coded_hops(codes=4, shown=0, size=40)


def test_rewards_are_verdicts_of_the_world(world):
    """The policy searches the chain of the first task for every question."""
    tasks = world.tasks("train", 12, 0)
    path = tasks[0].metadata["path"]
    policy = FrozenPolicy(world, CaseReader(world, lambda person: path), Compact())
    played = policy.play(tasks, seed=3)
    assert [one.task for one, _ in played] == list(tasks)
    assert [reward for _, reward in played] == [float(one.final_text == one.task.answer) for one, _ in played]
    assert all(reward == 1 for one, reward in played if one.task.metadata["path"] == path)
    assert 0 < sum(reward for _, reward in played) < 12
    short = policy.play(tasks, seed=3, rollout=linear(max_turns=1))
    assert [len(one.turns) for one, _ in short] == [1] * 12 and sum(reward for _, reward in short) == 0


def test_limits_are_those_of_the_rollout(monkeypatch):
    """Sampled rollouts of the packaged policy equal those that are played with the limits themselves."""
    world = arithmetic()
    monkeypatch.setattr(module, "start_policy", lambda taught: load(taught.start_model))
    policy = started_policy(world, world, max_turns=2, max_tokens=7, temperature=1.5)
    tasks = world.tasks("test", 3, 0)
    expected = play_tasks(
        tasks,
        env=world.env(world.tools),
        rollout=linear(max_turns=2),
        engine=policy.engine,
        format=policy.format,
        sampling=Sampling(max_tokens=7, temperature=1.5),
        seed=5,
    )
    found = policy.play(tasks, seed=5)
    assert [one.messages for one, _ in found] == [one.messages for one in expected]
    assert [reward for _, reward in found] == [
        float(world.correct(Group(one.task, (one,))).outcome[0]) for one in expected
    ]
    assert [one.messages for one, _ in policy.play(tasks, seed=6)] != [one.messages for one in expected]
