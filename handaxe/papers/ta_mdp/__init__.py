"""TA-MDP (arXiv:2604.19857): measure the effect of normalizing reward parts separately on the gradient."""

from handaxe.evaluation.decomposition import case_angles
from handaxe.methods.method import StudyFunction

__all__ = ["ta_mdp"]


def ta_mdp(*, size: int = 32, small: int = 4, spread: float = 5.0) -> StudyFunction:
    """Compute angles between the gradients of joint and separate normalization, on a process of four rollouts.

    Args:
        size: siblings of a large group.
        small: siblings of a small group.
        spread: standard deviation of the second part as a multiple of the first's, in cases with unequal parts.
    """
    return lambda seed: case_angles(size=size, small=small, spread=spread)
