import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.video_reward import GAINS, video_reward
from handaxe.papers.video_reward.attribute_reward import LOSSES

pytest.importorskip("PIL")


def test_gains_are_differences_of_equal_seeds():
    columns = {f"{name}/{link}": [0.5, 0.7] for name in ("three", "strict") for link in LOSSES}
    found = column_figures(columns | {"three/ties": [0.6, 0.9]}, GAINS)
    assert found["gain/ties/dropped"] == pytest.approx(0.15) and found["strict_gain/ties/regression"] == 0


def test_every_figure_of_a_short_study():
    found = video_reward(seeds=1, pairs=12, held_out=40, steps=3)(5)
    assert found["leak/separate"] == 0 < found["leak/shared"] and 0 < found["tied"] < 1
    assert all(0 <= found[f"three/{link}"] <= 1 for link in LOSSES)
