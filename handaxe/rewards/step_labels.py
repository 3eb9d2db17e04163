"""Rewards each turn, or each run of turns alike, for whether a judge calls it good or bad."""

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined
from handaxe.rewards.parts.step_signs import step_signs

__all__ = ["step_labels"]


def step_labels(
    *,
    base: Reward,
    judge: StepJudge,
    scale: float = 0.2,
    merge: bool = False,
    adaptive: bool = False,
    correct_above: float = 0.5,
) -> Reward:
    """Give each turn a value by its label, good or bad, and the outcome of the base beside.

        l_k = sign of what the judge says of turn k; 1 in a right attempt and -1 in a wrong one where it says 0
        v_k = scale * l_k
              scale * (1 - p) for l_k = 1 and -scale * p for l_k = -1, with adaptive=True
        turns[k] = v_k;  with merge=True v_k in the last turn of each run of equal labels (a thought), 0 in its others

    p is the share of right siblings: while few are right, wrong steps cost little and right ones are worth much; later
    the other way round. Merged, a step that says again what the last one said earns nothing more.

    Args:
        base: what tells right from wrong; its outcome is taken.
        judge: labels turns; 0 says nothing of one. Only the sign is read.
        scale: f > 0; 0.2 in AgentEvolver, 1 in TP-GRPO.
        merge: one value a run of equal labels, as TP-GRPO has it.
        adaptive: by the group's share of right attempts, as TP-GRPO has it.
        correct_above: right is a base reward strictly above this.

    Returns:
        A reward with outcome [G] of the base and turns, per trajectory [N], which are also the turn channel "labels",
        for `turn_norm(channel="labels")`; the channel "base", and what the judge said as the turn channel "judged".

    Raises:
        InputError: a scale that is not above 0, a base reward with per-turn values, a judge that is no step judge.

    Example:
        labels 1, 1, -1 and -1, 1  ->  turns 0.2, 0.2, -0.2 and -0.2, 0.2
        scale 1, merge, adaptive, one of 4 right: labels 1, 1, -1, -1, 1  ->  0, 0.75, 0, -0.25, 0.75
        three of 4 right  ->  0, 0.25, 0, -0.75, 0.25

    Paper: arXiv:2511.10395 (AgentEvolver), the process score of ADCA-GRPO; arXiv:2507.23317 (TP-GRPO), merge and
    adaptive.
    Unconfirmed: the values of TP-GRPO's thoughts; its abstract alone was read.
    Differs: any judge may label, where both papers ask a language model that knows the outcome.
    """
    if not scale > 0:
        raise InputError(f"step_labels has scale={scale}; give a number above 0")

    def merged(_: Group, parts: dict[str, Scores]) -> Scores:
        base_G = outcome_only(parts["base"], "base").outcome
        right_G = base_G > correct_above
        p = float(right_G.mean()) if adaptive and len(right_G) else 0.5
        good, bad = (scale * (1 - p), -scale * p) if adaptive else (scale, -scale)
        turns = []
        for sign_N in step_signs(parts["judged"].turns or (), right_G):
            value_N = np.where(sign_N > 0, good, bad)
            ends_N = np.append(sign_N[1:] != sign_N[:-1], np.ones(len(sign_N[:1]), bool))
            turns.append(np.where(ends_N, value_N, 0.0) if merge else value_N)
        return Scores(base_G, turns=tuple(turns), turn_channels={"labels": tuple(turns)})

    return Combined({"base": base, "judged": judged_steps(judge=judge)}, merged)
