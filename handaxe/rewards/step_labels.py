"""Rewards each turn, or each run of equal turns, by a judge's label good or bad."""

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward, StepJudge
from handaxe.core.records import Group, Scores
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

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
    """Give each turn a value by its label, good or bad, and keep the outcome of the base.

        l_k = sign of the judge's score of turn k; for a score of 0: 1 in a correct rollout and -1 in a wrong one
        v_k = scale * l_k
              scale * (1 - p) for l_k = 1 and -scale * p for l_k = -1, with adaptive=True
        turns[k] = v_k;  with merge=True v_k in the last turn of each run of equal labels (a thought), 0 in its others

    p is the share of correct siblings: at a low p, wrong steps cost little and correct ones earn much; at a high p the
    reverse. With merge, a step with the label of the last one earns nothing more.

    Args:
        base: correctness reward; its outcome is kept.
        judge: labels turns by the sign of its score; 0 is no label.
        scale: f > 0; 0.2 in AgentEvolver, 1 in TP-GRPO.
        merge: one value a run of equal labels, as in TP-GRPO.
        adaptive: weigh by the group's share of correct rollouts, as in TP-GRPO.
        correct_above: correct is a base reward strictly above this.

    Returns:
        A reward with outcome [G] of the base and turns, per trajectory [N], which are also the turn channel "labels",
        for `turn_norm(channel="labels")`; the channel "base", and the judge's scores as the turn channel "judged".

    Raises:
        InputError: a scale that is not above 0, a base reward with per-turn values, a judge that is no step judge.

    Example:
        labels 1, 1, -1 and -1, 1  ->  turns 0.2, 0.2, -0.2 and -0.2, 0.2
        scale 1, merge, adaptive, one of 4 correct: labels 1, 1, -1, -1, 1  ->  0, 0.75, 0, -0.25, 0.75
        three of 4 correct  ->  0, 0.25, 0, -0.75, 0.25

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
        for sign_N in _signs(parts["judged"].turns or (), right_G):
            value_N = np.where(sign_N > 0, good, bad)
            ends_N = np.append(sign_N[1:] != sign_N[:-1], np.ones(len(sign_N[:1]), bool))
            turns.append(np.where(ends_N, value_N, 0.0) if merge else value_N)
        return Scores(base_G, turns=tuple(turns), turn_channels={"labels": tuple(turns)})

    return Combined({"base": base, "judged": judged_steps(judge=judge)}, merged)


def _signs(labels: Sequence[np.ndarray], right_G: np.ndarray) -> list[np.ndarray]:
    return [
        np.where(own == 0, 1.0 if right else -1.0, np.sign(own)) for own, right in zip(labels, right_G, strict=True)
    ]
