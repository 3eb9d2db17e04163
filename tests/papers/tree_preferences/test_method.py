"""Constants of the method tree_preferences, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "8", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_both_topologies_have_one_fit():
    for topology in ("tree", "chain"):
        assert len(made("tree_preferences", "--topology", topology).stages) == 1
