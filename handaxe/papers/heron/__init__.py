"""HERON (arXiv:2309.02632): a reward model from a ranking of factors, without weights."""

from typing import Literal

from handaxe import judges, rewards
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.heron.ranked_factors import linear_factors, ranked_factors
from handaxe.training.stages.fit import fit

__all__ = ["heron"]


def heron(
    base: Method,
    *,
    reward: Literal["ranked", "linear"] = "ranked",
    learns: bool = True,
    fit_groups: int = 24,
    fit_epochs: int = 3,
    most: int = 6,
    model_rate: float = 3e-4,
) -> Method:
    """Train on a reward model that learns from comparisons by ranked factors: correct, fewer failures, calls, tokens.

    Args:
        reward: "ranked", or "linear", a weighted sum of the factors.
        learns: update the reward model on the rollouts of every step; False keeps it as it was fitted.
        fit_groups: groups of the first policy on which the reward model is fitted.
        fit_epochs: passes over their pairs; an update during training is one pass.
        most: pairs of a group at most.
        model_rate: learning rate of the reward model.
    """
    model = judges.reward_model(
        pairs=ranked_factors(most=most),
        fit_pairs=ranked_factors(most=most, channel=None),
        batch_size=32,
        fit_epochs=fit_epochs,
        learning_rate=model_rate,
        learns=learns,
        channel="correct",
    )
    own = {"ranked": rewards.judged(judge=model), "linear": linear_factors(outcome=base.reward)}
    return replace(
        base,
        reward=rewards.weighted({"factors": (1.0, own[reward]), "correct": (0.0, base.reward)}),
        stages=(*base.stages, fit(judge=model, source=labelled_rollouts(base, groups=fit_groups))),
        learners=(*base.learners, model),
    )
