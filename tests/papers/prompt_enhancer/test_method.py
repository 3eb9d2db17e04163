"""Constants of the method prompt_enhancer, read by the tests of every method (tests/papers), and its options."""

import numpy as np
import pytest
from helpers.methods import made

from handaxe.testing.make_records import make_group, make_trajectory

pytest.importorskip("PIL")
ABOUT_REWARDS = True


@pytest.mark.parametrize("error", [0.0, 0.4])
def test_the_evaluator_errs_with_the_given_probability(error):
    method = made("prompt_enhancer", "--error", str(error))
    errs = []
    for task in method.world.tasks("train", 20, 0):
        one = make_trajectory(texts=[task.metadata["demonstrated"]], task=task)
        scores = method.reward(make_group(trajectories=[one], task=task))
        errs += scores.channels["errs"].tolist()
        if not error:
            assert scores.outcome.tolist() == scores.channels["aligned"].tolist()
    assert np.mean(errs) == pytest.approx(error, abs=0.1)
