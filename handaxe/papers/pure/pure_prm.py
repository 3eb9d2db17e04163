"""PURE with a trained process reward model (arXiv:2504.15275), and verifiable rewards at a tenth of the tasks."""

from typing import Literal

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.methods.step_reward_model import step_reward_model
from handaxe.papers.pure.min_form_return import min_form_return
from handaxe.papers.pure.signed_steps import signed_steps
from handaxe.papers.pure.verifiable_share import verifiable_share

__all__ = ["pure_prm"]


def pure_prm(
    base: Method,
    *,
    form: Literal["min", "sum"] = "min",
    verifiable: float = 0.1,
    outcome_weight: float = 1.0,
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit a process reward model on steps of the first policy that a rule has labelled, and train on its scores in
    min-form.

    Args:
        form: "min", or "sum", the usual return.
        verifiable: share of the tasks with a verifiable reward; a tenth in the paper.
        outcome_weight: weight of the verifiable reward; 1 in the paper.
        fit_groups: groups on which the process reward model is fitted.
        fit_epochs: passes over their steps.

    Example:
        signed scores 0.8, 0.2, -0.6 of three steps  ->  returns -0.6, -0.6, -0.6 to three digits, before the baseline

    Paper: arXiv:2504.15275 (PURE), process rewards of a trained model with a tenth of verifiable rewards.
    """
    model, fitting = step_reward_model(base, groups=fit_groups, epochs=fit_epochs)
    steps = rewards.judged_steps(judge=signed_steps(judge=model))
    known = verifiable_share(reward=base.reward, share=verifiable)
    process = min_form_return(form=form, unit="turn")
    outcome = credit.leave_one_out(channel="correct")
    return replace(
        base,
        reward=rewards.weighted({"correct": (1.0, known), "steps": (1.0, steps)}),
        credit=credit.total({"steps": (1.0, process), "correct": (outcome_weight, outcome)}),
        stages=(*base.stages, fitting),
        learners=(*base.learners, model),
    )
