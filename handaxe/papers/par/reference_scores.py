"""Scores of answers of the first policy, by task."""

from __future__ import annotations

import numpy as np

from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.core.records import Task
from handaxe.training.stages.sources import played

__all__ = ["ReferenceScores"]


class ReferenceScores:
    """References of `rewards.win_rate`: a function of the task, filled by a stage.

    The stage plays `count` rollouts at each of `tasks` tasks of the curriculum, with the policy as it is, and keeps
    their scores. A resumed run reads them from the stage's record.

    Args:
        score: a reward whose outcome is kept, such as `judged`.
        tasks: tasks of the curriculum, from its first.
        count: M, answers to a task; 1 to 10 in the paper, where one is enough.

    Example:
        references = ReferenceScores(score=score, tasks=64, count=4); stages=(references.stage,)

    Paper: arXiv:2502.18770 (PAR), references sampled once from the first policy.
    Differs: nothing.
    """

    def __init__(self, *, score: Reward, tasks: int, count: int):
        self._source = played(groups=tasks, group_size=count, arguments={"reward": score})
        self._found: dict[str, np.ndarray] = {}

    def __call__(self, task: Task) -> np.ndarray:
        """[M] scores, empty for a task that the stage did not play."""
        return self._found.get(task.id, np.zeros(0))

    @property
    def scores(self) -> np.ndarray:
        """[N] scores of all references."""
        return np.concatenate([np.zeros(0), *self._found.values()])

    @property
    def stage(self) -> Stage:
        """The stage that fills the references; its metrics are their number and mean."""

        def reference_scores(site: StageContext) -> list[dict[str, float]]:
            for one in self._source(site):
                score_G = np.asarray(one.scores.outcome, np.float64)
                self._found[one.group.task.id] = score_G[~np.isnan(score_G)]
            scores = self.scores
            return [
                {"step": 0.0, "references": float(len(scores)), "mean": float(scores.mean()) if len(scores) else 0.0}
            ]

        return reference_scores
