import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.one_reward.drawn_criterion import chance_of_yes, drawn_criterion
from handaxe.worlds.canvas.canvas import canvas
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))
WORLD = canvas(slips=0.0)
CONTRACT = []
LAB = "scores drawings of the world canvas alone"


class Known:
    """P(Yes) 0.8 by one criterion and 0.4 by the other for the first of two pictures."""

    def scores(self, pictures, criterion):
        chance = {"followed": 0.8, "kept": 0.4}[criterion]
        return np.array([np.log(chance / (1 - chance)), 0.0])[: len(pictures)]


def group(task):
    one = demonstrate(WORLD.env(()), task, WORLD.expert, format=FORMAT)
    return Group(task, (one, one))


def test_chance_of_yes_by_hand_and_by_a_loop():
    np.testing.assert_allclose(chance_of_yes(np.array([1.0, 0.0])), [0.73106, 0.26894], atol=1e-5)
    assert chance_of_yes(np.array([3.0])).tolist() == [0.5]
    score_G = np.random.default_rng(0).normal(size=5)
    for i, found in enumerate(chance_of_yes(score_G)):
        others = [1 / (1 + np.exp(score_G[j] - score_G[i])) for j in range(5) if j != i]
        assert found == pytest.approx(np.mean(others), abs=1e-9)


def test_criteria_of_equal_weight_give_their_mean_in_expectation():
    """P(Yes) 0.8 and 0.4 with equal weights: 0.6."""
    reward = drawn_criterion(judge=Known, weights={"followed": 1.0, "kept": 1.0})
    found = [reward(group(task)) for task in WORLD.tasks("train", 60, 0)]
    first = [float(one.outcome[0]) for one in found]
    assert {round(one, 6) for one in first} == {0.8, 0.4}
    assert np.mean(first) == pytest.approx(0.6, abs=0.08)
    assert all(one.channels["followed"][0] == pytest.approx(0.8) for one in found)


def test_a_criterion_of_weight_zero_is_never_drawn():
    reward = drawn_criterion(judge=Known, weights={"followed": 1.0, "kept": 0.0})
    for task in WORLD.tasks("train", 10, 0):
        assert reward(group(task)).outcome[0] == pytest.approx(0.8)


@pytest.mark.parametrize("weights", [{}, {"followed": 0.0}, {"followed": 2.0, "kept": -1.0}])
def test_weights_without_a_positive_sum_are_errors(weights):
    with pytest.raises(InputError, match="numbers from 0 with a sum above 0"):
        drawn_criterion(judge=Known, weights=weights)
