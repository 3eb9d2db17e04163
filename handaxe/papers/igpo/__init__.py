"""IGPO (arXiv:2510.14967): reward each turn for the gain in the likelihood of the gold answer."""

from handaxe import credit
from handaxe.methods.method import Method, replace
from handaxe.papers.igpo.answer_likelihood import answer_likelihood
from handaxe.papers.igpo.information_gain import information_gain

__all__ = ["igpo"]


def igpo(base: Method, *, gamma: float = 1.0) -> Method:
    """Train on information gain per turn and on the outcome, normalized jointly over the group.

    Args:
        gamma: discount per turn; 1 in the paper.
    """
    return replace(
        base,
        rollout=answer_likelihood(max_turns=base.settings.max_turns),
        reward=information_gain(base=base.reward),
        credit=credit.turn_norm(norm="joint", gamma=gamma),
    )
