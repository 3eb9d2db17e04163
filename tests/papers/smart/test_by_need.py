from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.curricula.task_pool import task_pool
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.load import load
from handaxe.papers.smart.by_need import by_need
from handaxe.rollouts.linear import linear
from handaxe.training.stages.context import make_site
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()


def labelled(shares):
    tasks = WORLD.tasks("train", len(shares), 0)
    return [replace(one, metadata={**one.metadata, "known": share}) for one, share in zip(tasks, shares)]


@pytest.fixture(scope="module")
def site():
    policy = load("tiny")
    return make_site(engine=LocalEngine(policy.model), format=policy.format, env=WORLD.env(WORLD.tools))


def shown(site, tasks, **options):
    rated = by_need(expert=WORLD.expert, label="known", **options)(site._replace(tasks=task_pool(tasks)))
    return {one.group.task.id: one.group[0] for one in rated}


def test_demonstrations_equal_the_worked_example(site):
    easy = {"expression": "3+4", "difficulty": "easy", "known": 1.0}
    hard = {"expression": "12*34", "difficulty": "hard", "known": 0.0}
    asked = [
        Task("t0", (Message("user", "3+4=?"),), "7", None, easy),
        Task("t1", (Message("user", "12*34=?"),), "408", None, hard),
    ]
    found = shown(site, asked)
    assert [turn.parsed.text for turn in found["t0"].turns] == ["7"] and not found["t0"].calls
    assert [call.arguments for call in found["t1"].calls] == [{"expression": "12*34"}]
    assert [reply.content for reply in found["t1"].replies] == ["408"] and found["t1"].final_text == "408"


def test_demonstrations_call_up_to_the_threshold(site):
    tasks = labelled([0.0, 0.5, 0.501, 1.0, None, 0.25])
    found = shown(site, tasks)
    wanted = {one.id: share <= 0.5 for one in tasks if (share := one.metadata["known"]) is not None}
    assert {name: bool(one.calls) for name, one in found.items()} == wanted
    assert {bool(one.calls) for one in shown(site, tasks, show="always").values()} == {True}
    assert {bool(one.calls) for one in shown(site, tasks, show="never").values()} == {False}
    assert all(one.calls for name, one in shown(site, tasks, above=1.0).items())


def test_only_correct_policy_tokens_train(site):
    tasks = labelled([0.0, 1.0])
    for rated in by_need(expert=WORLD.expert, label="known")(site._replace(tasks=task_pool(tasks))):
        (one,), (tokens,) = rated.group.trajectories, rated.advantages.tokens[0]
        assert WORLD.correct(rated.group).outcome[0] == 1
        assert np.array_equal(tokens, one.sequences[0].mask) and tokens.sum() == one.num_tokens


def test_demonstrations_are_of_pool_tasks_only(site):
    tasks = labelled([0.0] * 20 + [1.0] * 20)
    asked = {one.task.messages[0].content for one in shown(site, tasks).values()}
    assert asked <= {one.messages[0].content for one in tasks}
    held_out = {one.metadata["expression"] for one in WORLD.tasks("test", 200, 0)}
    assert not held_out & {one.task.metadata["expression"] for one in shown(site, tasks).values()}


def test_by_need_refuses_bad_arguments_and_unlabelled_pools(site):
    with pytest.raises(InputError, match="need, always or never"):
        by_need(expert=WORLD.expert, show="sometimes")
    with pytest.raises(InputError, match="no task has the label 'known'"):
        shown(site, WORLD.tasks("train", 2, 0))
    with pytest.raises(InputError, match="task_pool"):
        by_need(expert=WORLD.expert)(site)
    with pytest.raises(InputError, match="ended as truncated: length"):
        shown(site._replace(engine=Short()), labelled([0.0]))
    with pytest.raises(InputError, match="ended as truncated: turns"):
        shown(site, labelled([0.0]), show="always", max_turns=1)


def test_demonstrations_use_the_world_rollout(site):
    turns = []

    def plays(most):
        turns.append(most)
        return linear(max_turns=most)

    assert shown(site, labelled([0.0]), max_turns=5, plays=plays) and turns == [5]


class Short:
    max_length = 12
