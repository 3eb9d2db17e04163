"""Both verifiers of DeepTravel: equal rewards with and without questions about failed plans."""

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.core.records import Group, Message
from handaxe.methods.build import make_method, make_world
from handaxe.methods.run import run
from handaxe.models.chat_formats.compact import Compact
from handaxe.training.loop.config import RunConfig
from handaxe.worlds.parts.demonstrate import demonstrate

SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--model", "tiny", "--seed", "3"]


def chosen(*words):
    return parse_train("deeptravel", [*SMALL, *words], prog="handaxe train", also={"run": RunOptions})[0]


def attempts(world, task):
    """A correct plan; a correct plan with every call repeated; half a plan; no call."""

    def twice(task, facts):
        return world.expert(task, {**facts, "turn": facts["turn"] // 2})

    def half(task, facts):
        message = world.expert(task, facts)
        return message if message.calls else Message("assistant", message.content[:4])

    def silent(task, facts):
        return Message("assistant", "")

    speakers = (world.expert, twice, half, silent)
    env, rollout = world.env(()), world.make_rollout(16)
    return Group(task, tuple(demonstrate(env, task, one, format=Compact(), rollout=rollout) for one in speakers))


def test_the_second_verifier_pays_the_same_with_fewer_questions_for_passed_plans():
    made = {ask: chosen("--ask", ask) for ask in ("all", "passed")}
    world = make_world(made["all"])
    for task in world.tasks("train", 6, 0):
        group = attempts(world, task)
        scores = {ask: make_method(one, world).reward(group) for ask, one in made.items()}
        calls = [len(one.replies) for one in group]
        assert scores["all"].outcome.tolist() == scores["passed"].outcome.tolist()
        assert scores["all"].outcome.tolist() == [1, 0, 0, 0]
        assert scores["all"].channels["on"].tolist() == scores["passed"].channels["on"].tolist() == [1, 1, 0, 0]
        assert scores["all"].channels["asked"].tolist() == calls
        assert scores["passed"].channels["asked"].tolist() == [*calls[:2], 0, 0]


@pytest.mark.slow
def test_a_training_step_has_equal_metrics_and_counts_the_questions():
    rows = [run(chosen("--ask", ask), RunConfig(progress=False)).metrics[0] for ask in ("all", "passed")]
    same = ("reward", "channel/on", "tokens", "grad_norm")
    assert [rows[0][name] for name in same] == [rows[1][name] for name in same]
    assert rows[0]["channel/asked"] >= rows[1]["channel/asked"]
