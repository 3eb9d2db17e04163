"""IGPO: a turn is paid for what it taught the policy of the right answer."""

from handaxe.credit.turn_norm import turn_norm
from handaxe.methods.method import Method, replace
from handaxe.papers.igpo.answer_likelihood import answer_likelihood
from handaxe.papers.igpo.information_gain import information_gain

__all__ = ["igpo"]


def igpo(base: Method, *, gamma: float = 1.0) -> Method:
    """Train on the gain in the likelihood of the right answer by every turn, and on the outcome.

    Args:
        gamma: discount of later turns; 1 in the paper.
    """
    return replace(
        base,
        rollout=answer_likelihood(max_turns=base.settings.max_turns),
        reward=information_gain(base=base.reward),
        credit=turn_norm(norm="joint", gamma=gamma),
    )
