"""Constants of the method robo_dopamine, read by the tests of every method (tests/papers)."""

import pytest
from helpers.methods import made

pytest.importorskip("minigrid")
SHORT = ["--episodes", "16", "--pairs", "200"]
LAB = "a stage fits its model of progress on frozen states of the policy"
ASKS_MODEL = True


def test_the_forms_differ_in_the_rewards_of_turns_alone():
    methods = {form: made("robo_dopamine", "--form", form) for form in ("shaping", "level", "none")}
    assert {len(one.stages) for one in methods.values()} == {1}
    for form, method in methods.items():
        (model,) = method.learners
        assert model._form == form and model._gamma == 0.99
