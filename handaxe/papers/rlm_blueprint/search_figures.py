"""Figures of searches: correct answers, separation by a value model, and advantages of correct turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.papers.rlm_blueprint.search_values import search_advantages
from handaxe.rollouts.search.play_search import Played
from handaxe.worlds.world import World

__all__ = ["advantage_gaps", "right_answers", "separation"]


def right_answers(world: World, found: Sequence[Played]) -> np.ndarray:
    """[plays] 1 where a play has a correct answer, else 0.

    Idea: accuracy of a search is that of its answer, not of its best trajectory.

    Example:
        outcomes 0, 1 with the answer 1  ->  1;  without an answer  ->  0
    """
    right = [one.answer is not None and world.correct(one.group).outcome[one.answer] > 0.5 for one in found]
    return np.array(right, np.float64)


def separation(world: World, value: StepJudge, found: Sequence[Played], blocks: int) -> np.ndarray:
    """[blocks] share of pairs of a correct and an incorrect rollout of a block of plays in the order of their values.

        mean over pairs of 1[v_correct > v_incorrect] + 1/2 1[v_correct = v_incorrect]        v: value of the last turn

    Blocks without such a pair have 0.5.

    Idea: the area under the ROC curve of a value model at finished rollouts; 0.5 is chance.

    Example:
        correct 0.8, 0.3 and incorrect 0.3  ->  (1 + 0.5) / 2 = 0.75
    """
    score_I = [np.array([own[-1] if len(own) else -1.0 for own in value.score_steps(one.group)]) for one in found]
    right_I = [world.correct(one.group).outcome > 0.5 for one in found]
    size = len(found) // blocks
    shares = []
    for k in range(0, size * blocks, size):
        score_R = np.concatenate(score_I[k : k + size])
        right_R = np.concatenate(right_I[k : k + size])
        gap_P = np.subtract.outer(score_R[right_R], score_R[~right_R])
        shares.append(float((gap_P > 0).mean() + (gap_P == 0).mean() / 2) if gap_P.size else 0.5)
    return np.array(shares)


def advantage_gaps(world: World, found: Sequence[Played]) -> np.ndarray:
    """[trees] mean advantage of correct turns less mean advantage of incorrect turns, of trees with both.

    Correctness is by the world's verdicts on single turns, which the search never reads.

    Idea: advantages of a search are labels of steps from answers alone, as in arXiv:2501.11223 (x1).

    Example:
        advantages 0.36, 0.1 of correct turns and -1.08 of an incorrect one  ->  0.23 + 1.08 = 1.31
    """
    verdicts = world.need("verdicts")
    gaps = []
    for one in found:
        advantage_T = np.concatenate([np.zeros(0), *search_advantages(one.group)])
        verdict_T = np.concatenate([np.zeros(0), *[verdicts(trajectory) for trajectory in one.group]])
        known_T = np.isfinite(advantage_T)
        right = advantage_T[known_T & (verdict_T > 0)]
        wrong = advantage_T[known_T & (verdict_T < 0)]
        if len(right) and len(wrong):
            gaps.append(float(right.mean() - wrong.mean()))
    return np.array(gaps)
