import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.rex_rag.mask_where import eligible, mask_where
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory

CONTRACT = [{}, {"keep": lambda one: one.scores.outcome > 0.3}]


def rated(named, *, trained=None):
    group = make_group(trajectories=[make_trajectory(layouts=["Ut pp"]) for _ in range(3)])
    scores = make_scores([1.0, 0.0, 0.5], eligible=named)
    return make_rated(group=group, scores=scores, trained=trained)


def test_mask_where_masks_ineligible_siblings():
    one = rated(np.array([True, False, True]))
    (found,) = mask_where()([one])
    assert found.trained.tolist() == [True, False, True]
    assert found.group is one.group and found.scores is one.scores and found.advantages is one.advantages
    assert one.trained.tolist() == [True] * 3


def test_masked_siblings_stay_masked():
    (found,) = mask_where()([rated(np.array([True, True, False]), trained=[False, True, True])])
    assert found.trained.tolist() == [False, True, False]


def test_all_siblings_are_eligible_by_default():
    one = rated(None)
    assert eligible(one).tolist() == [True] * 3 and mask_where()([one])[0].trained.all()


def test_mask_where_takes_a_predicate():
    (found,) = mask_where(keep=lambda one: one.scores.outcome < 0.7)([rated(None)])
    assert found.trained.tolist() == [False, True, True]


@pytest.mark.parametrize("answer", [np.ones(2, bool), np.ones(3), True])
def test_a_predicate_without_one_bool_per_sibling_is_refused(answer):
    with pytest.raises(InputError, match="for 3 siblings of task .*give one bool each"):
        mask_where(keep=lambda one: answer)([rated(None)])
