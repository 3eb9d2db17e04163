import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_group, make_scores

LAB = "marks grades of another reward; see the methods"
CONTRACT = [{"reward": lambda group: make_scores([len(one.turns) / 3 for one in group])}]


def graded(*outcome):
    return lambda group: make_scores(outcome)


def test_partial_matches_its_example():
    assert rewards.partial(reward=graded(0, 0.3, 1))(make_group(size=3)).outcome.tolist() == [0, 1, 0]


def test_partial_reads_the_maximum_and_ignores_rounding():
    scores = rewards.partial(reward=graded(0.5, 0.25, 0.5 - 1e-12, 1e-12, -1.0), most=0.5)(make_group(size=5))
    assert scores.outcome.tolist() == [0, 1, 0, 0, 0]


def test_partial_equals_a_slow_loop():
    value_G = np.round(np.random.default_rng(0).uniform(-0.5, 1.5, 40), 1)
    found = rewards.partial(reward=graded(*value_G))(make_group(size=40)).outcome
    assert found.tolist() == [1.0 if 0 < value < 1 else 0.0 for value in value_G]


def test_partial_rejects_a_maximum_of_0_and_values_of_turns():
    with pytest.raises(InputError, match="most is 0"):
        rewards.partial(reward=graded(1), most=0)
    with pytest.raises(InputError, match="per-turn"):
        rewards.partial(reward=lambda group: make_scores([1.0], turns=[[1.0, 0.0]]))(make_group(size=1))
