"""Samples with and without tools by classes, on a policy that a test scripts."""

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Scores, Task, ToolCall
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.tool_star.graded_start import direct_sample, graded_start, tool_samples
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.training.sft.supervised import as_rated

PLAYS = {"tasks": 12, "samples": 2, "groups": 4}


def plays(turns):
    return linear(max_turns=turns)


def scored(*rollouts, answers):
    made = as_rated(list(rollouts))
    channels = {"answer": np.array(answers, float)}
    group = make_group(task=rollouts[0].task, trajectories=rollouts)
    return type(made).of(group, Scores(np.array(answers, float), channels=channels), made.advantages)


def test_the_first_correct_text_is_the_sample_without_tools():
    task = Task("t", (Message("user", "?"),), "7")
    rollouts = [make_trajectory(texts=[text], task=task) for text in ("8", "7", "7 ")]
    assert direct_sample(scored(*rollouts, answers=[0, 1, 1])) == "7"
    assert direct_sample(scored(*rollouts, answers=[0, np.nan, 0])) is None


def test_samples_with_tools_are_correct_different_and_short(world):
    task = Task("t", (Message("user", "?"),), "7")

    def rollout(calls, answer="7"):
        return make_trajectory(texts=[*[""] * calls, answer], calls=[*[["add"]] * calls, []], task=task)

    rollouts = [rollout(1), rollout(1), rollout(2), rollout(6), rollout(0), rollout(1, "8")]
    found = tool_samples(scored(*rollouts, answers=[1, 1, 1, 1, 1, 0]), world.site(), plays, most_calls=5)
    assert [len(one.calls) for one in found] == [1, 2]


def right_where(request):
    """Calls when it is told to; the answer is right on every third task."""
    return ToolCall("add", {"numbers": "1 2"}) if request.turn == 1 else "3"


def outcome(group):
    """A direct answer is right for tasks 0, 3, ...; with a call, for 1, 4, ..., too; the other tasks are hard."""
    number = int(group.task.id.rpartition("-")[2])
    able = np.array([number % 3 == 0 or (number % 3 == 1 and bool(one.calls)) for one in group], float)
    return Scores(able, channels={"answer": able})


def graded(world, tmp_path, tools=None, seen=None, **options):
    tasks = [Task(f"n-{k}", (Message("user", f"{k}?"),), "3", tools) for k in range(12)]
    pool = task_pool(tasks, shuffle=False)
    site = world.site(engine=world.Talking(right_where), reward=outcome, tasks=pool, out=tmp_path)
    site = site._replace(rollout=linear(max_turns=4))
    if seen is not None:
        site = site._replace(env=lambda task, env=site.env: seen.add(task.tools) or env(task))
    return graded_start(plays=plays, **PLAYS, **options)(site), pool


def test_a_third_of_the_tasks_is_in_each_class(world, tmp_path):
    rows, pool = graded(world, tmp_path)
    third = pytest.approx(1 / 3)
    assert {name: rows[0][f"class/{name}"] for name in ("direct", "tool", "hard")} == {
        "direct": third, "tool": third, "hard": third,
    }  # fmt: skip
    assert [one.metadata["class"] for one in pool.tasks] == ["tool"] * 4 + ["hard"] * 4
    assert [int(one.id[2:]) % 3 for one in pool.tasks] == [1] * 4 + [2] * 4
    assert rows[0]["lessons"] == 8 and rows[0]["samples/direct"] == 0.5 and rows[0]["hints"] == 1
    assert rows[0]["lessons/calling"] == 0.5


def test_samples_without_tools_can_be_left_out(world, tmp_path):
    rows, _ = graded(world, tmp_path, direct_samples=False)
    assert rows[0]["lessons"] == 4 and rows[0]["samples/direct"] == 0


def test_samples_without_tools_offer_the_tools_of_the_task(world, tmp_path):
    seen = set()
    graded(world, tmp_path, tools=("add",), seen=seen)
    assert seen == {(), ("add",)}


def test_wrong_input():
    with pytest.raises(InputError, match="samples 0"):
        graded_start(plays=plays, samples=0)
    with pytest.raises(InputError, match="--hints trained"):
        graded_start(plays=plays, hints="trained")
