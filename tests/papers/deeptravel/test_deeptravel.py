"""DeepTravel's two verifiers: asked sparingly or about everything, they pay the same, and the questions are counted."""

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run import run
from handaxe.models.compact import Compact
from handaxe.training.loop.config import RunConfig
from handaxe.worlds.parts.demonstrate import demonstrate

SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--model", "tiny", "--seed", "3"]


def chosen(*words):
    return parse_train("deeptravel", [*SMALL, *words], prog="handaxe train", also={"run": RunOptions})[0]


def attempts(world, task):
    """Right; right after all that was asked had been asked twice; half a plan; nothing asked."""

    def twice(task, facts):
        return world.expert(task, {**facts, "turn": facts["turn"] // 2})

    def half(task, facts):
        said = world.expert(task, facts)
        return said if said.calls else Message("assistant", said.content[:4])

    def silent(task, facts):
        return Message("assistant", "")

    speakers = (world.expert, twice, half, silent)
    env, rollout = world.env(()), world.plays(16)
    return Group(task, tuple(demonstrate(env, task, one, format=Compact(), rollout=rollout) for one in speakers))


@pytest.mark.parametrize("aggregate", ["all", "mean"])
def test_the_reward_is_the_same_and_fewer_questions_are_asked(aggregate):
    made = {ask: chosen("--ask", ask, "--aggregate", aggregate) for ask in ("all", "passed")}
    world = make_world(made["all"])
    for task in world.tasks("train", 6, 0):
        group = attempts(world, task)
        said = {ask: make_method(one, world).reward(group) for ask, one in made.items()}
        calls = [len(one.replies) for one in group]
        assert said["all"].outcome.tolist() == said["passed"].outcome.tolist()
        assert said["all"].outcome.tolist() == [1, 0 if aggregate == "all" else 0.5, 0, 0]
        assert said["all"].channels["on"].tolist() == said["passed"].channels["on"].tolist() == [1, 1, 0, 0]
        assert said["all"].channels["asked"].tolist() == calls
        assert said["passed"].channels["asked"].tolist() == [*calls[:2], 0, 0]


def test_a_step_trains_on_the_same_and_says_how_much_was_asked():
    rows = [run(chosen("--ask", ask), RunConfig(progress=False)).metrics[0] for ask in ("all", "passed")]
    same = ("reward", "channel/on", "tokens", "grad_norm")
    assert [rows[0][name] for name in same] == [rows[1][name] for name in same]
    assert rows[0]["channel/asked"] >= rows[1]["channel/asked"]
