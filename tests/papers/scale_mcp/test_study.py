import pytest
from helpers.count_words import count_words

from handaxe.papers import scale_mcp as folder
from handaxe.papers.scale_mcp import WEIGHTS, scale_mcp

pytest.importorskip("mcp")
pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")


@pytest.mark.slow
def test_the_study_compares_rankings_agents_and_indexes(monkeypatch):
    requests = folder.labelled_requests("test")
    single = [one for one in requests if len(one.needed) == 1][:2]
    several = [one for one in requests if len(one.needed) > 1][:2]
    monkeypatch.setattr(folder, "labelled_requests", lambda split: (*single, *several))
    monkeypatch.setattr(folder, "embed", count_words)
    found = scale_mcp(singles=2, multis=2, tools=16, share=0.2)(900)
    assert found["sync/mismatches"] == 0 and found["sync/releases"] >= 1 and found["stale/mismatches"] > 0
    assert found["gain/tdwa"] == pytest.approx(found["tdwa_all/ndcg"] - found["dense/ndcg"], abs=1e-9)
    assert all(f"tdwa_{name}/recall" in found for name in WEIGHTS)
    gain = found["agent/sufficient"] - found["once/sufficient"]
    assert found["gain/agent"] == pytest.approx(gain, abs=1e-9) and found["once/held"] <= 5
    assert 0 < found["sync/embedded"] < 1
