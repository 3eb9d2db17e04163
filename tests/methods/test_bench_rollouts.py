"""Bench of rollouts: candidates of a policy with labels by the rule."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.evaluation.bench_items import labels_of
from handaxe.methods.bench_rollouts import bench_rollouts
from handaxe.models.load import load
from handaxe.worlds.arithmetic import arithmetic


@pytest.fixture(scope="module")
def policy():
    return load("tiny")


class Terse:
    terse = True

    def fingerprint(self):
        return "terse"


@pytest.fixture(scope="module")
def items(policy):
    return bench_rollouts(model=policy, world=arithmetic(), size=3)("test", 4, 0)


def test_each_task_has_as_many_rollouts(items):
    assert len(items) == 4 and [len(one.questions) for one in items] == [3] * 4


def test_labels_are_by_the_answer(items):
    answers = {task.id: task.answer for task in arithmetic().tasks("test", 4, 0)}
    for item in items:
        texts = [one.ask(AskDesk(Terse())).fields["did"].partition("<")[0] for one in item.questions]
        assert labels_of(item).tolist() == [text == answers[item.task] for text in texts]


def test_equal_seeds_play_equal_rollouts(items, policy):
    again = bench_rollouts(model=policy, world=arithmetic(), size=3)("test", 4, 0)
    for one, other in zip(items, again, strict=True):
        assert [q.lengths for q in one.questions] == [q.lengths for q in other.questions]
        np.testing.assert_array_equal(labels_of(one), labels_of(other))


def test_wrong_sizes_and_unscored_rollouts_are_one_sentence(policy):
    with pytest.raises(InputError, match="a task has 0 rollouts"):
        bench_rollouts(model=policy, world=arithmetic(), size=0)
    world = arithmetic()

    def unscored(group):
        found = world.correct(group)
        return replace(found, outcome=np.full(len(group), np.nan))

    with pytest.raises(InputError, match="scores no rollout of this policy"):
        bench_rollouts(model=policy, world=replace(world, correct=unscored), size=2)("test", 2, 0)
