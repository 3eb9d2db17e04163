import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.ixc_reward.running_scale import running_scale
from handaxe.testing.make_records import make_group

CONTRACT = []
LAB = "scales another reward"


def given(*outcomes):
    queue = [np.array(one, np.float64) for one in outcomes]
    return lambda group: Scores(queue.pop(0))


def test_scaled_by_hand():
    reward = running_scale(reward=given([1, 3], [5, 7]))
    assert reward(make_group(size=2)).outcome == pytest.approx([-1, 1], abs=1e-9)
    found = reward(make_group(size=2))
    assert found.outcome == pytest.approx([1 / 5**0.5, 3 / 5**0.5], abs=1e-9)
    assert found.channels["raw"].tolist() == [5, 7]


def test_equals_the_statistics_of_all_outcomes_and_survives_a_resume():
    drawn = np.random.default_rng(0).normal(3, 2, (6, 4))
    drawn[2, 1] = np.nan
    first, second = running_scale(reward=given(*drawn)), running_scale(reward=given(*drawn[3:]))
    for step, own in enumerate(drawn):
        found = first(make_group(size=4)).outcome
        seen = drawn[: step + 1].ravel()
        slow = (own - np.nanmean(seen)) / np.nanstd(seen)
        np.testing.assert_allclose(found, slow, atol=1e-9)
        if step >= 3:
            np.testing.assert_array_equal(second(make_group(size=4)).outcome, found)
        else:
            second.load_state_dict(first.state_dict())


def test_equal_outcomes_give_0_and_a_wrong_number_raises():
    assert running_scale(reward=given([2, 2]))(make_group(size=2)).outcome.tolist() == [0, 0]
    with pytest.raises(InputError, match="above 0"):
        running_scale(reward=given(), least=0.0)
