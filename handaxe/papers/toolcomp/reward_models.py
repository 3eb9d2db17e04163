"""Outcome and process reward models, fitted on the same rollouts, and scores of rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from handaxe.core.protocols import Engine
from handaxe.core.records import RatedGroup
from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.reward_model import RewardModel, reward_model
from handaxe.ops.aggregates import AGGREGATES, Aggregate
from handaxe.worlds.fact_chains import judged_labels

__all__ = ["CHOICES", "Unit", "fit_reward_model", "rollout_scores"]

Unit = Literal["trajectory", "action", "step"]
"""Unit of a label and a score: the whole trajectory (outcome), or a turn without or with the replies to the turn."""
READS: Mapping[Unit, Literal["end", "turns", "replies"]] = {"trajectory": "end", "action": "turns", "step": "replies"}
CHOICES: tuple[Aggregate, ...] = ("min", "max", "mean", "prod", "last")
"""Aggregates of step probabilities that are compared."""


def fit_reward_model(
    engine: Engine, groups: Sequence[RatedGroup], *, unit: Unit, epochs: int = 2, learning_rate: float = 1e-3
) -> RewardModel:
    """Fit a copy of the policy with a head to labels of rollouts or of steps, by binary cross-entropy.

        trajectory   one label a rollout, correct if the answer is: an outcome reward model
        action       a label for each step up to the first incorrect one, read after the last token of the turn
        step         the same, read after the replies to the turn

    Args:
        engine: of the policy; its copy is trained.
        groups: rollouts with outcomes 0 and 1.
        unit: of labels and scores.
        epochs: passes over the rollouts.
        learning_rate: of AdamW.

    Returns:
        A judge with probabilities as scores.

    Raises:
        InputError: an engine without twins.

    Example:
        verdicts 1, -1, 0 of a wrong rollout  ->  label 0 for the trajectory; labels 1 and 0 for the steps

    Paper: arXiv:2501.01290 (ToolComp), outcome and process reward models by classification.
    Differs: the number of steps of the optimizer is equal, too.
    """
    steps = None if unit == "trajectory" else exact_steps(verdicts=judged_labels)
    judge = reward_model(
        reads=READS[unit], steps=steps, squash=True, batch_size=4, fit_epochs=epochs, learning_rate=learning_rate
    )
    judge.begin(engine)
    judge.fit([(one.group, one.scores) for one in groups])
    return judge


def rollout_scores(judge: RewardModel, groups: Sequence[RatedGroup], *, unit: Unit) -> dict[str, list[np.ndarray]]:
    """Score rollouts: by the outcome model, or by each aggregate of the step probabilities.

    Args:
        judge: fitted for the unit.
        groups: rollouts of one task each.
        unit: of the judge.

    Returns:
        Name of an aggregate ("outcome" for an outcome model) -> [G] of each group. A rollout without a turn scores 0.

    Example:
        step probabilities 0.9, 0.2, 0.95  ->  min 0.2, max 0.95, mean 0.683, prod 0.171, last 0.95

    Paper: arXiv:2501.01290 (ToolComp), aggregates of step scores.
    Unconfirmed: the aggregates that the paper compares; from memory.
    """
    if unit == "trajectory":
        return {"outcome": [judge.score(one.group) for one in groups]}
    steps = [judge.score_steps(one.group) for one in groups]
    return {name: [_aggregated(own, name) for own in steps] for name in CHOICES}


def _aggregated(steps: Sequence[Any], name: Aggregate) -> np.ndarray:
    return np.array([AGGREGATES[name](own_N) if len(own_N) else 0.0 for own_N in steps])
