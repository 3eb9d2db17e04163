import numpy as np
import pytest

from handaxe.core.errors import TaskError
from handaxe.credit.group_norm import group_norm
from handaxe.credit.transformed import transformed
from handaxe.papers.gui_g1.task_weight import task_weight
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory

CONTRACT = [{"weight": lambda task: 1.5}, {"weight": lambda task: 0.0}]
OF_GROUPS = True
BIAS = "a factor per task on the wrapped credit"


def apply(transform, group, advantages):
    return transformed(lambda group, scores: advantages, transform)(group, make_scores([0.0] * len(group)))


def told(task):
    return task.metadata["weight"]


def group_of(weight, size=2):
    task = make_task(metadata={"weight": weight})
    return make_group(task=task, trajectories=[make_trajectory(layouts=["Utpp", "Up"], task=task) for _ in range(size)])


def test_task_weight_scales_advantages():
    credit = transformed(group_norm(std=None), task_weight(weight=told))
    found = credit(group_of(1.5), make_scores([1.0, 0.0]))
    assert [one[0].tolist() for one in found.tokens] == [[0, 0, 0.75, 0.75], [0, 0, -0.75, -0.75]]


def test_task_weight_equals_a_loop_and_keeps_targets_channels_and_masks():
    group, scores = group_of(0.7, 4), make_scores([1.0, 0.0, 0.25, np.nan])
    plain = group_norm()(group, scores)
    found = apply(task_weight(weight=told), group, plain)
    for i in range(4):
        for s, adv in enumerate(plain.tokens[i]):
            for t in range(len(adv)):
                assert found.tokens[i][s][t] == 0.7 * adv[t]
    assert (found.returns, found.trains, found.channels) == (plain.returns, plain.trains, plain.channels)
    assert not found.tokens[3][0].any() and plain.tokens[0][0][-1] != found.tokens[0][0][-1]


def test_task_weight_refuses_negative_and_infinite_weights():
    transform = task_weight(weight=told)
    for rewards in ([1.0], [0.3, 0.3]):
        group = group_of(2.0, len(rewards))
        found = apply(transform, group, group_norm()(group, make_scores(rewards)))
        assert not any(adv.any() for own in found.tokens for adv in own)
    for wrong in (-1.0, float("nan"), float("inf")):
        group = group_of(wrong)
        with pytest.raises(TaskError, match="give a finite number of 0 or more"):
            apply(transform, group, group_norm()(group, make_scores([1.0, 0.0])))
