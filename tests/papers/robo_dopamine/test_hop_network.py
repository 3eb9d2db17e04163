import numpy as np
import pytest

from handaxe.papers.robo_dopamine.hop_network import fit_network

pytest.importorskip("sklearn")


def test_the_network_fits_a_bent_function_and_is_seeded():
    rng = np.random.default_rng(0)
    input_PF = rng.normal(size=(3000, 2))
    hop_P = np.abs(input_PF[:, 0]) - 0.5 * input_PF[:, 1]
    found = fit_network(input_PF, hop_P, seed=3)
    assert {name: value.shape for name, value in found.items()} == {
        "in": (2, 64), "in_bias": (64,), "out": (64, 1), "out_bias": (1,),
    }  # fmt: skip
    predicted_P = (np.maximum(input_PF @ found["in"] + found["in_bias"], 0) @ found["out"] + found["out_bias"])[:, 0]
    assert np.abs(predicted_P - hop_P).mean() < 0.2 * np.abs(hop_P - hop_P.mean()).mean()
    again = fit_network(input_PF, hop_P, seed=3)
    assert all(np.array_equal(found[name], again[name]) for name in found)
