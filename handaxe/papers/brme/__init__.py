"""BRME (arXiv:2409.15360): reward the nominal and the worst score of an ensemble of reward heads."""

from handaxe import rewards
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.brme.gaussian_ensemble import gaussian_ensemble
from handaxe.papers.brme.robust_score import Worst
from handaxe.training.stages.fit import fit

__all__ = ["brme"]


def brme(
    base: Method,
    *,
    nominal_weight: float = 0.6,
    heads: int = 5,
    worst: Worst = "rollout",
    fit_groups: int = 24,
    fit_epochs: int = 8,
) -> Method:
    """Fit an ensemble of reward heads on the first policy's rollouts, and train on nominal and worst score.

    Args:
        nominal_weight: weight of the most certain head's score; the rest is the weight of the lowest score.
        heads: of the ensemble.
        worst: the lowest score is of each rollout, or of the group's mean.
        fit_groups: groups on which the ensemble is fitted.
        fit_epochs: passes of a fit over its data.
    """
    model = gaussian_ensemble(heads=heads, nominal_weight=nominal_weight, worst=worst, epochs=fit_epochs)
    parts = {"model": (1.0, rewards.judged(judge=model)), "correct": (0.0, base.reward)}
    return replace(
        base,
        reward=rewards.weighted(parts),
        stages=(*base.stages, fit(judge=model, source=labelled_rollouts(base, groups=fit_groups))),
        learners=(*base.learners, model),
    )
