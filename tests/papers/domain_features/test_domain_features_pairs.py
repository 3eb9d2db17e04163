import pytest

from handaxe.papers.domain_features.domain_features_pairs import _figures, domain_features_pairs


def test_gains_are_differences_of_equal_seeds():
    columns = {f"pair/{name}/{n}": [0.5, 0.7] for name in ("linear", "text") for n in (8, 24)}
    columns |= {"pair/features/8": [0.75, 0.75], "pair/features/24": [0.9, 0.9]}
    found = _figures(columns, (8, 24))
    assert found["gain/text/8"] == pytest.approx(0.15, abs=1e-9)
    assert found["fewer"] == pytest.approx(0.15, abs=1e-9)


def test_every_model_is_measured_after_every_number_of_pairs():
    found = domain_features_pairs(seeds=1, sizes=(2, 4), tasks=4, samples=4, held_out=5, presented=4)(3)
    assert {f"pair/{name}/{n}" for name in ("features", "linear", "text") for n in (2, 4)} <= found.keys()
    assert found["pairs"] >= 2
