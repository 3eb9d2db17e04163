import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tool_orchestra.mask_by_channel import mask_by_channel
from handaxe.testing.make_records import make_rated, make_scores

CONTRACT = [{}, {"above": 0.5}]


def trained(select, channels, outcome=(1, 2, 3), trained=None):
    (one,) = select(
        [make_rated(scores=make_scores(list(outcome), channels=channels), outcome=outcome, trained=trained)]
    )
    assert one.scores.outcome.tolist() == pytest.approx(list(outcome), nan_ok=True)
    return one.trained.tolist()


def test_mask_by_channel_masks_low_values():
    assert trained(mask_by_channel(channel="format"), {"format": [1, 0, 1]}) == [True, False, True]


def test_the_bound_is_strict_and_masked_siblings_stay_masked():
    channels = {"format": [0.5, 0.6, 0.7]}
    assert trained(mask_by_channel(channel="format", above=0.5), channels) == [False, True, True]
    woken = trained(mask_by_channel(channel="format", above=0.5), channels, trained=[True, False, True])
    assert woken == [False, False, True]


def test_a_channel_of_an_inner_reward_is_found():
    assert trained(mask_by_channel(channel="format"), {"whole/format": [0, 1, 1]}) == [False, True, True]
    with pytest.raises(InputError, match="no channel 'format'"):
        trained(mask_by_channel(channel="format"), {"a/format": [0, 1, 1], "b/format": [1, 1, 1]})
    with pytest.raises(InputError, match="no channel"):
        trained(mask_by_channel(channel="form"), {"format": [1, 1, 1]})
    with pytest.raises(InputError, match="above"):
        mask_by_channel(channel="format", above=np.nan)


def test_without_a_channel_the_reward_counts_and_unscored_siblings_are_masked():
    assert trained(mask_by_channel(above=1), {}) == [False, True, True]
    assert trained(mask_by_channel(), {"x": [1, np.nan, 1]}, outcome=(1, np.nan, 0)) == [True, False, False]


def test_unscored_siblings_are_masked_regardless_of_the_channel():
    found = trained(mask_by_channel(channel="format"), {"format": [1, 1, 0]}, outcome=(np.nan, 1, 1))
    assert found == [False, True, False]
