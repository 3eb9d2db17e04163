import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.reward_dance.reward_dance_context import GAINS, reward_dance_context

pytest.importorskip("PIL")


def test_gains_are_differences_of_equal_seeds():
    columns = {
        "pair/head": [0.5, 0.5],
        "pair/none": [0.5, 0.75],
        "pair/reference": [0.75, 0.75],
        "pair/chain": [1.0, 1.0],
    }
    found = column_figures(columns, GAINS)
    assert found["gain/reference"] == pytest.approx(0.125, abs=1e-9)
    assert found["gain/chain"] == found["gain/head"] == pytest.approx(0.25, abs=1e-9)


@pytest.mark.slow
def test_every_arm_has_figures():
    found = reward_dance_context(seeds=1, labels=16, epochs=1, held_out=4, drawings=3, pool=2, skill=1)(0)
    for arm in ("head", "none", "reference", "chain"):
        assert 0 <= found[f"pair/{arm}"] <= 1 and found[f"spread/{arm}"] >= 0
