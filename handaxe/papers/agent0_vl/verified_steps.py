"""Reward from the verifier's verdicts on the steps of a rollout, without a reference answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.agent0_vl.two_roles import Step, solver_steps
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
) -> Reward:
    """Add the verifier's scores of steps, weighted by confidence, to its verdict on the answer.

        process_t = tool * [calls of step t executed] + score_t * confidence_t
        gate_t    = sigmoid(sharpness * (tau - confidence of the first verdict on step t))
        r_t       = process_t - gate_t * cost
        R         = final * [score of the answer > 0] + sum_t gamma^(t - 1) r_t

    Score and confidence are those of the last verdict on a step, so a repaired step earns what its repair is worth and
    pays the gate. A step without a verdict has score and confidence 0.

    Args:
        steps: steps of a trajectory.
        confidence: tau, the threshold of a repair; 0.7 in the paper.
        tool: weight of executed calls; 0.3 in the paper.
        cost: eta, of a repair; 0.05 in the paper.
        sharpness: kappa. Unconfirmed: the paper gives no value.
        gamma: discount of a step; 0.99 in the paper.
        final: alpha, weight of the answer's verdict; 1 in the paper.

    Returns:
        A reward with outcome [G]. The task's answer is never read. A trajectory without steps earns 0.

    Raises:
        InputError: gamma or confidence outside 0 to 1.

    Example:
        steps (executed, score 0.9, confidence 0.95) and (no call, 0.4, 0.5), kappa 10:
        1 + (1.155 - 0.0038) + 0.99 * (0.200 - 0.0440) = 2.3056

    Paper: arXiv:2511.19900 (Agent0-VL), process reward and return. Unconfirmed: sharpness; that an executed call counts
    1; that the verdict on the answer is the outcome.
    Differs: the divergence between the two roles, weighted 0.01 in the paper, is missing.
    """
    if not 0 <= gamma <= 1 or not 0 <= confidence <= 1:
        raise InputError(f"gamma is {gamma} and confidence {confidence}; give 0 to 1")

    def earned(step: Step) -> float:
        verdicts = step.verdicts
        process = tool * step.tool + (verdicts[-1].score * verdicts[-1].confidence if verdicts else 0.0)
        first = verdicts[0].confidence if verdicts else 0.0
        return process - cost / (1 + exp(-sharpness * (confidence - first)))

    def score(trajectory: Trajectory) -> float:
        found = steps(trajectory)
        answered = bool(found) and found[-1].final and bool(found[-1].verdicts) and found[-1].verdicts[-1].score > 0
        return final * answered + sum(gamma**t * earned(step) for t, step in enumerate(found))

    return outcome(score)
