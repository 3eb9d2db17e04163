import pytest
from helpers.count_words import count_words

from handaxe.papers import mem_tool as folder
from handaxe.papers.mem_tool import MODES, mem_tool

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")


def test_gaps_and_gains_are_differences(monkeypatch):
    monkeypatch.setattr(folder, "embed", count_words)
    found = mem_tool(turns=8, tools=30, limit=20)(900)
    for mode in MODES:
        gap = abs(found[f"{mode}/strong/removal"] - found[f"{mode}/weak/removal"])
        assert found[f"gap/{mode}"] == pytest.approx(gap, abs=1e-9)
        assert 0 <= found[f"{mode}/weak/complete"] <= 1 and found[f"{mode}/weak/held"] <= 20
    gain = found["hybrid/strong/complete"] - found["workflow/strong/complete"]
    assert found["gain/hybrid"] == pytest.approx(gain, abs=1e-9)
