import pytest

from handaxe.papers.ftrl.ftrl_weights import ftrl_weights


@pytest.mark.slow
def test_the_study_measures_both_arms():
    found = ftrl_weights(seeds=1, steps=1, model="tiny")(900)
    mean = sum(found[f"{layer}/mlp"] for layer in range(4)) / 4
    assert found["mlp"] == pytest.approx(mean, abs=1e-12) == (found["low_mlp"] + found["high_mlp"]) / 2
    assert found["low_less_high"] == pytest.approx(found["low_mlp"] - found["high_mlp"], abs=1e-12)
    assert 0 < found["permuted/low_mlp"] < 1
