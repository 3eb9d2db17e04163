import numpy as np
import pytest

from handaxe.papers.implicit_prm.implicit_prm_objectives import _figures, _Judged, weighted_vote

TRUTH = np.array([0.0, 0.0, 1.0])
ANSWERS = ["a", "a", "b"]


def test_votes_match_the_docstring_example():
    assert weighted_vote(ANSWERS, np.array([0.2, 0.3, 0.6]), TRUTH) == 1.0
    assert weighted_vote(ANSWERS, np.ones(3), TRUTH) == 0.0


def test_answers_with_equal_sums_share():
    assert weighted_vote(["a", "b", "a"], np.array([0.1, 0.3, 0.2]), np.array([1.0, 0.0, 1.0])) == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_votes_equal_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    answers = [str(k) for k in rng.integers(0, 4, 12)]
    truth_G, weight_G = np.array([float(one == "2") for one in answers]), rng.random(12)
    totals: dict[str, float] = {}
    for one, weight in zip(answers, weight_G):
        totals[one] = totals.get(one, 0.0) + weight
    assert weighted_vote(answers, weight_G, truth_G) == float(max(totals, key=totals.get) == "2")


def test_figures_by_hand():
    """One judge prefers the correct rollout by the sum, and a wrong one by the minimum; the wrong answer has more votes
    unless they are weighted.
    """
    good = (np.array([-3.0, 0.0]), np.array([-3.0]), np.array([-1.0, -1.0]))
    poor = (np.array([0.0]), np.array([-1.0]), np.array([-2.0]))
    steps = {"ce": good, "dpo": poor, "nca": good, "kto": good, "one": poor}
    least = (np.array([-0.5, -9.0]), np.array([-0.9]), np.array([3.0, -2.0]))
    played = [_Judged(TRUTH, ANSWERS, steps), _Judged(TRUTH, ANSWERS, {**steps, "kto": least})]
    found = _figures(played, {"shepherd": np.array([0.0, 1.0])})
    assert (found["single"], found["majority"], found["oracle"]) == (pytest.approx(1 / 3), 0.0, 1.0)
    assert (found["ce/sum"], found["ce/min"], found["ce/vote"]) == (1.0, 1.0, 1.0)
    assert (found["kto/sum"], found["kto/min"], found["dpo/sum"]) == (1.0, 0.5, 0.0)
    assert found["gain/ce"] == pytest.approx(2 / 3) and found["gain/one"] == pytest.approx(-1 / 3)
    assert (found["shepherd"], found["ce/shepherd"]) == (0.5, 0.5)
    assert (found["vote/ce"], found["vote/majority"], found["ce/dpo"]) == (0.0, 1.0, 1.0)
