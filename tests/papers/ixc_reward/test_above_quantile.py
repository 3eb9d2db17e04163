import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.ixc_reward.above_quantile import above_quantile
from handaxe.testing.make_records import make_trajectory
from handaxe.training.sft.supervised import as_rated

CONTRACT = []


class Known:
    def __init__(self, *scores):
        self.scores = {str(n): score for n, score in enumerate(scores)}

    def score(self, group):
        return np.array([self.scores[one.id] for one in group])


def trained(scores, quantile):
    rated = [as_rated([make_trajectory(id=str(n))]) for n in range(len(scores))]
    return [bool(one.trained[0]) for one in above_quantile(judge=Known(*scores), quantile=quantile)(rated)]


def test_the_lowest_quarter_is_dropped():
    assert trained([-1, 0.2, 0.5, 1.1], 0.25) == [False, True, True, True]


@pytest.mark.parametrize("quantile", [0.0, 0.2, 0.5, 0.99])
def test_equals_a_loop_over_ranks(quantile):
    scores = np.random.default_rng(0).normal(size=11)
    lowest = sorted(scores)[: int(quantile * 11)]
    assert trained(scores.tolist(), quantile) == [score not in lowest for score in scores]


def test_nothing_to_select_and_wrong_shares():
    assert above_quantile(judge=Known())([]) == []
    with pytest.raises(InputError, match="share from 0"):
        above_quantile(judge=Known(), quantile=1.0)
