import pytest

from handaxe.papers import hai_chart as folder
from handaxe.papers.hai_chart import hai_chart

pytest.importorskip("vega_datasets")


def test_the_study_compares_searches_and_sessions(monkeypatch):
    tables = folder.chart_tables()
    small = [one for one in tables if one.name in ("wheat", "stocks", "iowa-electricity")]
    monkeypatch.setattr(folder, "chart_tables", lambda: small)
    found = hai_chart(seeds=2, sessions=2, rounds=2, evaluations=10, hints=3)(900)
    for name in ("tree", "random", "mixed"):
        gain = found["best/graph/50"] - found[f"best/{name}/50"]
        assert found[f"best/gain/{name}/50"] == pytest.approx(gain, abs=1e-9)
        assert found[f"best/gain/{name}/50/low"] <= gain <= found[f"best/gain/{name}/50/high"]
    for name in ("random", "none", "learned"):
        assert found[f"hit/gain/{name}"] == pytest.approx(found["hit/coverage"] - found[f"hit/{name}"], abs=1e-9)
