import math

import pytest

from handaxe.papers.dllm_agent import dllm_agent


@pytest.fixture(scope="module")
def figures():
    return dllm_agent(demos=2, steps=1, batch_size=1, tasks=2, threshold=0.05, draws=100)(0)


def test_the_study_measures_all_policies(figures):
    for policy in ("autoregressive", "aligned", "naive"):
        assert 0 <= figures[f"{policy}/pass@1"] <= 1 and figures[f"{policy}/malformed"] >= 0
        assert figures[f"{policy}/forwards"] >= figures[f"{policy}/turns"] >= 1
    assert all(map(math.isfinite, figures.values()))


def test_gains_are_differences_of_accuracies(figures):
    for policy in ("autoregressive", "naive"):
        gain = figures["aligned/pass@1"] - figures[f"{policy}/pass@1"]
        assert figures[f"gain/{policy}"] == pytest.approx(gain, abs=1e-9)
        assert figures[f"gain/{policy}/low"] <= gain <= figures[f"gain/{policy}/high"]


def test_the_bounds_agree(figures):
    assert figures["bound/error"] == pytest.approx(abs(figures["bound/sampled"] / figures["bound/exact"] - 1))
    assert figures["bound/error"] < 0.5
