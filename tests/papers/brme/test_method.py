"""Constants of the method brme, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--fit-groups", "2", "--fit-epochs", "1"]
ASKS_MODEL = True
LAB = "a stage fits its reward model on rollouts of the policy; see reward_model"


def test_the_weight_is_an_option():
    (model,) = [one for one in made("brme", "--nominal-weight", "1").learners if hasattr(one, "nominal_weight")]
    assert model.nominal_weight == 1
