import pytest

from handaxe.papers.i_mcts import i_mcts

pytest.importorskip("sklearn")


@pytest.mark.slow
def test_the_study_compares_all_searches():
    found = i_mcts(seeds=1, executions=3, samples=5, rows=48)(7)
    for name in ("no_introspection", "no_hybrid", "mcts", "random"):
        gain = found["i_mcts/dev"] - found[f"{name}/dev"]
        assert found[f"gain/{name}"] == pytest.approx(gain, abs=1e-9)
        assert found[f"gain/{name}/low"] <= gain + 1e-9 and gain - 1e-9 <= found[f"gain/{name}/high"]
        assert found[f"{name}/half"] <= found[f"{name}/dev"] + 1e-9
    assert -1 <= found["estimate/correlation"] <= 1 and 0 <= found["direction/size"] <= 1
