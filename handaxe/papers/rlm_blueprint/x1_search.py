"""Search of x1, with a value model or with known answers, and the value model."""

from __future__ import annotations

from handaxe import judges, losses, rollouts
from handaxe.core.protocols import Rollout, StepJudge
from handaxe.judges.reward_model import RewardModel
from handaxe.papers.rlm_blueprint.blueprint_score import blueprint_score
from handaxe.rollouts.search.value_tree import Roll

__all__ = ["GAMMA", "q_model", "x1_search"]

GAMMA = 0.96
"""Discount of a turn, as in the released code."""


def q_model(*, epochs: int = 3) -> RewardModel:
    """Make the value model: a copy of the policy with a head, fitted to values of turns in [-1, 1] by squared error.

    Args:
        epochs: passes over the data of a fit.

    Example:
        prediction 0.5 at the target 0.12: 0.38^2 = 0.1444

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), phase 1 of the value model.
    Differs: nothing known.
    """
    loss = losses.preference.label_regression(labels=("correct",))
    return judges.reward_model(
        reads="turns", loss=loss, batch_size=4, fit_epochs=epochs, learning_rate=1e-3, learns=False
    )


def x1_search(
    *, judge: StepJudge, max_turns: int, tokens: int | None = None, iterations: int = 32, alpha: float = 0.0
) -> Rollout:
    """Make the search of x1: two children an expansion, temporal differences, and the path of the best children.

        q of a new child = (1 - alpha) judge + alpha judge at the end of a simulation        alpha 0: no simulation

    The search ends when a finished leaf is selected, which is the answer; else the greedy path answers.

    Args:
        judge: value model, or `known_ends`.
        max_turns: of a trajectory.
        tokens: sampled tokens of a search; None for no limit.
        iterations: most expansions.
        alpha: weight of a simulation, 0 to 1; 0.5 with simulations in the released code.

    Example:
        x1_search(judge=q_model(), max_turns=8, tokens=200) with `group_size=1`: a group is a tree

    Paper: arXiv:2501.11223 (Reasoning Language Models: A Blueprint), as in the released code: num_new_children 2, c1
    1.25, c2 19652, gamma 0.96, lr_td 1, one simulation a node.
    Differs: without a finished leaf the greedy path answers, where the code follows the selection score.
    """
    return rollouts.search.value_search(
        judge=judge,
        select=blueprint_score(),
        back_up=rollouts.search.visit_mean(gamma=GAMMA),
        children=2,
        first_visits=1,
        roll=Roll(turns=max_turns, weight=alpha, every=True, last=True) if alpha else None,
        answer="path",
        iterations=iterations,
        tokens=tokens,
        max_turns=max_turns,
    )
