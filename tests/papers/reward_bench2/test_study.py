import numpy as np
import pytest

from handaxe.evaluation.reward_model_family import FamilyMember
from handaxe.papers.reward_bench2 import COLUMNS, _best, _figures, _ties
from handaxe.papers.reward_bench2.bench_domains import best_of_four, tied_prompts
from handaxe.worlds.fact_chains import fact_chains

WORLD = fact_chains()
TASKS = WORLD.tasks("test", 10, 0)


class Truth:
    """Scores of the rule, squeezed into a range."""

    def __init__(self, low, high):
        self._low, self._high = low, high

    def score(self, group):
        return self._low + (self._high - self._low) * WORLD.correct(group).outcome


def test_a_perfect_judge_has_full_marks_and_a_constant_one_a_quarter():
    groups, ties = best_of_four(WORLD, TASKS, domain="evidence", seed=0), tied_prompts(WORLD, TASKS, seed=0)
    good, even = FamilyMember("orm-8-0", Truth(0.1, 0.9)), FamilyMember("orm-8-0", Truth(0.5, 0.5))
    assert _best(good, groups) == 1.0 and _best(even, groups) == pytest.approx(0.25)
    assert _ties(good, ties) == pytest.approx(1.01) and _ties(even, ties) == pytest.approx(0.0, abs=0.011)


def test_figures_by_hand():
    """Means .3, .5 and .7 with bon .4, .5 and .6: correlation 1."""
    found = _figures({f"orm-{n}-0": {**dict.fromkeys(COLUMNS, one), "bon": bon}
                      for n, (one, bon) in enumerate([(0.3, 0.4), (0.5, 0.5), (0.7, 0.6)])})  # fmt: skip
    assert found["mean"] == pytest.approx(0.5) and found["mean/orm-2-0"] == pytest.approx(0.7)
    assert found["r/mean"] == pytest.approx(1.0) and found["r/mean_ties"] == pytest.approx(0.0)
    assert found["r/mean/low"] <= 1.0 and np.isfinite(found["r/mean/high"])
