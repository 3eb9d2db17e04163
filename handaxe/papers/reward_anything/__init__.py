"""RewardAnything (arXiv:2506.03637): train a listwise judge to follow the principle of its prompt."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.reward_anything.rank_agreement import rank_agreement
from handaxe.papers.reward_anything.ranking_format import ranking_format

__all__ = ["reward_anything"]


def reward_anything(base: Method, *, accuracy: float = 0.7, form: float = 0.3) -> Method:
    """Reward the order of the judge's scores, and the form of its reply.

    Args:
        accuracy: weight of the agreement with the reference scores.
        form: weight of the form.
    """
    parts = {"agreement": (accuracy, rank_agreement()), "form": (form, ranking_format())}
    return replace(base, reward=rewards.weighted(parts))
