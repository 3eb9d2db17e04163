"""Clip and Delta (arXiv:2410.15115) on the scores of a trained process reward model."""

from handaxe import rewards
from handaxe.losses import terms
from handaxe.methods.method import Method, replace
from handaxe.methods.step_reward_model import step_reward_model
from handaxe.rewards.bounded_steps import Form

__all__ = ["clip_delta_prm"]


def clip_delta_prm(
    base: Method,
    *,
    form: Form = "clip_delta",
    threshold: float = 0.5,
    weight: float = 0.5,
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit a process reward model on steps of the first policy that a rule has labelled, and train on the outcome and
    its bounded scores.

    Args:
        form: "clip", "delta", both, or "raw", the process rewards as they are.
        threshold: a step above it earns nothing under clip.
        weight: of the process rewards.
        fit_groups: groups on which the process reward model is fitted.
        fit_epochs: passes over their steps.

    Example:
        scores 0.9, 0.3, 0.8, correct: clipped 0, -0.2, 0; delta 0.2, -0.2, 0; turns 0.1, -0.1 and 0, then 1

    Paper: arXiv:2410.15115 (Clip and Delta), a trained process reward model beside the success reward.
    """
    model, fitting = step_reward_model(base, groups=fit_groups, epochs=fit_epochs)
    steps = rewards.bounded_steps(steps=rewards.judged_steps(judge=model), form=form, threshold=threshold)
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, base.reward), "steps": (weight, steps)}),
        terms=(terms.value(coefficient=0.5, eps=None),),
        stages=(*base.stages, fitting),
        learners=(*base.learners, model),
    )
