import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.social_reward import GAINS, MODELS, social_reward

pytest.importorskip("PIL")


def test_gains_are_differences_of_equal_seeds():
    columns = {f"{name}/{model}": [0.5, 0.7] for name in ("pair", "best") for model in MODELS}
    found = column_figures(columns | {"pair/rates": [0.6, 0.9], "best/random": [0.4, 0.4]}, GAINS)
    assert found["gain/rates/counts"] == pytest.approx(0.15) and found["best_gain"] == pytest.approx(0.2)


def test_every_figure_of_a_short_study():
    found = social_reward(seeds=1, prompts=4, pictures=3, held_out=3, members=12, shown=2, steps=3)(5)
    for model in MODELS:
        assert 0 <= found[f"pair/{model}"] <= 1 and 0 <= found[f"signal/{model}"] <= 1
    assert 0 <= found["repeated"] < 1
