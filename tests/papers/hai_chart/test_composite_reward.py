import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_tables import make_table
from handaxe.papers.hai_chart.composite_reward import ChartReward, RewardParts
from handaxe.papers.hai_chart.user_preference import UserPreference

TABLE = make_table("pets", {"pet": ["a", "b"], "age": [1, 2]}, {"pet": "categorical", "age": "numerical"})
QUERY = ("bar", "pet", "sum", "age", "none", "none", "none")


class Fixed(ChartReward):
    def parts(self, query):
        return RewardParts(0.8, 1.0)


class Liked(UserPreference):
    def score(self, query):
        return 0.3


def test_the_docstring_example():
    reward = Fixed(TABLE, np.zeros(18))
    assert reward.score(QUERY) == pytest.approx(0.9, abs=1e-9)
    assert reward.score(QUERY, Liked()) == pytest.approx(0.7, abs=1e-9)
    weighted = Fixed(TABLE, np.zeros(18), mixture=(1, 0, 3))
    assert weighted.score(QUERY, Liked()) == pytest.approx((0.8 + 0.9) / 4, abs=1e-9)


def test_the_parts_of_a_chart():
    found = ChartReward(TABLE, np.zeros(18)).parts(QUERY)
    assert found == RewardParts(0.5, 1.0)  # sigmoid(0), and a readable bar


@pytest.mark.parametrize("mixture", [(0, 0, 1), (-1, 2, 0)])
def test_bad_weights_are_an_input_error(mixture):
    with pytest.raises(InputError, match="mixture"):
        ChartReward(TABLE, np.zeros(18), mixture=mixture)
