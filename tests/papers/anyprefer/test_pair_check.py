import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.anyprefer.pair_check import check_pair


def slow_check(scores, threshold):
    """All ordered pairs, in loops; the first of the greatest difference."""
    known = [(i, score) for i, score in enumerate(scores) if score == score]
    if len(known) < 2:
        return None
    best = known[0]
    worst = known[0]
    for one in known:
        best = one if one[1] > best[1] else best
        worst = one if one[1] < worst[1] else worst
    return best[0], worst[0], best[1] - worst[1], best[1] - worst[1] >= threshold


def test_pairs_of_the_entry_by_hand():
    """[.2, .9, .6] -> (2nd, 1st), gap .7, accepted; [.5, .6, .55] -> gap .1, rejected."""
    found = check_pair(np.array([0.2, 0.9, 0.6]))
    assert found[:2] == (1, 0) and found.reward == pytest.approx(0.7, abs=1e-6) and found.accepted
    found = check_pair(np.array([0.5, 0.6, 0.55]))
    assert found.reward == pytest.approx(0.1, abs=1e-6) and not found.accepted
    assert found.feedback == "best and worst answer differ by 0.10, below 0.50"
    assert check_pair(np.array([0.1, 0.2])).feedback == "the best answer has a score of 0.20, below 0.50"


def test_check_pair_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(200):
        score_G = rng.integers(0, 5, rng.integers(1, 6)) / 4
        score_G[rng.random(len(score_G)) < 0.2] = np.nan
        threshold = float(rng.choice([0.25, 0.5, 1.0]))
        found, wanted = check_pair(score_G, threshold=threshold), slow_check(score_G.tolist(), threshold)
        assert (None if wanted is None else (*found[:3], found.accepted)) == wanted
        accepted += found.accepted
    assert 40 < accepted < 180


def test_too_few_scores_are_no_pair():
    for scores in ([], [0.9], [0.9, np.nan]):
        assert check_pair(np.array(scores, np.float64)).feedback == "fewer than two answers have a score"


def test_bad_input_says_what_to_do():
    for scores, threshold in (([0.1, 0.9], 0.0), ([0.1, 1.9], 0.5), ([-0.1, 0.9], 0.5)):
        with pytest.raises(InputError, match="scores from 0 to 1"):
            check_pair(np.array(scores), threshold=threshold)
