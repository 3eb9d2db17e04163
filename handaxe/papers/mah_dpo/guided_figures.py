"""Figures of guided decoding beside decoding without guidance, as paired differences over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from handaxe.core.protocols import Labelled, StepJudge
from handaxe.core.records import Scores, Trajectory
from handaxe.ops.stats import column_figures

__all__ = ["GuidedArm", "UNGUIDED", "best_rollouts", "guided_arm", "guided_figures"]

UNGUIDED = "unguided"
"""Arm that the others are compared with."""


class GuidedArm(NamedTuple):
    """Results of an arm, each [T] over tasks.

    correct_T   share of correct answers
    tokens_T    tokens of the turns of a rollout
    sampled_T   tokens that were sampled for the answer, with candidates that were not chosen
    turns_T     turns of a rollout
    """

    correct_T: np.ndarray
    tokens_T: np.ndarray
    sampled_T: np.ndarray
    turns_T: np.ndarray


def guided_arm(played: Sequence[Labelled]) -> GuidedArm:
    """Average the rollouts of each task.

    Example:
        a correct rollout with turns of 9 and 2 tokens, and 40 sampled tokens  ->  correct 1, tokens 11, sampled 40,
        turns 2
    """
    return GuidedArm(
        np.array([float(scores.outcome.mean()) for _, scores in played]),
        np.array([np.mean([_tokens(one) for one in group]) for group, _ in played]),
        np.array([np.mean([one.usage.tokens for one in group]) for group, _ in played]),
        np.array([np.mean([len(one.turns) for one in group]) for group, _ in played]),
    )


def best_rollouts(played: Sequence[Labelled], judge: StepJudge) -> GuidedArm:
    """Choose the rollout of each task with the greatest mean score of its turns; the first of equal ones.

    All rollouts of the task count as sampled.

    Example:
        rollouts of 11 and 20 tokens with mean scores 0.2 and 0.7  ->  the second one: tokens 20, sampled 31
    """
    chosen = list[Labelled]()
    for group, scores in played:
        mean_G = [float(own.mean()) if len(own) else -np.inf for own in judge.score_steps(group)]
        best = int(np.argmax(mean_G))
        chosen.append((replace(group, trajectories=(group[best],)), Scores(scores.outcome[best : best + 1])))
    sampled_T = np.array([float(sum(one.usage.tokens for one in group)) for group, _ in played])
    return guided_arm(chosen)._replace(sampled_T=sampled_T)


def guided_figures(arms: Mapping[str, GuidedArm]) -> dict[str, float]:
    """Compare every arm with decoding without guidance, with 95 % intervals over tasks.

    Args:
        arms: name -> results on the same tasks, with the arm "unguided".

    Returns:
        The figures of the study `mah_dpo_guided` about arms.

    Example:
        two tasks, correct 1, 1 guided and 0.5, 0.25 unguided  ->  gain/correct/ARM 0.625

    Paper: arXiv:2510.01167 (MAH-DPO), guided decoding by objective.
    Differs: nothing known.
    """
    columns = dict[str, np.ndarray]()
    for name, own in arms.items():
        columns |= {f"correct/{name}": own.correct_T, f"tokens/{name}": own.tokens_T}
        columns |= {f"sampled/{name}": own.sampled_T, f"turns/{name}": own.turns_T}
    guided = [name for name in arms if name != UNGUIDED]
    gains = {f"gain/correct/{name}": (f"correct/{name}", f"correct/{UNGUIDED}") for name in guided}
    gains |= {f"saved/{name}": (f"tokens/{UNGUIDED}", f"tokens/{name}") for name in guided}
    return column_figures(columns, gains)


def _tokens(one: Trajectory) -> float:
    return float(sum(turn.stop - turn.start for turn in one.turns))
