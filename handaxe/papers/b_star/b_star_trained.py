"""B-STaR (arXiv:2412.17256) with a trained process reward model."""

from handaxe import judges
from handaxe.methods.method import Method, replace
from handaxe.methods.step_reward_model import step_reward_model
from handaxe.papers.b_star.answer_and_steps import answer_and_steps

__all__ = ["b_star_trained"]


def b_star_trained(base: Method, *, fit_groups: int = 24, fit_epochs: int = 8) -> Method:
    """Fit a process reward model on steps that the world's rule has labelled, and balance by its lowest step score.

    Args:
        fit_groups: groups of the first policy on which the process reward model is fitted.
        fit_epochs: passes over their steps.
    """
    rule = judges.exact_steps(verdicts=base.world.need("verdicts"))
    model, fitting = step_reward_model(base, groups=fit_groups, epochs=fit_epochs)
    return replace(
        base,
        reward=answer_and_steps(right=base.world.correct, rule=rule, judge=model),
        stages=(fitting, *base.stages),
        learners=(*base.learners, model),
    )
