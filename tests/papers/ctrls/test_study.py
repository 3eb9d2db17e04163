"""The study, with the packaged policy instead of the cold-start checkpoint."""

import pytest

import handaxe.papers.ctrls as study
from handaxe.models.load import load


@pytest.fixture(scope="module")
def figures():
    sizes = {"tasks": 1, "seeds": 2, "samples": 2, "candidates": 2, "states": 2, "fitted": 2, "trained": 1, "rounds": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "start_policy", lambda world: load("tiny"))
        return study.ctrls(**sizes, max_tokens=6)(3)


def test_every_arm_has_figures_with_intervals(figures):
    for name in ("explore", "exploit", "fitted", "plain"):
        assert 0 <= figures[f"accuracy/{name}"] <= 1 and figures[f"tokens/{name}"] > 0
    assert figures["gain/paths/low"] <= figures["gain/paths"] == figures["paths/explore"] - figures["paths/exploit"]
    assert figures["tokens/plain"] >= figures["tokens/explore"] - 1
