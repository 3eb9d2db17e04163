"""Shares what an attempt came to among its turns, more to those that a judge found to be of its kind."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.parts.step_signs import step_signs

__all__ = ["consistent_share"]


def consistent_share(
    *, base: Reward, judge: StepJudge, inconsistent: float = 0.2, correct_above: float = 0.5
) -> Reward:
    """Share 1 among the turns of a right attempt, and -1 among those of a wrong one.

        s_i = 1 where base_i > correct_above, else -1
        w_k = 1 where the label of turn k agrees with s_i, else `inconsistent`
        turns_i[k] = s_i * w_k / sum_l w_l        outcome_i = 0;  s_i for an attempt without a turn

    So good turns of a right attempt gain the most, and bad turns of a wrong one lose the most. A label of 0 agrees.

    Args:
        base: what tells right from wrong.
        judge: labels turns; only the sign is read.
        inconsistent: weight of a turn whose label disagrees, in [0, 1]; 0.2 in the paper.
        correct_above: right is a base reward strictly above this.

    Returns:
        A reward whose turns, per trajectory [N], add up to 1 or -1; they are also the turn channel "shares", what the
        judge said is "judged", and the base is the channel "base". Where every weight is 0, turns share alike.

    Raises:
        InputError: a weight out of range, a base reward with per-turn values, a judge that is no step judge.

    Example:
        right, labels 1, 1, -1  ->  0.4545, 0.4545, 0.0909;  wrong, labels -1, 1  ->  -0.8333, -0.1667

    Paper: arXiv:2511.10395 (AgentEvolver), the allocation scheme of its released code.
    Differs: nothing.
    """
    if not 0 <= inconsistent <= 1:
        raise InputError(f"consistent_share has inconsistent={inconsistent}; give a weight from 0 to 1")

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        right_G = outcome_only(parts["base"], "base").outcome > correct_above
        turns = []
        for sign_N, right in zip(step_signs(parts["judged"].turns or (), right_G), right_G, strict=True):
            whole = 1.0 if right else -1.0
            weight_N = np.where(sign_N == whole, 1.0, inconsistent)
            weight_N = weight_N if weight_N.any() else np.ones(len(weight_N))
            turns.append(whole * weight_N / max(weight_N.sum(), 1e-300))
        silent_G = np.array([not one.turns for one in group], bool)
        outcome_G = np.where(silent_G, np.where(right_G, 1.0, -1.0), 0.0)
        return Scores(outcome_G, turns=tuple(turns), turn_channels={"shares": tuple(turns)})

    return Combined({"base": base, "judged": judged_steps(judge=judge)}, merge)
