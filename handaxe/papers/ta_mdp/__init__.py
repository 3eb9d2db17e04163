"""TA-MDP: what normalising the parts of a reward apart does to the gradient, computed; nothing is trained."""

from handaxe.evaluation.decomposition import angles_of_cases
from handaxe.methods.method import Measured

__all__ = ["ta_mdp"]


def ta_mdp(*, size: int = 32, small: int = 4, spread: float = 5.0) -> Measured:
    """Compute degrees between joint and apart, of gradients on a process of four attempts.

    Args:
        size: siblings of a large group.
        small: of a small one.
        spread: of the second part, as a multiple of the first's, where they differ.
    """
    return lambda seed: angles_of_cases(size=size, small=small, spread=spread)
