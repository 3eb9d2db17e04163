"""Constants of the method smartsnap, read by the tests of every method (tests/papers), and its options."""

import pytest
from helpers.methods import made

from handaxe.papers.smartsnap import SCHEDULES

pytest.importorskip("bm25s")
ABOUT_REWARDS = True
MAY_TIE = "by the paper's rule a correct answer earns -1 without complete evidence, and votes of the rule may err"


def test_schedules_of_the_tool_bonus():
    assert [SCHEDULES["none"](200)(step) for step in (0, 300)] == [0, 0]
    assert [SCHEDULES["constant"](200)(step) for step in (0, 300)] == [1, 1]
    values = [SCHEDULES["cosine"](200)(step) for step in (0, 50, 100, 200, 300)]
    assert values == pytest.approx([1, 0.853553, 0.5, 0, 0], abs=1e-6)


def test_the_base_keeps_all_other_roles():
    method, base = made("smartsnap"), made("grpo_no_kl", "--world", "submitted_hops")
    assert method.stages == base.stages and type(method.rollout) is type(base.rollout)
