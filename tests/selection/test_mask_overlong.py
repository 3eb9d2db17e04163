import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"reasons": ("length", "turns")}]

ENDINGS = [Ending("completed"), *(Ending("truncated", why) for why in ("length", "turns", "budget"))]


def trained(select, trained=None):
    group = make_group(trajectories=[make_trajectory(ending=ending) for ending in ENDINGS])
    (one,) = select([make_rated(group=group, outcome=[0, 1, 2, 3], trained=trained)])
    assert one.scores.outcome.tolist() == [0, 1, 2, 3]
    return one.trained.tolist()


def test_mask_overlong_masks_rollouts_cut_by_length():
    assert trained(mask_overlong()) == [True, False, True, True]


def test_only_the_given_reasons_are_masked():
    assert trained(mask_overlong(reasons=("turns", "budget"))) == [True, True, False, False]
    assert trained(mask_overlong(reasons=())) == [True] * 4
    for wrong in (("time",), "length"):
        with pytest.raises(InputError, match="reasons"):
            mask_overlong(reasons=wrong)


def test_untrained_rollouts_stay_untrained():
    assert trained(mask_overlong(), [False, True, True, False]) == [False, False, True, False]


def test_a_reason_without_truncation_is_not_masked():
    group = make_group(trajectories=[make_trajectory(ending=Ending("policy_error", "length"))])
    (one,) = mask_overlong()([make_rated(group=group, outcome=[0])])
    assert one.trained.tolist() == [True]
