"""Values of a search with known answers: the true reward of a finished rollout, a value model elsewhere."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import STOPPED, Group

__all__ = ["KnownEnds", "known_ends"]


def known_ends(*, outcome: Reward, judge: StepJudge | None = None) -> KnownEnds:
    """Judge finished rollouts by rule, and other turns by a value model, for the generation of training data.

        q_k = judge's score of turn k            0 without a judge
        q_K = 2 outcome - 1                      last turn of a finished rollout with an outcome

    Args:
        outcome: correctness of an answer, 0 to 1.
        judge: value model with scores in [-1, 1].

    Returns:
        A StepJudge.

    Example:
        scores 0.2, 0.4 of a finished rollout with outcome 1  ->  0.2, 1

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), evaluation of terminal nodes by the solution.
    Differs: nothing.
    """
    return KnownEnds(outcome, judge)


class KnownEnds:
    """See `known_ends`."""

    def __init__(self, outcome: Reward, judge: StepJudge | None):
        self._outcome = outcome
        self._judge = judge

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] a sibling."""
        nothing = tuple(np.zeros(len(one.turns)) for one in group)
        found = nothing if self._judge is None else self._judge.score_steps(group)
        outcome_G = self._outcome(group).outcome
        known = []
        for one, own_N, outcome in zip(group, found, outcome_G, strict=True):
            value_N = np.array(own_N, np.float64)
            if len(value_N) and one.ending != STOPPED and not np.isnan(outcome):
                value_N[-1] = 2 * outcome - 1
            known.append(value_N)
        return tuple(known)
