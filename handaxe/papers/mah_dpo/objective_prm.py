"""Labels of steps for each objective, and the process reward model of an objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from handaxe import judges, losses
from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Labelled, StepJudge
from handaxe.core.records import Trajectory
from handaxe.papers.mah_dpo.objective_pairs import OBJECTIVES

if TYPE_CHECKING:
    from handaxe.judges.reward_model import RewardModel

__all__ = ["Verdicts", "explained_labels", "objective_prm", "step_labels"]

Verdicts = Callable[[Trajectory], np.ndarray]
"""(trajectory) -> [N] correctness of each turn by rule: 1, -1, or 0 for neither."""


def step_labels(labelled: Sequence[Labelled], objective: str, *, verdicts: Verdicts, limit: int = 24) -> list[Labelled]:
    """Label every turn of rollouts with the score of the turn by one objective, from 0 to 1.

        correct  y_k = (verdict_k + 1) / 2                 verifiable, by rule
        brief    y_k = max(0, 1 - tokens_k / limit)        the objective's own score of the turn

    Args:
        labelled: groups of the policy's rollouts; outcomes stay unchanged.
        objective: a name of `OBJECTIVES`.
        verdicts: rule of the world.
        limit: tokens of a turn at most, >= 1.

    Returns:
        The groups, with labels in `Scores.turns`.

    Raises:
        InputError: an unknown objective, or a limit below 1.

    Example:
        turns of 6 and 30 tokens with verdicts 1, -1, limit 24  ->  correct 1, 0;  brief 0.75, 0

    Paper: arXiv:2510.01167 (MAH-DPO), process rewards of verifiable and non-verifiable objectives in one form.
    Differs: the paper has values of sampled continuations in mathematics, and preferences or labels of responses
    elsewhere; here a step is scored alone.
    """
    if objective not in OBJECTIVES or limit < 1:
        raise InputError(
            f"step_labels takes an objective of {', '.join(OBJECTIVES)} and a limit of 1 token or more, not "
            f"{objective!r} and {limit}"
        )

    def values(one: Trajectory) -> np.ndarray:
        if objective == "correct":
            return (np.asarray(verdicts(one), np.float64) + 1) / 2
        tokens_N = np.array([float(turn.stop - turn.start) for turn in one.turns])
        return np.maximum(0.0, 1 - tokens_N / limit)

    return [(group, replace(scores, turns=tuple(values(one) for one in group))) for group, scores in labelled]


def objective_prm(engine: Engine, lessons: Sequence[Labelled]) -> RewardModel:
    """Train the process reward model of an objective; nothing but the labels depends on the objective.

        L = mean over labelled turns of (s_k - y_k)^2          s_k: head of the state after the last token of turn k

    Args:
        engine: of the policy; the model is a copy with a head, and the policy stays unchanged.
        lessons: of `step_labels`.

    Returns:
        A trained StepJudge, whose scores of turns are predicted labels.

    Raises:
        InputError: no lesson, or an engine without copies.

    Example:
        scores 0.5, 0.5 for labels 1, 0  ->  L = 0.25

    Paper: arXiv:2510.01167 (MAH-DPO), squared error to values of steps, as in the released code (math_acc_value.py).
    Differs: all weights are trained, and the paper's is a head on a frozen process reward model. Preferences of
    non-verifiable objectives are replaced by labels, so that both objectives have one loss.
    """
    if not lessons:
        raise InputError("there is no labelled rollout for a process reward model: give at least one")
    model = judges.reward_model(
        reads="turns",
        aggregate="mean",
        loss=losses.preference.label_regression(labels=("correct",)),  # the judge's name of every label
        batch_size=4,
        fit_epochs=3,
        learning_rate=1e-3,
        learns=False,
    )
    model.begin(engine)
    model.fit(lessons)
    return model


def explained_labels(judge: StepJudge, lessons: Sequence[Labelled]) -> float:
    """Compute the share of the variance of labels of turns that a judge explains.

        R^2 = 1 - sum_k (s_k - y_k)^2 / sum_k (y_k - mean y)^2

    Args:
        judge: of turns.
        lessons: of `step_labels`, unseen by the judge.

    Returns:
        At most 1, below 0 if the mean label is better, NaN for equal labels.

    Example:
        labels 1, 0 and scores 0.75, 0.25  ->  1 - 0.125 / 0.5 = 0.75

    Idea: a process reward model should predict steps better than the mean label, before it guides decoding.
    """
    score_K = np.concatenate([np.zeros(0), *(own for group, _ in lessons for own in judge.score_steps(group))])
    label_K = np.concatenate([np.zeros(0), *(own for _, scores in lessons for own in scores.turns or ())])
    spread = float(((label_K - label_K.mean()) ** 2).sum()) if len(label_K) else 0.0
    return 1 - float(((score_K - label_K) ** 2).sum()) / spread if spread else float("nan")
