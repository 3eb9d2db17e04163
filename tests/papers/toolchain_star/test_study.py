import pytest

from handaxe.papers.toolchain_star import toolchain_star

pytest.importorskip("bfcl_eval")


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_both_worlds_within_the_budget():
    found = toolchain_star(tasks=2, seeds=2, calls=4, candidates=2, memory=8)(900)
    assert found["most_calls"] <= 4
    for world in ("journeys", "toolbox"):
        for search in ("greedy", "vote", "beam", "depth", "mcts", "memory"):
            gain = found[f"{world}/astar"] - found[f"{world}/{search}"]
            assert found[f"{world}/gain/{search}"] == pytest.approx(gain, abs=1e-9)
            assert found[f"{world}/gain/{search}/low"] <= gain <= found[f"{world}/gain/{search}/high"]
