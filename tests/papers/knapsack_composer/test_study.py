import pytest

from handaxe.papers.knapsack_composer import knapsack_composer

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")


@pytest.mark.slow
def test_the_study_compares_selections_within_the_budget():
    found = knapsack_composer(orders=2, seeds=2, tasks=40, fitted=6)(900)
    assert found["most_spent"] <= 1 and 0 < found["low"] < found["high"] <= 3
    for place in ("honest/small", "honest/large", "faulty/small", "faulty/large"):
        for rival in ("retrieval", "similarity", "unprobed", "greedy", "optimum"):
            gain = found[f"{place}/online"] - found[f"{place}/{rival}"]
            saved = found[f"{place}/{rival}/spent"] - found[f"{place}/online/spent"]
            assert found[f"{place}/gain/{rival}"] == pytest.approx(gain, abs=1e-9)
            assert found[f"{place}/saved/{rival}"] == pytest.approx(saved, abs=1e-9)
        assert found[f"{place}/gain/optimum"] <= 0
