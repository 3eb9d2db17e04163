"""Clip and Delta (arXiv:2410.15115): bound process rewards, so that a policy gains nothing by further steps."""

from handaxe import judges, rewards
from handaxe.losses import terms
from handaxe.methods.method import Method, replace
from handaxe.rewards.bounded_steps import Form

__all__ = ["clip_delta"]


def clip_delta(
    base: Method, *, form: Form = "clip_delta", threshold: float = 0.5, weight: float = 0.5, noise: float = 0.1
) -> Method:
    """Train on the outcome and on bounded process rewards.

    Args:
        form: "clip", "delta", both, or "raw", the process rewards as they are.
        threshold: a step above it earns nothing under clip.
        weight: of the process rewards.
        noise: spread of the process reward model around its rule.
    """
    judge = judges.noisy(judge=judges.step_status(good=0.9, plain=0.5, bad=0.1), spread=noise)
    steps = rewards.bounded_steps(steps=rewards.judged_steps(judge=judge), form=form, threshold=threshold)
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, base.reward), "steps": (weight, steps)}),
        terms=(terms.value(coefficient=0.5, eps=None),),
    )
