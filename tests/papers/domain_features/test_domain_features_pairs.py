import pytest

from handaxe.papers.domain_features.domain_features_pairs import domain_features_pairs


@pytest.mark.slow
def test_every_model_is_measured_after_every_number_of_pairs():
    found = domain_features_pairs(seeds=1, sizes=(2, 4), tasks=4, samples=4, held_out=5, presented=4)(3)
    assert {f"pair/{name}/{n}" for name in ("features", "linear", "text") for n in (2, 4)} <= found.keys()
    assert found["pairs"] >= 2
    gain = found["pair/features/4"] - found["pair/linear/4"]
    assert found["gain/linear/4"] == pytest.approx(gain, abs=1e-9)
    assert found["fewer"] == pytest.approx(found["pair/features/2"] - found["pair/text/4"], abs=1e-9)
