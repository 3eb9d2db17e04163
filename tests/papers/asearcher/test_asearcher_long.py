"""Constants of the method asearcher_long, read by the tests of every method (tests/papers), and its limits."""

import pytest
from helpers.methods import made

pytest.importorskip("bm25s")

UNBOUNDED = {"training/step_seconds": "a time, which has no level"}


def test_training_and_evaluation_have_limits_of_their_own():
    method = made("asearcher_long", "--train-turns", "5")
    assert method.async_config.staleness == 4 and method.evaluate_rollout is not method.rollout
