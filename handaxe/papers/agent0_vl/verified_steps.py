"""Reward from the verifier's verdicts on the steps of a rollout, without a reference answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, inf

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.papers.agent0_vl.two_roles import Step, mean_divergence, solver_steps
from handaxe.rewards.outcome import outcome

__all__ = ["verified_steps"]


def verified_steps(
    *,
    steps: Callable[[Trajectory], Sequence[Step]] = solver_steps,
    confidence: float = 0.7,
    tool: float = 0.3,
    cost: float = 0.05,
    sharpness: float = 10.0,
    gamma: float = 0.99,
    final: float = 1.0,
    divergence: float = 0.0,
) -> Reward:
    """Add the verifier's scores of steps, weighted by confidence, to its verdict on the answer.

        process_t = tool * [calls of step t executed] + score_t * confidence_t - divergence * D_t
        gate_t    = sigmoid(sharpness * (tau - confidence of the first verdict on step t))
        r_t       = process_t - gate_t * cost
        R         = final * [score of the answer > 0] + sum_t gamma^(t - 1) r_t

    Score and confidence are those of the last verdict on a step, so a repaired step earns what its repair is worth and
    pays the gate. A step without a verdict has score and confidence 0. D_t is the divergence of the two roles over the
    tokens of the accepted step (`role_divergence`), which `two_roles(divergence=True)` measures; 0 without a measure.

    Args:
        steps: steps of a trajectory.
        confidence: tau, the threshold of a repair; 0.7 in the paper.
        tool: weight of executed calls; 0.3 in the paper.
        cost: eta, of a repair; 0.05 in the paper.
        sharpness: kappa. Unconfirmed: the paper gives no value.
        gamma: discount of a step; 0.99 in the paper.
        final: alpha, weight of the answer's verdict; 1 in the paper.
        divergence: beta, weight of the divergence of the two roles; 0.01 in the paper.

    Returns:
        A reward with outcome [G]. The task's answer is never read. A trajectory without steps earns 0. With a weight of
        the divergence, channel "divergence" has its mean over the steps with a verdict.

    Raises:
        InputError: gamma or confidence outside 0 to 1, or a divergence below 0 or not finite.

    Example:
        steps (executed, score 0.9, confidence 0.95) and (no call, 0.4, 0.5), kappa 10:
        1 + (1.155 - 0.0038) + 0.99 * (0.200 - 0.0440) = 2.3056
        with D = 0.8 and 0.5 and divergence 0.1: 2.3056 - 0.1 * (0.8 + 0.99 * 0.5) = 2.1761

    Paper: arXiv:2511.19900 (Agent0-VL), process reward and return. Unconfirmed: sharpness; that an executed call counts
    1; that the verdict on the answer is the outcome.
    Differs: the divergence has weight 0 by default, and is an estimate in the other direction (`role_divergence`).
    """
    if not 0 <= gamma <= 1 or not 0 <= confidence <= 1:
        raise InputError(f"gamma is {gamma} and confidence {confidence}; give 0 to 1")
    if not 0 <= divergence < inf:
        raise InputError(f"divergence is {divergence}; give a weight of 0 or more, or 0 for no divergence")

    def earned(step: Step) -> float:
        verdicts = step.verdicts
        process = tool * step.tool + (verdicts[-1].score * verdicts[-1].confidence if verdicts else 0.0)
        process -= divergence * step.divergence
        first = verdicts[0].confidence if verdicts else 0.0
        return process - cost / (1 + exp(-sharpness * (confidence - first)))

    def score(trajectory: Trajectory) -> float:
        found = steps(trajectory)
        answered = bool(found) and found[-1].final and bool(found[-1].verdicts) and found[-1].verdicts[-1].score > 0
        return final * answered + sum(gamma**t * earned(step) for t, step in enumerate(found))

    return outcome(score) if divergence == 0 else _with_channel(outcome(score), steps)


def _with_channel(reward: Reward, steps: Callable[[Trajectory], Sequence[Step]]) -> Reward:
    """The reward with the mean divergence of each trajectory as a channel."""

    def scores(group: Group) -> Scores:
        return replace(reward(group), channels={"divergence": np.array([mean_divergence(steps(one)) for one in group])})

    return scores
