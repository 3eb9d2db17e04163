"""How well a judge of steps agrees with another one on attempts as they are played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import Rated

__all__ = ["StepAgreement", "step_agreement"]


def step_agreement(*, judge: StepJudge, truth: StepJudge) -> StepAgreement:
    """Make a learner that learns nothing and reports how a judge does on the steps of each training step's attempts.

        a step is called wrong where the judge's score is below 0, and is wrong where that of the truth is
        precision  share of the steps called wrong that are; recall  share of the wrong ones that are called so
        f1         2 precision recall / (precision + recall), 0 where no wrong step is found
        right      share of all steps on which both say the same; wrong  share that are wrong
        a step of which the truth says 0 counts nowhere

    Args:
        judge: in question.
        truth: what it is compared with, such as a world's verdicts.

    Returns:
        A learner without a state; metrics learner/step_agreement/NAME, none for a step without attempts.

    Example:
        judge 0.2, -0.4, -0.1, 0.3 and truth 1, -1, 1, -1: precision 0.5, recall 0.5, f1 0.5, right 0.5, wrong 0.5

    Idea: benchmarks of process rewards ask which steps are wrong; see arXiv:2412.06559 (ProcessBench).
    """
    return StepAgreement(judge, truth)


class StepAgreement:
    """See `step_agreement`."""

    def __init__(self, judge: StepJudge, truth: StepJudge):
        self._judge = judge
        self._truth = truth

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Compare; nothing is learned."""
        del step
        nothing = [np.zeros(0)]
        said = np.concatenate(nothing + [own for one in groups for own in self._judge.score_steps(one.group)])
        is_so = np.concatenate(nothing + [own for one in groups for own in self._truth.score_steps(one.group)])
        said, is_so = said[is_so != 0], is_so[is_so != 0]
        if not len(is_so):
            return {}
        called, wrong = said < 0, is_so < 0
        found = float((called & wrong).sum())
        return {
            "precision": found / max(1.0, float(called.sum())),
            "recall": found / max(1.0, float(wrong.sum())),
            "f1": 2 * found / max(1.0, float(called.sum() + wrong.sum())),
            "right": float((called == wrong).mean()),
            "wrong": float(wrong.mean()),
        }

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        del state
