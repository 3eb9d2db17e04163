"""DGRPO (VITAL, arXiv:2508.04416): weigh advantages by the difficulty of the task family and of the task."""

from handaxe.methods.method import Method, replace
from handaxe.papers.dgrpo.difficulty_weight import difficulty_weight

__all__ = ["dgrpo"]


def dgrpo(base: Method, *, family: str = "family", decay: float = 0.9, temperature: float = 1.0) -> Method:
    """Scale advantages up for families and tasks with low mean reward, and down for the others.

    Args:
        family: metadata key of the task family.
        decay: of a family's running mean reward. Unconfirmed.
        temperature: of the family weights, in units of reward; higher values make them more equal. Unconfirmed.
    """
    return replace(base, transform=difficulty_weight(family=family, decay=decay, temperature=temperature))
