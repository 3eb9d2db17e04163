from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Scores
from handaxe.core.usage import Usage
from handaxe.papers.mah_dpo.guided_figures import GuidedArm, best_rollouts, guided_arm, guided_figures
from handaxe.testing.make_records import make_group, make_trajectory


class Fixed:
    """Judge with given scores of turns."""

    def __init__(self, scores):
        self.scores = scores

    def score_steps(self, group):
        return tuple(np.array(own, float) for own in self.scores)


def played(layouts, outcomes, sampled=None):
    sides = [make_trajectory(layouts=[one], sample=i) for i, one in enumerate(layouts)]
    if sampled is not None:
        sides = [replace(one, total_usage=Usage(count, 0, 0.0, 0.0, 0, 0)) for one, count in zip(sides, sampled)]
    return make_group(trajectories=sides), Scores(np.array(outcomes, float))


def arm(correct, tokens):
    return GuidedArm(np.array(correct), np.array(tokens), 2 * np.array(tokens), np.ones(len(tokens)))


def test_arm_by_hand():
    """Forced tokens of a chosen turn count; tokens of the tool do not."""
    found = guided_arm([played(["Ut" + "f" * 9 + "Tff"], [1], sampled=[40])])
    assert [own.tolist() for own in found] == [[1.0], [11.0], [40.0], [2.0]]


def test_arm_is_the_mean_over_rollouts_of_a_task():
    found = guided_arm([played(["Utppp", "Utp Tpp Tpp"], [1, 0]), played(["Utpp"], [1])])
    assert [own.tolist() for own in found] == [[0.5, 1.0], [4.0, 2.0], [4.0, 2.0], [2.0, 1.0]]


def test_best_rollout_by_hand():
    """Mean scores 0.2 and 0.7; a sum of scores would choose the first of two turns in the second task."""
    given = [played(["Ut" + "p" * 11, "Ut" + "p" * 20], [1, 0])]
    found = best_rollouts(given, Fixed([[0.2], [0.7]]))
    assert [own.tolist() for own in found] == [[0.0], [20.0], [31.0], [1.0]]
    found = best_rollouts([played(["Utp Tp", "Utppp"], [0, 1])], Fixed([[0.4, 0.4], [0.5]]))
    assert found.correct_T.tolist() == [1.0]


def test_best_rollout_of_equal_scores_is_the_first():
    found = best_rollouts([played(["Utp", "Utpp"], [0, 1])], Fixed([[0.5], [0.5]]))
    assert found.tokens_T.tolist() == [1.0] and found.sampled_T.tolist() == [3.0]


def test_figures_by_hand():
    """Gains 0.5 and 0.75; tokens fall by 4 and rise by 2: saved 1, +-12.706 * sqrt(18 / 2)."""
    facts = guided_figures({"unguided": arm([0.5, 0.25], [10.0, 8.0]), "sum": arm([1.0, 1.0], [6.0, 10.0])})
    assert facts["gain/correct/sum"] == pytest.approx(0.625)
    assert facts["saved/sum"] == pytest.approx(1.0)
    assert facts["saved/sum/low"] == pytest.approx(1 - 12.706 * 3, abs=1e-2)
    assert facts["sampled/sum"] == pytest.approx(16.0) and facts["turns/sum"] == 1
    assert "gain/correct/unguided" not in facts and facts["correct/unguided"] == pytest.approx(0.375)


def test_gains_equal_a_loop_over_tasks():
    rng = np.random.default_rng(0)
    arms = {name: arm(rng.random(7), rng.random(7) * 30) for name in ("unguided", "a", "b")}
    facts = guided_figures(arms)
    for name in ("a", "b"):
        gain = saved = 0.0
        for k in range(7):
            gain += (arms[name].correct_T[k] - arms["unguided"].correct_T[k]) / 7
            saved += (arms["unguided"].tokens_T[k] - arms[name].tokens_T[k]) / 7
        assert facts[f"gain/correct/{name}"] == pytest.approx(gain)
        assert facts[f"saved/{name}"] == pytest.approx(saved)
