"""ICPL (arXiv:2410.17233), the comparison: a reward model of as many preferences as the search of programs has."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.methods.pair_reward_model import pair_reward_model
from handaxe.papers.icpl.preference_queries import preference_queries
from handaxe.selection.pairs.ordered import ordered

__all__ = ["icpl_reward_model"]


def icpl_reward_model(base: Method, *, queries: int = 49, fit_groups: int = 24, fit_epochs: int = 8) -> Method:
    """Replace the base's reward by a reward model of a few preferences between rollouts of the first policy.

    Args:
        queries: most preferences; 49 is the smallest number in the paper, 17 the comparisons of `icpl`.
        fit_groups: groups of rollouts that are compared.
        fit_epochs: passes over the preferences.
    """
    asked = preference_queries(pairs=ordered(), queries=queries)
    model, fitting = pair_reward_model(base, channel="correct", groups=fit_groups, epochs=fit_epochs, pairs=asked)
    reward = rewards.weighted({"preferred": (1.0, rewards.judged(judge=model)), "correct": (0.0, base.reward)})
    return replace(base, reward=reward, stages=(*base.stages, fitting), learners=(*base.learners, model))
