import pytest

from handaxe.papers.helpsteer2_preference.helpsteer2_losses import GAINS, LOSSES, STAGED, _figures, helpsteer2_losses

MODELS = (*LOSSES, *STAGED)


def test_gains_are_differences_of_equal_seeds():
    columns = {f"pair/{name}": [0.5, 0.7] for name in MODELS} | {"pair/scaled": [0.6, 0.9]}
    found = _figures(columns)
    assert found["gain/scaled/plain"] == pytest.approx(0.15, abs=1e-9)
    assert found["gain/scaled/plain/low"] < 0.15 < found["gain/scaled/plain/high"]
    assert found["gain/combined/scaled"] == pytest.approx(-0.15, abs=1e-9)


def test_every_model_ranks_held_out_rollouts():
    found = helpsteer2_losses(seeds=1, tasks=2, samples=3, held_out=2, epochs=1)(5)
    assert {f"pair/{name}" for name in MODELS} <= found.keys()
    assert {f"gain/{a}/{b}" for a, b in GAINS} <= found.keys()
    assert all(0 <= found[f"best/{name}"] <= 4 for name in (*MODELS, "random"))
