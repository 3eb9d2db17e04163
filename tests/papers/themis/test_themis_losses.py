import numpy as np
import pytest

from handaxe.papers.themis.pair_accuracy import pair_rows
from handaxe.papers.themis.themis_losses import ARMS, _figures, themis_losses
from handaxe.papers.themis.tool_pairs import DOMAINS


def test_figures_by_hand():
    """Eight pairs, two a domain: full right on six, without results on five, the mean on three."""
    right = {
        "full": np.array([1, 1, 1, 1, 1, 0, 1, 0], bool),
        "no_results": np.array([1, 1, 1, 0, 1, 1, 0, 0], bool),
        "mean": np.array([1, 0, 0, 0, 1, 0, 1, 0], bool),
    }
    found = _figures(right, pair_rows("test", 8, 0))
    assert found["accuracy/full"] == 0.75 and found["accuracy/mean/calculator"] == 1.0
    assert found["gain/no_results"] == pytest.approx(0.125) and found["gain/mean"] == pytest.approx(0.375)
    half = 2.3646243 * np.std([0, 0, 0, 1, 0, -1, 1, 0], ddof=1) / 8**0.5
    assert found["gain/no_results/low"] == pytest.approx(0.125 - half, abs=1e-6)


def test_each_ablation_changes_one_option_of_the_full_model():
    changed = {name: sum(a != b for a, b in zip(arm, ARMS["full"])) for name, arm in ARMS.items()}
    assert changed == {"full": 0, "no_results": 1, "mean": 1}


@pytest.mark.slow
def test_the_study_gives_figures_of_all_arms():
    found = themis_losses(pairs=16, held_out=8, epochs=1)(900)
    for arm in ARMS:
        own = [found[f"accuracy/{arm}/{one}"] for one in DOMAINS]
        assert found[f"accuracy/{arm}"] == pytest.approx(np.mean(own))
        assert 0 <= found[f"reference/{arm}"] <= 1 and found[f"results/{arm}"] > 0
    assert found["results/gap"] == pytest.approx(found["results/no_results"] - found["results/full"])
