import numpy as np

from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group
from handaxe.training.stages.parts.searched_reward import SearchedReward

TEXT = "def compute_reward(before, after):\n    return 5.0, {}"


def test_searched_reward_scores_by_the_fallback_until_it_has_a_program():
    group = make_group(size=2)
    reward = SearchedReward(outcome(lambda one: 0.25))
    assert reward(group).outcome.tolist() == [0.25, 0.25]
    reward.text = TEXT
    turns = np.array([len(one.turns) for one in group])
    np.testing.assert_array_equal(reward(group).outcome, 5.0 * turns)


def test_searched_reward_keeps_its_program_in_its_state():
    reward, other = SearchedReward(outcome(lambda one: 0.0)), SearchedReward(outcome(lambda one: 0.0))
    reward.text = TEXT
    other.load_state_dict(reward.state_dict())
    assert other.text == TEXT
