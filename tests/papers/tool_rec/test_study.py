import pytest

from handaxe.papers import tool_rec as folder
from handaxe.papers.tool_rec import GAINS, tool_rec
from handaxe.papers.tool_rec.compare_tools import ARMS


def test_the_study_compares_arms_and_domains(films, monkeypatch):
    monkeypatch.setattr(folder, "load_films", lambda: films)
    found = tool_rec(users=24, held=2)(900)
    for domain in ("rich", "sparse", "permuted"):
        for name, (arm, other) in GAINS.items():
            gain = found[f"{domain}/{arm}/ndcg"] - found[f"{domain}/{other}/ndcg"]
            assert found[f"{domain}/gain/{name}"] == pytest.approx(gain, abs=1e-9)
            assert found[f"{domain}/gain/{name}/low"] <= gain <= found[f"{domain}/gain/{name}/high"]
        assert found[f"{domain}/alone/rounds"] == 2 and found[f"{domain}/random/rounds"] == 4
        assert all(found[f"{domain}/{arm}/rounds"] <= 7 for arm in ARMS)
        assert found[f"{domain}/alone/ndcg"] == found["rich/alone/ndcg"]
    gap = found["rich/gain/tools"] - found["sparse/gain/tools"]
    assert found["gain/rich_sparse"] == pytest.approx(gap, abs=1e-9)
    assert found["rich/rule/rounds"] > found["sparse/rule/rounds"]
