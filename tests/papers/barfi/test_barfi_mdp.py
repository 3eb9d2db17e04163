import pytest

from handaxe.papers.barfi.barfi_mdp import barfi_mdp


def test_the_study_compares_all_rewards():
    found = barfi_mdp(grids=2, updates=11, processes=1)(900)
    for heuristic in ("helpful", "misleading"):
        for reward in ("primary", "sum", "potential"):
            gain = found[f"{heuristic}/barfi"] - found[f"{heuristic}/{reward}"]
            assert found[f"{heuristic}/gain/{reward}"] == pytest.approx(gain, abs=1e-9)
            assert found[f"{heuristic}/gain/{reward}/low"] <= gain
        assert found[f"{heuristic}/primary"] == pytest.approx(found[f"{heuristic}/potential"], abs=1e-9)
        assert 0 < found[f"{heuristic}/discount"] < 0.95
    assert found["neumann/100"] == pytest.approx(1.0, abs=0.01)
    assert barfi_mdp(grids=2, updates=11, processes=1)(900) == found
