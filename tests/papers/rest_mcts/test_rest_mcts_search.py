"""The study of searches, with the packaged policy in the place of the cold-start checkpoint."""

import pytest

import handaxe.papers.rest_mcts.rest_mcts_search as study
from handaxe.models.load import load


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "start_policy", lambda world: load("tiny"))
        return study.rest_mcts_search(tasks=1, seeds=2, tokens=8, samples=1, training=1, trees=1, max_tokens=6)(3)


def test_every_search_has_figures_with_intervals(figures):
    for name in ("mcts", "best_of", "greedy", "single"):
        assert 0 <= figures[f"solved/{name}"] <= 1 and figures[f"tokens/{name}"] > 0
        assert figures[f"rate/{name}/low"] <= figures[f"rate/{name}"]
    assert "gain/mcts" not in figures


def test_gain_is_a_difference_of_means(figures):
    difference = figures["solved/mcts"] - figures["solved/best_of"]
    assert figures["gain/best_of"] == pytest.approx(difference, abs=1e-9)
