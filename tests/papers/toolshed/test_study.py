import pytest
from helpers.count_words import count_words

from handaxe.papers import toolshed as folder
from handaxe.papers.toolshed import GAINS, toolshed

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")


def test_gains_are_differences_of_arms(monkeypatch):
    requests = folder.labelled_requests("test")
    single = [one for one in requests if len(one.needed) == 1][:3]
    several = [one for one in requests if len(one.needed) > 1][:3]
    monkeypatch.setattr(folder, "labelled_requests", lambda split: (*single, *several))
    monkeypatch.setattr(folder, "embed", count_words)
    found = toolshed(singles=3, multis=3, tools=30, sizes=(20,))(900)
    for kind in ("single", "multi"):
        for name, (arm, other) in GAINS.items():
            gain = found[f"{kind}/{arm}"] - found[f"{kind}/{other}"]
            assert found[f"{kind}/gain/{name}"] == pytest.approx(gain, abs=1e-9)
    for size in (20, 30):
        recalls = [found[f"{size}/{count}/recall"] for count in (1, 5, 20)]
        assert recalls[0] <= recalls[-1] and found[f"{size}/20/read"] > found[f"{size}/1/read"]
    assert found["sweep/made"] == pytest.approx(found["30/5/made"] - found["30/1/made"], abs=1e-9)
