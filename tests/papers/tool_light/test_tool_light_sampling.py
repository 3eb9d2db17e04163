"""The study of sampling, with the packaged policy in the place of the cold-start checkpoint."""

import pytest

import handaxe.papers.tool_light.tool_light_sampling as study
from handaxe.models.load import load


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "start_policy", lambda world: load("tiny"))
        return study.tool_light_sampling(tasks=12, seeds=2, samples=3, max_tokens=32)(5)


@pytest.mark.slow
def test_every_figure_has_an_interval(figures):
    names = {name.removesuffix("/low").removesuffix("/high") for name in figures}
    assert names == {
        "calls_gap",
        "change",
        "entropy/after",
        "entropy/first",
        "saving",
        "tokens_per_chain/guided",
        "tokens_per_chain/vanilla",
    }
    for name in ("entropy/first", "saving", "tokens_per_chain/guided", "tokens_per_chain/vanilla"):
        assert figures[f"{name}/low"] <= figures[name] <= figures[f"{name}/high"]


def test_means_of_differences_are_differences_of_means(figures):
    difference = figures["entropy/after"] - figures["entropy/first"]
    assert figures["change"] == pytest.approx(difference, abs=1e-9, nan_ok=True)  # NaN if no rollout has two turns
    assert figures["entropy/first"] > 0 and 1 <= figures["tokens_per_chain/guided"] <= 4 * 32
