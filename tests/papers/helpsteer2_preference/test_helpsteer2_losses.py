import pytest

from handaxe.papers.helpsteer2_preference.helpsteer2_losses import GAINS, LOSSES, STAGED, helpsteer2_losses

MODELS = (*LOSSES, *STAGED)


def test_every_model_ranks_held_out_rollouts():
    found = helpsteer2_losses(seeds=1, tasks=2, samples=3, held_out=2, epochs=1)(5)
    assert {f"pair/{name}" for name in MODELS} <= found.keys()
    for a, b in GAINS:
        assert found[f"gain/{a}/{b}"] == pytest.approx(found[f"pair/{a}"] - found[f"pair/{b}"], abs=1e-9)
    assert all(0 <= found[f"best/{name}"] <= 4 for name in (*MODELS, "random"))
