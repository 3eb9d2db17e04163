"""Flow-GRPO (AgentFlow): of an agent's modules the planner alone learns, at every turn from their outcome."""

from typing import Literal

from handaxe.credit.group_norm import group_norm
from handaxe.losses.reductions.turn_mean import turn_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.kl import kl
from handaxe.methods.method import Method, replace

__all__ = ["flow_grpo"]


def flow_grpo(
    base: Method,
    *,
    unit: Literal["rollout", "turn"] = "rollout",
    test_turns: int = 8,
    eps_high: float = 0.3,
    kl_coefficient: float = 0.001,
) -> Method:
    """Train with the outcome credited to every turn, each of which is a sample of its own.

    Args:
        unit: what the group's mean and deviation are over; "turn" in the released trainer.
        test_turns: of attempts in evaluations; 10 in the paper, where training has 3.
        eps_high, kl_coefficient: upper clip of the ratio; beta of the k3 penalty. Both as in the paper.
    """
    asked = base.world.plays(test_turns)
    near = kl(coefficient=kl_coefficient, reduction=turn_mean())
    credited = replace(base, credit=group_norm(unit=unit), reduction=turn_mean())
    near_start = replace(credited, terms=(*base.terms, near), annotate=(*base.annotate, "ref_logp"))
    return replace(near_start, surrogate=clip(eps_high=eps_high), evaluate_rollout=asked)
