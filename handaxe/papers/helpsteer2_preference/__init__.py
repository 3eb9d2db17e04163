"""HelpSteer2-Preference (arXiv:2410.01257): a reward model from ratings and preferences, as the reward of REINFORCE."""

from handaxe import rewards
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.helpsteer2_preference.annotations import annotated, preferences
from handaxe.papers.helpsteer2_preference.staged_reward_model import Preference, staged_reward_model
from handaxe.training.stages.fit import fit

__all__ = ["helpsteer2_preference"]


def helpsteer2_preference(
    base: Method,
    *,
    preference: Preference = "scaled",
    ratings: bool = True,
    factor: float = 1.5,
    noise: float = 1.0,
    fit_groups: int = 24,
    fit_epochs: int = 4,
) -> Method:
    """Fit a reward model to ratings and then to preferences of the first policy's rollouts, and train on its score.

    Args:
        preference: loss of the second fit, or "none" for ratings alone.
        ratings: False for preferences alone.
        factor: of the extrapolation from the first fit through the second.
        noise: standard deviation of the annotators' errors in ratings; half of it in preferences.
        fit_groups: groups on which the reward model is fitted.
        fit_epochs: passes of each fit over its data.
    """
    pairs = preferences(noise=noise)
    model = staged_reward_model(pairs=pairs, preference=preference, ratings=ratings, factor=factor, epochs=fit_epochs)
    source = annotated(labelled_rollouts(base, groups=fit_groups), noise=noise)
    parts = {"model": (1.0, rewards.judged(judge=model)), "correct": (0.0, base.reward)}
    return replace(
        base,
        reward=rewards.weighted(parts),
        stages=(*base.stages, fit(judge=model, source=source)),
        learners=(*base.learners, model),
    )
