"""Learner for metrics: agreement of a step judge with the truth on training rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import RatedGroup

__all__ = ["StepAgreement", "step_agreement"]


def step_agreement(*, judge: StepJudge, truth: StepJudge) -> StepAgreement:
    """Make a learner without updates that reports the precision and recall of a judge for incorrect steps.

        a step is flagged if the judge's score is below 0, and is incorrect if the truth's score is
        precision  share of flagged steps that are incorrect; recall  share of incorrect steps that are flagged
        f1         2 precision recall / (precision + recall), 0 without a hit
        right      share of steps on which both agree; wrong  share of incorrect steps
        steps with a truth of 0 are excluded

    Args:
        judge: judge under test.
        truth: exact judge, such as a world's verdicts.

    Returns:
        A learner without a state; metrics learner/step_agreement/NAME, none for a step without rollouts.

    Example:
        judge 0.2, -0.4, -0.1, 0.3 and truth 1, -1, 1, -1: precision 0.5, recall 0.5, f1 0.5, right 0.5, wrong 0.5

    Idea: benchmarks of process rewards ask for incorrect steps; see arXiv:2412.06559 (ProcessBench).
    """
    return StepAgreement(judge, truth)


class StepAgreement:
    """Learner made by `step_agreement`."""

    def __init__(self, judge: StepJudge, truth: StepJudge):
        self._judge = judge
        self._truth = truth

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Compare judge and truth; nothing is learned."""
        del step
        nothing = [np.zeros(0)]
        judged = np.concatenate(nothing + [own for one in groups for own in self._judge.score_steps(one.group)])
        true = np.concatenate(nothing + [own for one in groups for own in self._truth.score_steps(one.group)])
        judged, true = judged[true != 0], true[true != 0]
        if not len(true):
            return {}
        flagged, wrong = judged < 0, true < 0
        found = float((flagged & wrong).sum())
        return {
            "precision": found / max(1.0, float(flagged.sum())),
            "recall": found / max(1.0, float(wrong.sum())),
            "f1": 2 * found / max(1.0, float(flagged.sum() + wrong.sum())),
            "right": float((flagged == wrong).mean()),
            "wrong": float(wrong.mean()),
        }

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
