import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.rex_rag.mask_where import eligible, mask_where
from handaxe.testing.records import make_group, make_rated, make_scores, make_trajectory

CONTRACT = [{}, {"keep": lambda one: one.scores.outcome > 0.3}]


def rated(named, *, trained=None):
    group = make_group(trajectories=[make_trajectory(layouts=["Ut pp"]) for _ in range(3)])
    scores = make_scores([1.0, 0.0, 0.5], eligible=named)
    return make_rated(group=group, scores=scores, trained=trained)


def test_example():
    one = rated(np.array([True, False, True]))
    (found,) = mask_where()([one])
    assert found.trained.tolist() == [True, False, True]
    assert found.group is one.group and found.scores is one.scores and found.advantages is one.advantages
    assert one.trained.tolist() == [True] * 3


def test_who_did_not_train_does_not_begin_to():
    (found,) = mask_where()([rated(np.array([True, True, False]), trained=[False, True, True])])
    assert found.trained.tolist() == [False, True, False]


def test_where_nobody_is_named_all_are_eligible():
    one = rated(None)
    assert eligible(one).tolist() == [True] * 3 and mask_where()([one])[0].trained.all()


def test_a_function_of_ones_own():
    (found,) = mask_where(keep=lambda one: one.scores.outcome < 0.7)([rated(None)])
    assert found.trained.tolist() == [False, True, True]


@pytest.mark.parametrize("answer", [np.ones(2, bool), np.ones(3), True])
def test_an_answer_that_is_not_one_bool_a_sibling(answer):
    with pytest.raises(InputError, match="for 3 siblings of task .*give one bool each"):
        mask_where(keep=lambda one: answer)([rated(None)])
