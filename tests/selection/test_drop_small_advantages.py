from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.selection.drop_small_advantages import drop_small_advantages
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores

CONTRACT = [{}, {"least": 0.4}]


def judged(rewards, *, given=None):
    group = make_group(trajectories=[make_trajectory(layouts=["Ut pp t p"]) for _ in rewards])
    scores = make_scores(rewards)
    one = make_rated(group=group, scores=scores, trained=given)
    return replace(one, advantages=leave_one_out()(group, scores))


def test_drop_small_advantages_masks_advantages_near_zero():
    one = judged([1.0, 0.5, 0.0])
    assert [own[0].max() + own[0].min() for own in one.advantages.tokens] == [0.75, 0.0, -0.75]
    (found,) = drop_small_advantages()([one])
    assert found.trained.tolist() == [True, False, True]
    assert found.advantages is one.advantages and found.scores is one.scores


@pytest.mark.parametrize("seed", range(4))
def test_drop_small_advantages_equals_a_slow_loop(seed):
    group = random_group(seed, size=6)
    one = make_rated(group=group, scores=random_scores(group, seed), trained=[True] * 5 + [False])
    rng = np.random.default_rng(seed)
    tokens = tuple(tuple(s.mask * rng.normal(size=len(s)) * 0.02 for s in t.sequences) for t in group)
    one = replace(one, advantages=replace(one.advantages, tokens=tokens))
    largest = [max((abs(x) for array in own for x in array), default=0.0) for own in tokens]
    wanted = [a >= 0.03 and b for a, b in zip(largest, one.trained.tolist(), strict=True)]
    assert drop_small_advantages(least=0.03)([one])[0].trained.tolist() == wanted


def test_untrained_tokens_do_not_count():
    one = judged([1.0, 0.0])
    trains = tuple(tuple(np.zeros(len(s), bool) for s in t.sequences) for t in one.group)
    one = replace(one, advantages=replace(one.advantages, trains=trains))
    assert drop_small_advantages()([one])[0].trained.tolist() == [False, False]


def test_equal_rewards_and_lone_siblings_do_not_train():
    assert not drop_small_advantages()([judged([0.5, 0.5, 0.5])])[0].trained.any()
    assert not drop_small_advantages()([judged([0.5])])[0].trained.any()  # leave_one_out gives it 0
    assert not drop_small_advantages()([judged([1.0, 0.0], given=[False, False])])[0].trained.any()


@pytest.mark.parametrize("least", [0.0, -0.1, float("inf"), float("nan")])
def test_a_bound_that_is_not_positive_and_finite_is_an_error(least):
    with pytest.raises(InputError, match="bound"):
        drop_small_advantages(least=least)
