"""The study, with the packaged policy in the place of the cold-start checkpoint."""

import pytest

import handaxe.papers.rlm_blueprint as study
from handaxe.models.load import load


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "start_policy", lambda world: load("tiny"))
        return study.rlm_blueprint(tasks=1, seeds=2, tokens=12, trees=1, second=1, iterations=1, max_tokens=6)(3)


def test_every_search_has_figures_with_intervals(figures):
    for name in ("x1", "greedy", "sample", "best_of"):
        assert 0 <= figures[f"solved/{name}"] <= 1 and figures[f"tokens/{name}"] > 0
    assert "gain/x1" not in figures and figures["gain/greedy/low"] <= figures["gain/greedy"]
    assert "separation/gain/low" in figures


def test_two_children_of_the_only_expansion_are_targets(figures):
    assert figures["targets"] == 2
