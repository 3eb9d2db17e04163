"""Constants of the method domain_features, read by the tests of every method (tests/papers)."""

from helpers.methods import made

from handaxe.judges.feature_net import FeatureNet
from handaxe.judges.reward_model import RewardModel

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_option_chooses_what_the_reward_model_sees():
    assert isinstance(made("domain_features").learners[0], FeatureNet)
    assert isinstance(made("domain_features", "--sees", "text").learners[0], RewardModel)
