import numpy as np
import pytest

from handaxe.papers.reward_design.compare_designs import compare_designs, gain_figures
from handaxe.papers.reward_design.navigation import line_key
from handaxe.papers.reward_design.q_learning import QBudget


def test_designed_rewards_keep_optimal_policies_and_are_more_informative():
    found = compare_designs(line_key(length=5), 900, states=1, runs=2, budget=QBudget(steps=200, every=100))
    for reward in ("true", "potential", "sparse", "random", "dense"):
        assert found[f"{reward}/outside"] == 0 and found[reward] <= 1 + 1e-9
    assert found["true/informativeness"] < found["sparse/informativeness"] < 0
    assert found["dense/informativeness"] == pytest.approx(0, abs=1e-3)


def test_gains_are_differences_of_means():
    curves = {"own": np.array([[0.4, 0.6], [0.6, 0.8]]), "other": np.full((2, 2), 0.2)}
    found = gain_figures(curves, "own")
    assert found["own"] == pytest.approx(0.6) and found["own/end"] == pytest.approx(0.7)
    assert found["gain/other"] == pytest.approx(0.4) and found["gain/other/low"] < 0.4
